// Package horizontal decides how many replicas a workload asks for: the steps of the
// HorizontalPodAutoscaler (HPA) of autoscaling/v2 as a pure function.
//
//	metrics ─> proposals ─ maximum ─> stabilization ─> limits ─> min, max ─> Decision
//
// [Decide] takes a [Policy], which is configuration, an [Observation] of the workload and its
// metrics, and the [Checkpoint] of the decision before. It returns a [Decision], whose Checkpoint
// is for the next one if the count was not written, and [Decision.Written] if it was.
// Package scaledobject adds KEDA's rules around it.
//
// Numbers of metrics are in milli-units, as in the HPA: 1.5 items are 1500. The current
// replicas are spec.replicas of the scale subresource.
//
// # A loop
//
// With a metric of 5 items for each replica, and up to 20 replicas:
//
//	policy, checkpoint := horizontal.DefaultPolicy(20), horizontal.Checkpoint{}
//	for ; ; time.Sleep(15 * time.Second) {
//		spec, status, err := readScale() // spec.replicas and status.replicas
//		if err != nil {
//			continue // without the count nothing is decided
//		}
//		metric := horizontal.Metric{Name: "queue", TargetType: horizontal.AverageValue, Target: 5_000}
//		if items, err := readQueue(); err != nil {
//			metric.Unreadable = err.Error() // an unreadable metric is still passed
//		} else {
//			metric.Values = []int64{items * 1000}
//		}
//		d := horizontal.Decide(policy, horizontal.Observation{
//			Now: time.Now(), Replicas: spec, StatusReplicas: status, Metrics: []horizontal.Metric{metric},
//		}, checkpoint)
//		checkpoint = d.Checkpoint
//		if d.Replicas != d.Current && writeScale(d.Replicas) == nil {
//			checkpoint = d.Written()
//		}
//	}
//
// Let polls be at least a period of the limits apart (15 s by default), as the pause above does: of
// polls that a ticker makes a moment earlier, every second one still counts the change before, and
// the count rises half as fast. A change that the API server may have made, although its answer was
// lost, shows in the next count that is read; without Written it is not limited.
//
// A checkpoint that is stored as JSON keeps its windows when the process starts again, and leaves 0 again.
//
// # Steps
//
//  1. Gates. A count above the maximum, or above 0 and below the minimum, is corrected at once,
//     without metrics, windows or limits. A workload at 0 is left alone, unless this autoscaler
//     scaled it to 0 ([Policy].ScaleToZeroGate).
//
//  2. Proposals. Each metric proposes a number of replicas ([Metric]). A ratio of usage
//     to target within the tolerance, bounds included, proposes the current count.
//
//  3. Maximum. The largest proposal wins. If no metric is readable, the count stays. If
//     some are unreadable, the readable ones may raise the count or keep it, never lower
//     it. A decision that holds for this reason records no recommendation.
//
//  4. Stabilization. With a [Behavior], a count below the smallest recommendation of the window
//     of Up is raised to it, and a count above the largest one of the window of Down is lowered
//     to it; a record that is as old as the window does not count. Without one, the largest
//     recommendation within DownWindow is taken, its end included, which can also raise the count.
//
//  5. Limits. With a Behavior, the policies of [ScalingRules] limit the change within their
//     periods. Without one, the count at most doubles, or rises to 4. A limit never
//     moves the count in the other direction.
//
//  6. Bounds. The result is between the minimum and the maximum.
//
// The first decision records the current replicas as a recommendation, as the HPA does
// after each start. The caller keeps the checkpoint, or drops it and starts anew.
//
// A policy decides as the code of Kubernetes does, faults of its arithmetic included.
// [Policy].Bounded departs from it.
//
// # Sources
//
// The rules are documented at
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ and
// implemented in k8s.io/kubernetes/pkg/controller/podautoscaler.
package horizontal

import (
	"fmt"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
)

