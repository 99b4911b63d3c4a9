package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// An Autoscaler decides how many Jobs to create. [Scaling], [KEDA] and [Placement] are
// autoscalers; a program's own type may be another.
type Autoscaler interface {
	// Settings returns the parameters of the polls. A run calls it once.
	Settings() Settings
	// Decide decides a o. It must be pure, since runs may call it at the same time:
	// whatever an autoscaler remembers goes into Decision.Checkpoint.
	Decide(Observation) Decision
}

// Settings are the part of an autoscaler that is the same in all polls. The zero value polls
// every 30 s, and expects no Jobs.
type Settings struct {
	Name     string   // in results
	Interval Duration // from poll to poll; 0 means 30s
	// Min and Max are the documented bounds of the number of Jobs. The simulation does
	// not enforce them: it measures how far an autoscaler exceeds Max.
	Min, Max int64
	// StuckAfter is the time after which a pending Job is stuck; nil means never, and pendingAware
	// then decides as default.
	StuckAfter *Duration
	// Metrics select the items that each queue's metric counts under this autoscaler, as
	// Queue.Metric does; "" or no element means Queue.Metric.
	Metrics []string
	// Clusters reports whether Decide reads Observation.Clusters. An autoscaler that does not
	// read it works with one cluster.
	Clusters bool
}

func (s *Settings) interval() Duration { return cmp.Or(s.Interval, 30*second) }

// An Observation is what a poll reads.
type Observation struct {
	Now     time.Time        // the run starts at 1970-01-01T00:00:00Z
	Metrics []scaling.Metric // one for each queue; valid until Decide returns
	// Jobs counts the unfinished Jobs of all clusters, or is nil if they are not known.
	// If the list of Jobs is old, Jobs created since then are in flight.
	Jobs *scaling.JobCounts
	// Clusters lists the Jobs of each cluster if Settings.Clusters is true. It is valid
	// until Decide returns.
	Clusters   []jobs.Cluster
	Checkpoint any // that of the previous decision; nil in the first poll

	phase [phases]int64 // Jobs in each phase, in the first cluster
}

// A Decision holds the actions of a o. The zero value does nothing.
type Decision struct {
	Create int64            // Jobs to create in the first cluster; below 0 counts as 0
	Place  []jobs.Placement // Jobs to create by the name of a cluster; unknown names are ignored
	Delete []jobs.JobRef    // Jobs to delete, finished or not; those that no longer exist are ignored
	Rule   string           // why, for [Summary.Rules]
	// Checkpoint is passed to the next o. Decide must not modify it later.
	Checkpoint any
}

const (
	second = Duration(time.Second)
	hour   = Duration(time.Hour)
)

// Scaling decides by package scaling. The zero value creates nothing.
type Scaling struct {
	Name       string         // "" means the strategy, with the settings that are not the default
	Policy     scaling.Policy // the zero value creates nothing: see [scaling.DefaultPolicy]
	Interval   Duration       // 0 means 30s
	StuckAfter *Duration      // nil means that no pending Job is stuck
}

// NewScaling returns the autoscaler of a strategy with a maximum and the defaults of a ScaledJob.
func NewScaling(s strategy.Strategy, maximum int64) Scaling {
	p := Scaling{Policy: scaling.DefaultPolicy()}
	p.Policy.Strategy, p.Policy.Bounds.Max = s, maximum
	return p
}

// Settings returns the settings.
func (p Scaling) Settings() Settings {
	s := Settings{Name: p.Name, Interval: p.Interval, StuckAfter: p.StuckAfter}
	s.bound(p.Policy.Bounds)
	s.describe(nameOf(p.Policy.Strategy))
	return s
}

// Decide calls [scaling.Decide].
func (p Scaling) Decide(o Observation) Decision {
	d := scaling.Decide(p.Policy, scaling.Observation{Metrics: o.Metrics, Jobs: o.Jobs})
	return Decision{Create: d.Create, Rule: d.Reason.Text()}
}

func (p Scaling) check(r *report, _ []Cluster) { r.Join("policy", p.Policy.Validate()) }

