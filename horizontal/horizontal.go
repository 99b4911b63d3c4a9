// Package horizontal decides how many replicas a workload asks for: the steps of the
// HorizontalPodAutoscaler (HPA) of autoscaling/v2 as a pure function.
//
//	metrics ─> proposals ─ maximum ─> stabilization ─> limits ─> min, max ─> Decision
//
// [Decide] takes a [Policy], which is configuration, a [State], which remembers the
// recent past, and an [Observation] of the workload and its metrics. It returns a
// [Decision]. [State.Record] remembers the decision, and [State.Wrote] the change of the
// replica count, after it was written. Package scaledobject adds KEDA's rules around it.
//
// Numbers of metrics are in milli-units, as in the HPA: 1.5 items are 1500. The current
// replicas are spec.replicas of the scale subresource.
//
// # Steps
//
//  1. Gates. A count above the maximum, or above 0 and below the minimum, is corrected at once,
//     without metrics, windows or limits. A workload at 0 is left alone, unless this autoscaler
//     scaled it to 0 ([Policy].ScaledToZero).
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
//  5. Limits. With a Behavior, the policies of [Rules] limit the change within their
//     periods. Without one, the count at most doubles, or rises to 4. A limit never
//     moves the count in the other direction.
//
//  6. Bounds. The result is between the minimum and the maximum.
//
// The first decision records the current replicas as a recommendation, as the HPA does
// after each start. The caller keeps the state, or drops it and starts anew.
//
// # Two forms
//
// A policy decides by the specification, which is safe for every input. With Exact, it
// decides as the code of Kubernetes does, with these differences:
//
//	                                              specification       Exact
//	a negative value, a target that is not        unreadable          its arithmetic; a negative
//	positive                                                          External sum is 2^63-1
//	a sum, product or count beyond its type       the largest number  wraps as on amd64
//	recommendations and events closer together    merged, and kept    all are kept
//	than 1/64 of the longest window or period     at most so much
//	                                              longer
//	a window that an edit made longer             sees only what the  sees what was not
//	                                              shorter one kept    overwritten
//	a clock that went back                        records of the      records stay until the
//	                                              future count as     clock has caught up
//	                                              made now
//
// # A loop
//
// With a metric of 5 items for each replica, and up to 20 replicas:
//
//	policy, state := horizontal.DefaultPolicy(20), horizontal.State{}
//	for ; ; time.Sleep(15 * time.Second) {
//		spec, status, err := readScale() // spec.replicas and status.replicas
//		if err != nil {
//			continue // without the count nothing is decided
//		}
//		metric := horizontal.Metric{Name: "queue", Target: horizontal.AverageValue, Amount: 5_000}
//		if items, err := readQueue(); err != nil {
//			metric.Unreadable = err.Error() // an unreadable metric is still passed
//		} else {
//			metric.Values = []int64{items * 1000}
//		}
//		d := horizontal.Decide(policy, state, horizontal.Observation{
//			Now: time.Now(), Replicas: spec, StatusReplicas: status, Metrics: []horizontal.Metric{metric},
//		})
//		state.Record(policy, d)
//		if d.Replicas != d.Current && writeScale(d.Replicas) == nil {
//			state.Wrote(policy, d)
//		}
//	}
//
// [DefaultPolicy] has no Behavior, as an HPA of before autoscaling/v2: set Behavior to a copy of
// [DefaultBehavior] for that of today. Let polls be at least a period of the limits apart (15 s by
// default), as the pause above does: of polls that a ticker makes a moment earlier, every second one
// still counts the change before, and the count rises half as fast. A change that the API server may
// have made, although its answer was lost, shows in the next count that is read; without Wrote it is
// not limited.
//
// A state that is stored as JSON keeps its windows when the process starts again, and leaves 0 again.
//
// # Sources
//
// The rules are documented at
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ and
// implemented in k8s.io/kubernetes/pkg/controller/podautoscaler.
//
// # Tests
//
//	the traps of the HPA, by number                        TestTraps
//	the result is within the bounds                        TestBounds
//	the order of the metrics does not matter               TestOrder
//	a larger External metric never asks for fewer          TestMonotone
//	a constant metric settles                              TestSettles
//	windows are kept, also if the clock goes back          TestWindows
//	a state of another policy is safe                      TestBounds
//	the state has at most 16 KB                            TestStateSize
//	a naive implementation with all history agrees         TestOracle
package horizontal

import (
	"fmt"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/field"
)

