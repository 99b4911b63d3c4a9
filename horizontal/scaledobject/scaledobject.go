// Package scaledobject decides how many replicas a KEDA ScaledObject asks for: KEDA's
// activation around the HorizontalPodAutoscaler of package horizontal.
//
// Call [Decide] every 15 seconds, as the HorizontalPodAutoscaler does. Set
// [Observation].Fresh if the triggers were read since the previous call, which KEDA does
// every pollingInterval. If that is between two decisions of the autoscaler, set
// [Observation].Between as well. Pass [Decision].Checkpoint to the next call, or after a write
// [Decision.Written].
//
// # Steps
//
//  1. Pause. paused-replicas sets the count; paused keeps it.
//
//  2. Fallback. After more failed reads in a row than the threshold, a trigger has the
//     value that asks for the replicas of the fallback, and is active.
//
//  3. Formula. With Modifiers, a function of all values replaces the triggers. It is
//     active above Activation, and not active if a trigger is unreadable.
//
//  4. Activation, with fresh triggers only. An active workload at 0, or below the minimum
//     with an idle count, gets the minimum and at least 1. An inactive one goes to the
//     idle count, or to 0 if the minimum is 0, when the cooldown is over. An inactive one
//     below the minimum gets the minimum. If triggers are unreadable, nothing is lowered.
//
//  5. Autoscaler. Otherwise package horizontal decides between the minimum, at least 1,
//     and the maximum. At 0, and at the idle count of an inactive workload, it is off.
//
// # Surprises of KEDA that this package keeps
//
//   - A fallback of 0 replicas does not stop an unreadable workload from being lowered to 0.
//   - Before the first activity the cooldown period is ignored: only InitialCooldown counts.
//   - The cooldown ends strictly after its last second. Activity is remembered in whole
//     seconds, and not at a poll in which another trigger was unreadable.
//   - Without an idle count, an active workload below the minimum is left to the autoscaler.
//   - An annotation counts as true unless its value is a boolean.
//
// The gate HPAScaleToZero of Kubernetes changes nothing: the minimum of KEDA's autoscaler is at
// least 1.
//
// Three surprises are not kept. KEDA's autoscaler raises an idle workload above 0 to the
// minimum again. A formula that fails is inactive for KEDA, which then lowers the workload;
// here it is unreadable. KEDA ignores the fallback if Modifiers have a target that is not a
// whole number, such as 2.5; here it counts. KEDA 2.21 is the source: pkg/scaling/executor, pkg/fallback and
// pkg/scaling/modifiers.
package scaledobject

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Policy is the configuration of a ScaledObject. The zero value has no maximum and keeps
// the current count. Use [DefaultPolicy] for KEDA's defaults.
type Policy struct {
	Min  int32  `json:"minReplicaCount"`
	Max  int32  `json:"maxReplicaCount"`
	Idle *int32 `json:"idleReplicaCount,omitempty"` // nil is none; less than Min

	Cooldown        time.Duration `json:"cooldownPeriod"`        // from the last activity until the workload is lowered
	InitialCooldown time.Duration `json:"initialCooldownPeriod"` // from Created, before the first activity
	Created         time.Time     `json:"created"`               // creation of the ScaledObject

	Fallback  *Fallback  `json:"fallback,omitempty"`
	Modifiers *Modifiers `json:"scalingModifiers,omitempty"`

	// Autoscaler holds the behavior and the flags of the autoscaler. Its Min and Max are
	// not used.
	Autoscaler horizontal.Policy `json:"autoscaler"`

	Paused         bool   `json:"paused"`                   // keep the count
	PausedReplicas *int32 `json:"pausedReplicas,omitempty"` // keep this count; nil is none
	PausedIn       bool   `json:"pausedScaleIn"`            // never lower the count
	PausedOut      bool   `json:"pausedScaleOut"`           // never raise it
	ForceActive    bool   `json:"forceActivation"`          // count as active whatever the triggers say
}

// A Fallback replaces a metric that cannot be read. The zero value asks for 0 replicas
// after the first failure.
type Fallback struct {
	FailureThreshold int32 `json:"failureThreshold"` // failures in a row that are still an error
	Replicas         int32 `json:"replicas"`
	// Behavior is one of KEDA's: static (also ""), currentReplicas,
	// currentReplicasIfHigher, currentReplicasIfLower or scalingModifiers.
	Behavior string `json:"behavior"`
}

// Modifiers combine the triggers to a single metric.
type Modifiers struct {
	// Formula returns the value of the metric from the triggers' values, by name. A nil
	// value is a trigger that failed too often, with the fallback behavior
	// scalingModifiers. A nil result asks for the replicas of the fallback. Formula nil
	// makes the metric unreadable.
	Formula    func(values map[string]*float64) (*float64, error) `json:"-"`
	Target     float64                                            `json:"target"`           // more than 0
	Activation float64                                            `json:"activationTarget"` // active above it
	Type       string                                             `json:"metricType"`       // AverageValue (also "") or Value
}