// bound sets the bounds as they are documented: a minimum above the maximum is the
// maximum.
func (s *Settings) bound(b scaling.Bounds) {
	s.Max = max(0, b.Max)
	s.Min = min(max(0, b.Min), s.Max)
}

// describe sets a name if there is none: a strategy by some rules, and the settings that
// differ from the default.
func (s *Settings) describe(strategy string) {
	if s.Name != "" {
		return
	}
	s.Name = strategy
	if s.Min != 0 {
		s.Name += ", min " + strconv.FormatInt(s.Min, 10)
	}
	if s.Max != scaling.DefaultPolicy().Bounds.Max {
		s.Name += ", max " + strconv.FormatInt(s.Max, 10)
	}
	if s.interval() != 30*second {
		s.Name += ", every " + s.Interval.String()
	}
}

// nameOf returns the name of a strategy. That of custom has its parameters.
func nameOf(s strategy.Strategy) string {
	name := strategy.Describe(s)
	if _, custom := s.(*strategy.Custom); !custom {
		name, _, _ = strings.Cut(name, ":")
	}
	if a, ok := s.(strategy.Accurate); ok && a.SubtractPending {
		name += ", subtracting pending"
	}
	return cmp.Or(name, "default")
}

// KEDA decides as a release of KEDA. The zero value is KEDA 2.0.0 with the defaults of a
// ScaledJob.
type KEDA struct {
	Name    string // "" means the release and the strategy, with the settings that are not the default
	Profile keda.Profile
	// Spec is that of the ScaledJob. The simulation uses the polling interval, the replica
	// counts and the scaling strategy.
	Spec keda.Spec
	// Metrics are those of Settings: scalers of another release may count other items.
	Metrics []string
}

// Settings returns the settings, with the bounds as KEDA documents them.
func (p KEDA) Settings() Settings {
	s := Settings{Name: p.Name, Metrics: p.Metrics}
	b := scaling.DefaultPolicy().Bounds
	if n := p.Spec.PollingInterval; n != nil {
		s.Interval = Duration(*n) * second
	}
	if n := p.Spec.MinReplicaCount; n != nil {
		b.Min = int64(*n)
	}
	if n := p.Spec.MaxReplicaCount; n != nil {
		b.Max = int64(*n)
	}
	s.bound(b)
	chosen := p.Spec.ScalingStrategy
	name := cmp.Or(chosen.Strategy, "default")
	if name == "custom" {
		deduction := int32(0)
		if n := chosen.CustomScalingQueueLengthDeduction; n != nil {
			deduction = *n
		}
		name += fmt.Sprintf(" %d %s", deduction, chosen.CustomScalingRunningJobPercentage)
	}
	s.describe("KEDA " + p.Profile.Release() + " " + name)
	return s
}

// Decide calls [keda.Profile.Decide]. Pods have the conditions of their phase, so that
// pendingPodConditions have their effect.
func (p KEDA) Decide(o Observation) Decision {
	j := keda.ScaledJob{Spec: p.Spec}
	state := keda.State{JobsUnknown: o.Jobs == nil}
	for _, m := range o.Metrics {
		state.Scalers = append(state.Scalers, keda.Scaler{
			QueueLength: m.Value, Target: m.Target, ActivationThreshold: m.ActivationThreshold, Failed: m.Failed,
		})
	}
	for ph, n := range o.phase {
		if n > 0 {
			each := p.Profile.Count(&j, podOf[ph])
			state.Running += n * each.Running
			state.Pending += n * each.Pending
		}
	}
	d := p.Profile.Decide(&j, state)
	return Decision{Create: d.Create, Rule: d.Reason.Text()}
}

func (p KEDA) check(r *report, _ []Cluster) { r.Join("policy", p.Validate()) }