// A Policy is the configuration of an autoscaler. The zero value has no maximum above 0
// and keeps the current count. Use [DefaultPolicy] for the defaults of Kubernetes.
type Policy struct {
	Min int32 `json:"min"` // fewest replicas; below 0 counts as 0, above Max as Max
	Max int32 `json:"max"` // most replicas; below 1, every decision keeps the current count

	// Behavior limits the speed. Nil is the older rule: at most twice the count or 4,
	// and DownWindow. An empty behavior is not nil: see [DefaultBehavior].
	Behavior *Behavior `json:"behavior,omitempty"`

	// Tolerance is the difference of a metric's ratio from 1 that changes nothing, in both
	// directions, unless Rules have another. 0 tolerates no difference; 0.1 is the default
	// of Kubernetes.
	Tolerance float64 `json:"tolerance"`

	// DownWindow is the window without a Behavior. 5 minutes is the default.
	DownWindow time.Duration `json:"downWindow"`

	// CPUInitialization and ReadinessDelay, both after the start of a pod, decide which CPU
	// samples are not used: see [Pod]. 5 minutes and 30 seconds are the defaults.
	CPUInitialization time.Duration `json:"cpuInitialization"`
	ReadinessDelay    time.Duration `json:"readinessDelay"`

	// ScaledToZero selects the rule for a workload at 0. If it is true, as since
	// Kubernetes 1.37, metrics are read only if State.ScaledToZero is true. Otherwise, as
	// before, they are read only if Min is 0.
	ScaledToZero bool `json:"scaledToZero"`

	// Exact decides as the code of Kubernetes, faults of arithmetic included.
	Exact bool `json:"exact"`
}

// DefaultPolicy returns the policy of a HorizontalPodAutoscaler without optional fields,
// as a controller of Kubernetes 1.37 with its default flags decides: at least 1 replica,
// tolerance 0.1, a window of 5 minutes, and no behavior.
func DefaultPolicy(limit int32) Policy {
	return Policy{
		Min: 1, Max: limit, Tolerance: 0.1, DownWindow: 5 * time.Minute,
		CPUInitialization: 5 * time.Minute, ReadinessDelay: 30 * time.Second, ScaledToZero: true,
	}
}

// A Behavior limits the speed of changes. The zero value forbids them: no policy allows
// a change.
type Behavior struct {
	Up   Rules `json:"scaleUp"`
	Down Rules `json:"scaleDown"`
}

// DefaultBehavior returns the rules that autoscaling/v2 fills into fields that are
// absent: up without a window, by 4 replicas or 100 percent in 15 seconds; down with a
// window of 5 minutes, by 100 percent in 15 seconds.
func DefaultBehavior() Behavior {
	return Behavior{
		Up: Rules{Policies: []Limit{
			{Pods, 4, 15 * time.Second},
			{Percent, 100, 15 * time.Second},
		}},
		Down: Rules{Window: 5 * time.Minute, Policies: []Limit{{Percent, 100, 15 * time.Second}}},
	}
}

// Rules limit changes in one direction. The zero value has no policy and allows none.
type Rules struct {
	// Window is the time during which recommendations are compared. 0 uses the newest.
	Window time.Duration `json:"window"`
	// Select names the policy that counts: [Max] (also ""), [Min] or [Disabled].
	Select string `json:"selectPolicy"`
	// Policies are the limits. Without one, nothing changes in this direction.
	Policies []Limit `json:"policies"`
	// Tolerance replaces Policy.Tolerance in this direction. Nil keeps it.
	Tolerance *float64 `json:"tolerance,omitempty"`
}

// Values of Rules.Select.
const (
	Max      = "Max"      // the policy that allows the largest change
	Min      = "Min"      // the policy that allows the smallest change
	Disabled = "Disabled" // no change
)

// A Limit allows a change of Value within each Period. The zero value allows none.
type Limit struct {
	Type   string        `json:"type"`   // Pods or Percent
	Value  int32         `json:"value"`  // replicas, or percent of the count at the start of the period
	Period time.Duration `json:"period"` // more than 0; at most 30 minutes in Kubernetes
}

// Values of Limit.Type.
const (
	Pods    = "Pods"    // Value is a number of replicas
	Percent = "Percent" // Value is a percentage: up rounds up, down keeps at least the rest
)

// Validate returns every problem of a policy and of the configured fields of its metrics,
// joined. Each is a [*field.Error]. Decide also accepts an invalid policy.
func Validate(p Policy, metrics ...Metric) error {
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
	for i, m := range metrics {
		m.validate(&e, fmt.Sprintf("Metrics[%d]", i))
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

func (r Rules) validate(e *field.Errors, path string) {
	e.Check(r.Window >= 0 && r.Window <= time.Hour, path+".Window", r.Window, "0 to 1h")
	e.Check(r.Select == "" || r.Select == Max || r.Select == Min || r.Select == Disabled,
		path+".Select", r.Select, "Max, Min or Disabled")
	e.Check(len(r.Policies) > 0, path+".Policies", nil, "at least one policy")
	for i, l := range r.Policies {
		location := fmt.Sprintf("%s.Policies[%d]", path, i)
		e.Check(l.Type == Pods || l.Type == Percent, location+".Type", l.Type, "Pods or Percent")
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

// within reports whether a ratio changes nothing. The bounds are included.
func (t tolerances) within(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }
