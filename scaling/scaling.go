// Package scaling decides how many Jobs to create in one poll of a queue.
//
//	metrics ─ Aggregate ─> demand ─ Bounds ─> target ─ Strategy ─> proposal ─ Bounds ─> Decision
//
// A [Policy] says how, a [State] what was seen, and [Decide] makes a [Decision]
// of both, with a [Trace] of how each stage came to its number. [Validate] tells
// what is wrong with a policy where configuration is loaded.
//
// What it computes is that of KEDA's ScaledJob specification. Where KEDA's code
// does something else than its specification, this package does not follow it.
// golden_test.go runs the documents' examples and the cases of testdata.
package scaling

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/jsonform"
	"github.com/scaledjob/scaledjob/strategy"
)

// A Policy is what a manifest says about scaling. The zero value has a maximum
// of 0 and creates nothing. Its JSON does not read back: see MarshalJSON.
type Policy struct {
	Bounds      Bounds      `json:"bounds"`
	Aggregation Aggregation `json:"aggregation"`
	// Strategy is strategy.Default where it is nil.
	Strategy strategy.Strategy `json:"strategy"`
	// HoldOnFailure keeps to the minimum as soon as one metric could not be read.
	// Otherwise those that could be read decide.
	HoldOnFailure bool `json:"holdOnFailure"`
	// Paused creates nothing. The caller rolls out nothing either; finished Jobs
	// go on being pruned.
	Paused bool `json:"paused"`
}

// DefaultPolicy is the policy of a manifest that says nothing: no minimum, at
// most 100 Jobs, aggregation max, strategy default.
func DefaultPolicy() Policy {
	return Policy{Bounds: Bounds{Max: 100}, Strategy: strategy.Default{}}
}

func (p Policy) strategy() strategy.Strategy {
	if p.Strategy == nil {
		return strategy.Default{}
	}
	return p.Strategy
}

// MarshalJSON returns the fields, with the text of [strategy.Describe] as the
// strategy. Such a text does not read back as a strategy.
func (p Policy) MarshalJSON() ([]byte, error) {
	type plain Policy
	return json.Marshal(struct {
		plain
		Strategy string `json:"strategy"`
	}{plain(p), strategy.Describe(p.strategy())})
}

// NoMax as Bounds.Max sets no maximum.
const NoMax = math.MaxInt64

// Bounds are the limits of the number of unfinished Jobs. The zero value allows
// none. Negative numbers count as 0, and a Min above Max as Max.
type Bounds struct {
	Min  int64   `json:"min"`              // Jobs that are kept always
	Max  int64   `json:"max" form:"limit"` // Jobs that are never exceeded; NoMax, "unlimited" in JSON, for no limit
	Mode MinMode `json:"mode"`             // what the queue's Jobs have to do with Min
}

// MarshalJSON returns the fields, with "unlimited" for a Max of NoMax.
func (b Bounds) MarshalJSON() ([]byte, error) { return jsonform.Marshal(b) }

// UnmarshalJSON reads the result of MarshalJSON.
func (b *Bounds) UnmarshalJSON(data []byte) error { return jsonform.Unmarshal(data, b) }

func (b Bounds) normalize() Bounds {
	b.Max = max(0, b.Max)
	b.Min = min(max(0, b.Min), b.Max)
	return b
}

// MinMode is the meaning of a minimum. In JSON it is a name: additive or floor.
type MinMode uint8

const (
	// Additive keeps Min Jobs in addition to those that the queue asks for, as the
	// ScaledJob specification has it: with a minimum of 2, two Jobs running and
	// three items, three more are created.
	Additive MinMode = iota
	// Floor counts them as part of those that the queue asks for: in the same
	// case one more is created.
	Floor
)

var minModes = []string{"additive", "floor"}

// String returns the name of the mode.
func (m MinMode) String() string { return jsonform.Name(minModes, m) }