// A Policy is the configuration of an autoscaler. The zero value has no maximum above 0
// and keeps the current count. Use [DefaultPolicy] for the defaults of Kubernetes.
type Policy struct {
	Min int32 `json:"min"` // fewest replicas; below 0 counts as 0, above Max as Max
	Max int32 `json:"max"` // most replicas; below 1, every decision keeps the current count

	// Behavior limits the speed. Nil is the rule of an HPA without one: at most twice the
	// count or 4, and DownWindow.
	Behavior *Behavior `json:"behavior,omitempty"`

	// Tolerance is the difference of a metric's ratio from 1 that changes nothing, in both
	// directions, unless ScalingRules have another. 0 tolerates no difference; 0.1 is the default
	// of Kubernetes.
	Tolerance float64 `json:"tolerance"`

	// DownWindow is the window of scale-down, if a Behavior has none. 5 minutes is the default.
	DownWindow time.Duration `json:"downWindow"`

	// CPUInitialization and ReadinessDelay, both after the start of a pod, decide which CPU
	// samples are not used: see [Pod]. 5 minutes and 30 seconds are the defaults.
	CPUInitialization time.Duration `json:"cpuInitialization"`
	ReadinessDelay    time.Duration `json:"readinessDelay"`

	// ScaleToZeroGate is the gate HPAScaleToZero, on since Kubernetes 1.37: at 0, metrics are read
	// only if the condition ScaledToZero of the checkpoint is true, so that a workload that somebody
	// else scaled to 0 stays there. Without the gate they are read only if Min is 0, as before 1.36.
	ScaleToZeroGate bool `json:"scaleToZeroGate"`

	// Bounded departs from Kubernetes, to be safe for every number: a negative value is unreadable,
	// and a sum, product or count beyond its type is the largest number and does not wrap.
	Bounded bool `json:"bounded"`
}

// MarshalJSON returns the fields, with durations such as "5m0s".
func (p Policy) MarshalJSON() ([]byte, error) { return jsonform.Marshal(p) }

// UnmarshalJSON reads the result of MarshalJSON.
func (p *Policy) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, p) }

// DefaultPolicy returns the policy of a HorizontalPodAutoscaler without optional fields,
// as a controller of Kubernetes 1.37 with its default flags decides: at least 1 replica,
// tolerance 0.1, a window of 5 minutes, and no behavior.
func DefaultPolicy(maxReplicas int32) Policy {
	return Policy{
		Min: 1, Max: maxReplicas, Tolerance: 0.1, DownWindow: 5 * time.Minute,
		CPUInitialization: 5 * time.Minute, ReadinessDelay: 30 * time.Second, ScaleToZeroGate: true,
	}
}

// A Behavior limits the speed of changes. The zero value is the default of autoscaling/v2, which
// also fills each field that is absent.
type Behavior struct {
	Up   ScalingRules `json:"scaleUp"`
	Down ScalingRules `json:"scaleDown"`
}

// ScalingRules limit changes in one direction. The zero value is the default: up without a window, by 4
// replicas or 100 percent in 15 seconds; down with Policy.DownWindow, by 100 percent in 15 seconds.
type ScalingRules struct {
	// Window is the time during which recommendations are compared. 0 uses the newest; nil is
	// the default.
	Window *time.Duration `json:"window,omitempty"`
	// SelectPolicy names the policy that counts: [MaxChange] (also ""), [MinChange] or [Disabled].
	SelectPolicy string `json:"selectPolicy,omitempty"`
	// Policies are the limits. None are the default ones.
	Policies []ScalingPolicy `json:"policies,omitempty"`
	// Tolerance replaces Policy.Tolerance in this direction. Nil keeps it.
	Tolerance *float64 `json:"tolerance,omitempty"`
}

// MarshalJSON returns the fields, with a window such as "5m0s".
func (r ScalingRules) MarshalJSON() ([]byte, error) { return jsonform.Marshal(r) }

// UnmarshalJSON reads the result of MarshalJSON.
func (r *ScalingRules) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, r) }

// fill returns the behavior with its defaults.
func (b Behavior) fill(downWindow time.Duration) *Behavior {
	double := ScalingPolicy{PercentPolicy, 100, 15 * time.Second}
	b.Up = b.Up.fill(0, ScalingPolicy{PodsPolicy, 4, 15 * time.Second}, double)
	b.Down = b.Down.fill(downWindow, double)
	return &b
}