// Validate returns every invalid field of Spec that the simulation uses, joined, each a
// [*field.Error].
func (p KEDA) Validate() error {
	var r field.Errors
	for _, n := range []struct {
		name  string
		value *int32
		floor int64
	}{
		{"pollingInterval", p.Spec.PollingInterval, 1},
		{"minReplicaCount", p.Spec.MinReplicaCount, 0},
		{"maxReplicaCount", p.Spec.MaxReplicaCount, 0},
	} {
		if n.value != nil {
			r.AtLeast("spec."+n.name, int64(*n.value), n.floor)
		}
	}
	chosen := p.Spec.ScalingStrategy
	r.Check(chosen.Strategy == "" || slices.Contains(keda.Strategies(), chosen.Strategy),
		"spec.scalingStrategy.strategy", chosen.Strategy, "one of "+strings.Join(keda.Strategies(), ", "))
	r.Check(chosen.MultipleScalersCalculation == "" || slices.Contains(keda.Calculations(), chosen.MultipleScalersCalculation),
		"spec.scalingStrategy.multipleScalersCalculation", chosen.MultipleScalersCalculation, "one of "+strings.Join(keda.Calculations(), ", "))
	return r.Err()
}

// podOf is a Job with the pod that it has in a phase.
var podOf = func() (pods [phases][]keda.Job) {
	for ph := range phases {
		ready, placed := "True", "True"
		pod := keda.Pod{Phase: "Running"}
		switch ph {
		case unscheduled:
			ready, placed, pod.Phase = "False", "False", "Pending"
		case starting:
			ready, pod.Phase = "False", "Pending"
		case completing:
			ready, pod.Phase = "False", "Succeeded"
		}
		for _, condition := range []string{"PodScheduled", "PodReadyToStartContainers", "Initialized"} {
			pod.Conditions = append(pod.Conditions, keda.Condition{Type: condition, Status: placed})
		}
		for _, condition := range []string{"ContainersReady", "Ready"} {
			pod.Conditions = append(pod.Conditions, keda.Condition{Type: condition, Status: ready})
		}
		if ph == backingOff {
			pod = keda.Pod{Phase: "Failed"}
		}
		pods[ph] = []keda.Job{{Pods: []keda.Pod{pod}}}
	}
	return pods
}()

// Placement decides by package placement/jobs, for one or several clusters. The zero
// value creates nothing.
type Placement struct {
	Name     string      // "" means the strategy, with the settings that are not the default
	Policy   jobs.Policy // the zero value creates nothing: see [jobs.DefaultPolicy]
	Interval Duration    // 0 means 30s
}

// Settings returns the settings.
func (p Placement) Settings() Settings {
	s := Settings{Name: p.Name, Interval: p.Interval, Clusters: true}
	s.bound(p.Policy.Scaling.Bounds)
	chosen := p.Policy.Scaling.Strategy
	if chosen == nil {
		chosen = strategy.PendingAware{}
	}
	s.describe("placement " + nameOf(chosen))
	return s
}

// Decide calls [jobs.Decide].
func (p Placement) Decide(o Observation) Decision {
	checkpoint, _ := o.Checkpoint.(jobs.Checkpoint)
	d := jobs.Decide(p.Policy, jobs.Observation{Metrics: o.Metrics, Clusters: o.Clusters, Now: o.Now}, checkpoint)
	decision := Decision{Place: d.Create, Checkpoint: d.Checkpoint, Rule: cmp.Or(string(d.Reason), d.Scaling.Reason.Text())}
	for _, deletion := range slices.Concat(d.Outdated, d.Duplicates, d.Finished) {
		if !deletion.Deferred {
			decision.Delete = append(decision.Delete, deletion.JobRef)
		}
	}
	return decision
}

func (p Placement) check(r *report, clusters []Cluster) {
	r.Join("policy", p.Policy.Validate())
	names := make([]string, len(clusters))
	for i := range clusters {
		names[i] = clusterName(i, &clusters[i])
	}
	for i, m := range p.Policy.Members {
		r.Check(slices.Contains(names, m.Name), fmt.Sprintf("policy.Members[%d].Name", i), m.Name, "the name of a cluster of the scenario")
	}
}

// clusterName is a name for the cluster at i, its own if it has one.
func clusterName(i int, c *Cluster) string { return cmp.Or(c.Name, fmt.Sprintf("cluster-%d", i+1)) }

func (s *Scenario) settings() Settings {
	if s.Autoscaler == nil {
		return Settings{}
	}
	return s.Autoscaler.Settings()
}