// MarshalText returns the same as String.
func (m MinMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the name of a mode.
func (m *MinMode) UnmarshalText(text []byte) error { return jsonform.Parse(minModes, text, m) }

// Validate returns every problem of a policy and of the configured parts of its
// metrics (Target and ActivationThreshold), joined, each a [*field.Error]. Decide
// is defined for a policy with problems all the same. A Min above Max is not a
// problem: it is documented to become Max, and the trace says so.
func Validate(p Policy, metrics ...Metric) error {
	var e field.Errors
	e.AtLeast("Bounds.Min", p.Bounds.Min, 0)
	e.AtLeast("Bounds.Max", p.Bounds.Max, 0)
	e.Check(p.Bounds.Mode <= Floor, "Bounds.Mode", p.Bounds.Mode, "Additive or Floor")
	e.Check(p.Aggregation <= Sum, "Aggregation", p.Aggregation, "Max, Min, Avg or Sum")
	for i, m := range metrics {
		path := fmt.Sprintf("Metrics[%d].", i)
		e.Check(m.Target > 0 && m.Target <= math.MaxFloat64, path+"Target", m.Target, "a positive, finite number")
		e.Check(m.ActivationThreshold >= 0 && m.ActivationThreshold <= math.MaxFloat64,
			path+"ActivationThreshold", m.ActivationThreshold, "a finite number of 0 or more")
		e.Check(m.Activity <= Inactive, path+"Activity", m.Activity, "ByThreshold, Active or Inactive")
	}
	return e.Err()
}

// A State is what one poll saw. The zero value has no metric and does not know
// the Jobs, so that nothing is created.
type State struct {
	Metrics []Metric `json:"metrics"`
	// Jobs is nil where the Jobs are not known: they could not be listed, or the
	// cache has not synced.
	Jobs *JobCounts `json:"jobs"`
}

// JobCounts counts an owner's unfinished Jobs. The zero value is none. Negative
// numbers count as 0, Pending above Running as Running, and Stuck above what is
// left of Pending without Suspended as that.
type JobCounts struct {
	Running     int64 `json:"running"`     // have not finished and are not terminating
	Pending     int64 `json:"pending"`     // the part of Running of which no pod is Running or Succeeded
	Suspended   int64 `json:"suspended"`   // the part of Pending whose spec.suspend is true: never stuck
	Stuck       int64 `json:"stuck"`       // the part of Pending that has waited for the grace period
	Terminating int64 `json:"terminating"` // unfinished, on their way out: hold room, serve nothing
	InFlight    int64 `json:"inFlight"`    // created, but not yet seen: added to Running and Pending

	// AgesUnknown says that nobody knows how long Jobs have been pending. Each one
	// that is neither suspended nor in flight is then taken as stuck.
	AgesUnknown bool `json:"agesUnknown"`
}

// normalize sets j to the counts in seen, with InFlight added where it belongs
// and the parts no larger than the whole.
func (j *JobCounts) normalize(seen *JobCounts) {
	running := max(0, seen.Running)
	pending := min(max(0, seen.Pending), running)
	j.InFlight = max(0, seen.InFlight)
	j.Suspended = min(max(0, seen.Suspended), pending)
	j.Stuck = pending - j.Suspended
	if !seen.AgesUnknown {
		j.Stuck = min(max(0, seen.Stuck), j.Stuck)
	}
	j.Running = plus(running, j.InFlight)
	j.Pending = plus(pending, j.InFlight)
	j.Terminating = max(0, seen.Terminating)
	j.AgesUnknown = seen.AgesUnknown
}

// A Decision is the number of Jobs to create, and why. The zero value creates
// none. It reads back from its JSON, in which enumerated values have names, an
// infinite number is "+Inf", and NoMax is "unlimited".
type Decision struct {
	Create int64 `json:"create"` // at least 0
	Rule   Rule  `json:"rule"`   // the rule that determined Create
	Trace  Trace `json:"trace"`  // how each stage came to its number
}

// Decide returns how many Jobs to create for what was seen. It is total and pure:
// no input makes it panic, equal inputs give equal decisions.
//
// It goes in stages, each told in the trace:
//
//  1. A metric is unreadable if it failed, or its numbers make no sense
//     ([Metric]). Readable ones are active or not. The active ones are
//     aggregated ([Aggregation]) to a queue and a quotient in Jobs.
//
//  2. The quotient is rounded up to T, at least 1 if the queue is not empty. One
//     within one part in 10^9 of the nearest whole number is that number: 2.1
//     items at 0.3 a Job are 7 Jobs, though the float64 quotient is above 7.
//
//  3. The bounds prepare what the strategy sees. With an additive minimum,
//
//     M = max - min, T = min(T, M), R' = max(0, R - min), P' = min(P, R'), S' = min(S, P')
//
//     and with a floor, M = max, and T = min(T, max), raised to min for the
//     strategies whose target is a total ([strategy.TargetIsTotal]).
//
//  4. The strategy proposes. With an additive minimum, create is
//     max(0, min - R) + max(0, proposal), and with a floor the larger of the two.
//
//  5. Always, last: create is at most max - R - terminating, and at least 0.
//
// Without an active metric, without a readable one, and with an unreadable one
// under HoldOnFailure, the strategy is not asked: create is max(0, min - R),
// bounded as in stage 5. Paused, or when the Jobs are not known, it is 0.
//
// R + terminating + create never exceeds max unless R + terminating did
// (FuzzBounds), and under aggregation Sum a longer queue never gets fewer Jobs
// (FuzzMonotone).
//
// Three points depart from the ScaledJob specification, each so that max is kept
// and demand is not forgotten: Jobs that terminate are outside R and inside the
// last bound; P' and S' are reduced with R', so that pending Jobs of the minimum
// do not use up demand; and the result of custom is bounded like every other.
//
// The cost is constant but for the metrics, which take a few nanoseconds each,
// and only the strategy custom allocates (BenchmarkDecide).
func Decide(p Policy, s State) (d Decision) {
	t, bounds, room := &d.Trace, p.Bounds.normalize(), int64(0)
	t.Aggregation, t.Bounds = p.Aggregation, p.Bounds
	t.Demand.aggregate(p.Aggregation, s.Metrics, longest(p.Bounds.Max == NoMax))
	if s.Jobs != nil {
		t.JobsKnown = true
		t.Jobs.normalize(s.Jobs)
		room = bounds.room(&t.Jobs)
		if t.Headroom = room; bounds.Max == NoMax {
			t.Headroom = NoMax
		}
		t.BelowMin = max(0, bounds.Min-t.Jobs.Running)
	}
	health := health(t.Demand.Read, t.Demand.Metrics)
	switch {
	case p.Paused:
		d.Rule = RulePaused
		return
	case s.Jobs == nil:
		d.Rule = RuleJobsUnknown
		return
	case health == NoneRead:
		d.Rule = RuleUnreadable
	case health == SomeRead && p.HoldOnFailure:
		d.Rule = RuleHeld
	case t.Demand.Active == 0:
		d.Rule = RuleInactive
	default:
		d.Rule = t.propose(p.strategy(), bounds)
	}
	d.Create = t.asked()
	if d.Create > room {
		d.Create, d.Rule = room, RuleMax
	}
	return
}

// propose asks the strategy, and returns the rule that stands so far.
func (t *Trace) propose(s strategy.Strategy, b Bounds) Rule {
	most, running := b.Max, t.Jobs.Running
	if b.Mode != Floor {
		running = max(0, running-b.Min)
		if most != NoMax {
			most -= b.Min
		}
	}
	target := min(t.Demand.Jobs, most)
	if b.Mode == Floor && strategy.TargetIsTotal(s) {
		target = max(target, b.Min)
	}
	pending, stuck := min(t.Jobs.Pending, running), min(t.Jobs.Stuck, running)
	// One by one, and not handed on as a whole: copying what has just been written
	// waits for the writes, which would take longer than the rest of the decision.
	l := &t.Load
	l.Target, l.Running, l.Pending, l.Stuck, l.Max = target, running, pending, stuck, most
	t.Proposal = s.Propose(strategy.Load{Target: target, Running: running, Pending: pending, Stuck: stuck, Max: most})
	t.Strategy = strategy.Describe(s)
	switch {
	case t.BelowMin > 0 && t.asked() == t.BelowMin:
		return RuleMin
	case t.Demand.Jobs > most:
		return RuleMax
	}
	return RuleStrategy
}

// asked is what the minimum and the proposal ask for together.
func (t *Trace) asked() int64 {
	proposal := max(0, t.Proposal)
	if t.Bounds.Mode == Floor {
		return max(t.BelowMin, proposal)
	}
	return plus(t.BelowMin, proposal)
}

// room is how many Jobs the maximum leaves.
func (b Bounds) room(j *JobCounts) int64 {
	return max(0, max(0, b.Max-j.Running)-j.Terminating)
}

// plus adds two numbers that are not negative.
func plus(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}