func (r ScalingRules) fill(window time.Duration, limits ...ScalingPolicy) ScalingRules {
	if r.Window == nil {
		r.Window = &window
	}
	if len(r.Policies) == 0 {
		r.Policies = limits
	}
	return r
}

// Values of ScalingRules.SelectPolicy.
const (
	MaxChange = "Max"      // the policy that allows the largest change
	MinChange = "Min"      // the policy that allows the smallest change
	Disabled  = "Disabled" // no change
)

// A ScalingPolicy allows a change of Value within each Period. The zero value allows none.
type ScalingPolicy struct {
	Type   string        `json:"type"`   // Pods or Percent
	Value  int32         `json:"value"`  // replicas, or percent of the count at the start of the period
	Period time.Duration `json:"period"` // more than 0; at most 30 minutes in Kubernetes
}

// MarshalJSON returns the fields, with a period such as "15s".
func (l ScalingPolicy) MarshalJSON() ([]byte, error) { return jsonform.Marshal(l) }

// UnmarshalJSON reads the result of MarshalJSON.
func (l *ScalingPolicy) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, l) }

// Values of ScalingPolicy.Type.
const (
	PodsPolicy    = "Pods"    // Value is a number of replicas
	PercentPolicy = "Percent" // Value is a percentage: up rounds up, down keeps at least the rest
)

// Validate returns every problem of the policy, joined. Each is a [*field.Error]. Decide also
// accepts an invalid policy.
func (p Policy) Validate() error {
	var e field.Errors
	e.AtLeast("Min", int64(p.Min), 0)
	e.AtLeast("Max", int64(p.Max), 1)
	if p.Max > 0 && p.Min > p.Max {
		e.Check(false, "Min", p.Min, fmt.Sprintf("at most Max, %d", p.Max))
	}
	tolerance(&e, "Tolerance", &p.Tolerance)
	atLeast0(&e, "DownWindow", p.DownWindow)
	atLeast0(&e, "CPUInitialization", p.CPUInitialization)
	atLeast0(&e, "ReadinessDelay", p.ReadinessDelay)
	if p.Behavior != nil {
		p.Behavior.Up.validate(&e, "Behavior.Up")
		p.Behavior.Down.validate(&e, "Behavior.Down")
	}
	return e.Err()
}

func tolerance(e *field.Errors, path string, t *float64) {
	if t != nil {
		e.Check(*t >= 0 && *t <= math.MaxFloat64, path, *t, "a finite number of 0 or more")
	}
}

func atLeast0(e *field.Errors, path string, d time.Duration) {
	e.Check(d >= 0, path, d, "0 or more")
}

func (r ScalingRules) validate(e *field.Errors, path string) {
	if r.Window != nil {
		e.Check(*r.Window >= 0 && *r.Window <= time.Hour, path+".Window", *r.Window, "0 to 1h")
	}
	e.Check(r.SelectPolicy == "" || r.SelectPolicy == MaxChange || r.SelectPolicy == MinChange || r.SelectPolicy == Disabled,
		path+".SelectPolicy", r.SelectPolicy, "Max, Min or Disabled")
	for i, l := range r.Policies {
		location := fmt.Sprintf("%s.Policies[%d]", path, i)
		e.Check(l.Type == PodsPolicy || l.Type == PercentPolicy, location+".Type", l.Type, "Pods or Percent")
		e.AtLeast(location+".Value", int64(l.Value), 1)
		e.Check(l.Period > 0 && l.Period <= 30*time.Minute, location+".Period", l.Period, "more than 0 and at most 30m")
	}
	tolerance(e, path+".Tolerance", r.Tolerance)
}

// normalize returns the bounds that count. ok is false if the policy allows no replica.
func (p *Policy) normalize() (low, high int32, ok bool) {
	high = max(0, p.Max)
	return min(max(0, p.Min), high), high, p.Max > 0
}

// tolerances returns the tolerances of the two directions.
func (p *Policy) tolerances() (t tolerances) {
	t.up, t.down = p.Tolerance, p.Tolerance
	if b := p.Behavior; b != nil {
		if b.Up.Tolerance != nil {
			t.up = *b.Up.Tolerance
		}
		if b.Down.Tolerance != nil {
			t.down = *b.Down.Tolerance
		}
	}
	return t
}

type tolerances struct{ up, down float64 }