// DefaultPolicy returns the policy of a ScaledObject without optional fields: 0 to 100
// replicas, a cooldown of 5 minutes, and the default autoscaler.
func DefaultPolicy() Policy {
	return Policy{Max: 100, Cooldown: 5 * time.Minute, Autoscaler: horizontal.DefaultPolicy(100)}
}

// Annotate reads the annotations of a ScaledObject that pause it or make it active. If
// autoscaling.keda.sh/paused-replicas is not a number of 0 or more, the policy is paused
// and the error is a [*field.Error].
func (p *Policy) Annotate(annotations map[string]string) error {
	const prefix = "autoscaling.keda.sh/"
	truth := func(name string) bool {
		text, found := annotations[prefix+name]
		value, err := strconv.ParseBool(text)
		return found && (value || err != nil)
	}
	p.Paused, p.PausedIn, p.PausedOut = truth("paused"), truth("paused-scale-in"), truth("paused-scale-out")
	p.ForceActive, p.PausedReplicas = truth("force-activation"), nil
	text, found := annotations[prefix+"paused-replicas"]
	if !found {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || strings.Trim(text, "0123456789") != "" {
		p.Paused = true
		return &field.Error{Path: "metadata.annotations[" + prefix + "paused-replicas]", Found: strconv.Quote(text), Fix: "a number of replicas, 0 or more"}
	}
	count := int32(n)
	p.PausedReplicas = &count
	return nil
}

// MarshalJSON returns the fields, with durations such as "5m0s" and without Modifiers.Formula.
func (p Policy) MarshalJSON() ([]byte, error) { return jsonform.Marshal(p) }

// UnmarshalJSON reads the result of MarshalJSON.
func (p *Policy) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, p) }

// Validate returns every problem of the policy, joined. Each is a [*field.Error]. Decide also
// accepts an invalid policy.
func (p Policy) Validate() error {
	var e field.Errors
	e.AtLeast("Min", int64(p.Min), 0)
	e.AtLeast("Max", int64(p.Max), 1)
	e.Check(p.Min <= p.Max || p.Max < 1, "Min", p.Min, fmt.Sprintf("at most Max, %d", p.Max))
	if p.Idle != nil {
		e.Check(*p.Idle >= 0 && *p.Idle < p.Min, "Idle", *p.Idle, fmt.Sprintf("0 or more, and less than Min, %d", p.Min))
	}
	if n := p.PausedReplicas; n != nil {
		e.AtLeast("PausedReplicas", int64(*n), 0)
	}
	e.Check(p.Cooldown >= 0, "Cooldown", p.Cooldown, "0 or more")
	e.Check(p.InitialCooldown >= 0, "InitialCooldown", p.InitialCooldown, "0 or more")
	if f := p.Fallback; f != nil {
		e.AtLeast("Fallback.FailureThreshold", int64(f.FailureThreshold), 0)
		e.AtLeast("Fallback.Replicas", int64(f.Replicas), 0)
		e.Check(f.known(), "Fallback.Behavior", f.Behavior,
			"static, currentReplicas, currentReplicasIfHigher, currentReplicasIfLower or scalingModifiers")
	}
	if m := p.Modifiers; m != nil {
		e.Check(m.Formula != nil, "Modifiers.Formula", nil, "a function")
		e.Check(m.Target > 0 && m.Target <= math.MaxFloat64, "Modifiers.Target", m.Target, "a positive, finite number")
		e.Check(m.Type == "" || m.Type == horizontal.AverageValue || m.Type == horizontal.Value, "Modifiers.Type", m.Type, "AverageValue or Value")
	}
	autoscaler := p.Autoscaler
	autoscaler.Min, autoscaler.Max = 1, max(1, p.Max)
	e.Join("Autoscaler", autoscaler.Validate())
	return e.Err()
}

func (f *Fallback) known() bool {
	switch f.Behavior {
	case "", "static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower", "scalingModifiers":
		return true
	}
	return false
}

// valid reports whether failures are counted.
func (f *Fallback) valid() bool {
	return f != nil && f.FailureThreshold >= 0 && f.Replicas >= 0 && f.known()
}

// A Trigger is the last reading of a trigger.
type Trigger struct {
	Name   string            `json:"name"`   // unique in the ScaledObject
	Active bool              `json:"active"` // not used for the sources Resource and ContainerResource, cpu and memory
	Metric horizontal.Metric `json:"metric"` // Unreadable if the read failed
	// Fresh reports whether this trigger alone was read since the previous decision, as the
	// autoscaler does without useCachedMetrics. It counts failures, and activates nothing.
	Fresh bool `json:"fresh,omitempty"`
}

// resource reports whether the trigger is cpu or memory.
func (t *Trigger) resource() bool {
	return t.Metric.Source == "Resource" || t.Metric.Source == "ContainerResource"
}

// An Observation is a workload at an instant, with its triggers.
type Observation struct {
	Now            time.Time        `json:"now"`
	Replicas       int32            `json:"replicas"`       // spec.replicas of the scale subresource
	StatusReplicas int32            `json:"statusReplicas"` // status.replicas of it
	Pods           []horizontal.Pod `json:"pods,omitempty"` // as in horizontal.Observation
	Triggers       []Trigger        `json:"triggers"`
	Fresh          bool             `json:"fresh"` // whether the triggers were read since the previous decision
	// Between reports whether the autoscaler does not decide now: only activation does.
	Between bool `json:"between,omitempty"`
}

// A Checkpoint is what a ScaledObject must remember. The zero value remembers nothing. It is a
// plain JSON value with a horizontal.Checkpoint and an entry for each failing trigger.
type Checkpoint struct {
	Autoscaler horizontal.Checkpoint `json:"autoscaler"`
	LastActive time.Time             `json:"lastActiveTime,omitzero"` // whole seconds; zero is never
	Failures   map[string]int32      `json:"failures,omitempty"`      // failed reads in a row, by trigger; only with a fallback
	// Original is the count of the first decision, for restoreToOriginalReplicaCount:
	// write it when the ScaledObject is deleted.
	Original *int32 `json:"originalReplicaCount,omitempty"`
}

// Written returns the checkpoint after the decided count was written. Use it only if the API server
// accepted a change.
func (d Decision) Written() Checkpoint {
	c := d.Checkpoint
	if d.Reason == ReasonActivated {
		c.LastActive = d.At.Truncate(time.Second)
	}
	if d.Autoscaler != nil && d.Autoscaler.Replicas == d.Replicas {
		c.Autoscaler = d.Autoscaler.Written()
	}
	return c
}

// A Decision is the number of replicas to write, with the reason. The zero value asks for none:
// use it only as the result of [Decide].
type Decision struct {
	Replicas int32     `json:"replicas"` // equal to Current if nothing changes
	Current  int32     `json:"current"`
	At       time.Time `json:"at"`
	Reason   Reason    `json:"reason"` // what determined Replicas

	Active     bool `json:"active"`     // a trigger is active, or activity is forced
	Unreadable bool `json:"unreadable"` // a trigger could not be read
	Fallback   bool `json:"fallback"`   // a fallback replaces a trigger
	// KEDA's conditions. An empty reason leaves a condition as it is.
	ActiveCondition   horizontal.Condition `json:"activeCondition"`
	FallbackCondition horizontal.Condition `json:"fallbackCondition"`
	Autoscaler        *horizontal.Decision `json:"autoscaler,omitempty"` // nil if the autoscaler was not asked
	// NextCheck is the next instant at which the cooldown or the autoscaler may decide
	// otherwise. It is zero if neither holds the count back.
	NextCheck time.Time `json:"nextCheck,omitzero"`
	// Checkpoint is for the next decision if Replicas is not written, and Written() if it is.
	Checkpoint Checkpoint `json:"checkpoint"`
}

// A Reason says what determined a decision. The zero value is no decision.
type Reason string

const (
	ReasonAutoscaler  Reason = "Autoscaler"
	ReasonPaused      Reason = "Paused"
	ReasonActivated   Reason = "Activated"
	ReasonDeactivated Reason = "Deactivated"
	ReasonRaised      Reason = "Raised"
	ReasonIdle        Reason = "Idle"
	ReasonPausedIn    Reason = "PausedIn"
	ReasonPausedOut   Reason = "PausedOut"
	ReasonBetween     Reason = "Between"
)

var texts = map[Reason]string{
	ReasonAutoscaler:  "the autoscaler",
	ReasonPaused:      "the policy is paused or allows no replica",
	ReasonActivated:   "a trigger is active, so the minimum and at least 1",
	ReasonDeactivated: "no trigger is active, and the cooldown is over",
	ReasonRaised:      "the count was below the minimum",
	ReasonIdle:        "no trigger is active, so the idle count",
	ReasonPausedIn:    "scaling in is paused",
	ReasonPausedOut:   "scaling out is paused",
	ReasonBetween:     "the autoscaler decides later",
}

// Text returns the reason in words.
func (r Reason) Text() string { return cmp.Or(texts[r], string(r)) }

// String explains the decision in a line.
func (d Decision) String() string {
	if d.Autoscaler != nil {
		return d.Autoscaler.String()
	}
	return fmt.Sprintf("replicas %d -> %d: %s", d.Current, d.Replicas, d.Reason.Text())
}
