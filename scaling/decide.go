package scaling

import (
	"math"

	"github.com/scaledjob/scaledjob/strategy"
)

// A State is what one poll saw. The zero value has no metric and does not know
// the Jobs, so that nothing is created.
type State struct {
	Metrics []Metric
	// Jobs is nil where the Jobs are not known: they could not be listed, or the
	// cache has not synced.
	Jobs *Jobs
}

// Jobs counts an owner's unfinished Jobs. The zero value is none. Negative
// numbers count as 0, Pending above Running as Running, and Stuck above what is
// left of Pending without Suspended as that.
type Jobs struct {
	Running     int64 // have not finished and are not terminating
	Pending     int64 // the part of Running of which no pod is Running or Succeeded
	Suspended   int64 // the part of Pending whose spec.suspend is true: never stuck
	Stuck       int64 // the part of Pending that has waited for the grace period
	Terminating int64 // unfinished, on their way out: hold room, serve nothing
	InFlight    int64 // created, but not yet seen: added to Running and Pending

	// AgesUnknown says that nobody knows how long Jobs have been pending. Each one
	// that is neither suspended nor in flight is then taken as stuck.
	AgesUnknown bool
}

// normalize sets j to the counts in seen, with InFlight added where it belongs
// and the parts no larger than the whole.
func (j *Jobs) normalize(seen *Jobs) {
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

// A Decision says how many Jobs to create, and why. The zero value creates none.
type Decision struct {
	Create int64 // at least 0
	Rule   Rule  // which rule had the last word
	Trace  Trace // how each stage came to its number
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
//  3. The bounds prepare what the strategy sees. With the minimum on top,
//
//     M = max - min, T = min(T, M), R' = max(0, R - min), P' = min(P, R'), S' = min(S, P')
//
//     and as a floor, M = max, and T = min(T, max), raised to min for the
//     strategies whose target is a total ([strategy.TargetIsTotal]).
//
//  4. The strategy proposes. With the minimum on top, create is
//     max(0, min - R) + max(0, proposal), and as a floor the larger of the two.
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
// and nothing is allocated (BenchmarkDecide).
func Decide(p Policy, s State) (d Decision) {
	t, bounds := &d.Trace, p.Bounds.normalize()
	t.Aggregation, t.Bounds = p.Aggregation, p.Bounds
	t.Demand.aggregate(p.Aggregation, s.Metrics, longest(p.Bounds.Max == NoMax))
	if s.Jobs != nil {
		t.JobsKnown = true
		t.Jobs.normalize(s.Jobs)
		t.Room = bounds.room(&t.Jobs)
		t.Missing = max(0, bounds.Min-t.Jobs.Running)
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
		d.Rule = t.propose(p.Strategy, bounds)
	}
	d.Create = t.asked()
	if d.Create > t.Room {
		d.Create, d.Rule = t.Room, RuleMax
	}
	return
}

// propose asks the strategy, and returns the rule that stands so far.
func (t *Trace) propose(s strategy.Strategy, b Bounds) Rule {
	if s == nil {
		s = strategy.Default{}
	}
	most, running := b.Max, t.Jobs.Running
	if b.Mode != Floor {
		most -= b.Min
		running = max(0, running-b.Min)
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
	t.Strategy = name(s)
	switch {
	case t.Missing > 0 && t.asked() == t.Missing:
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
		return max(t.Missing, proposal)
	}
	return plus(t.Missing, proposal)
}

// room is how many Jobs the maximum leaves.
func (b Bounds) room(j *Jobs) int64 {
	return max(0, max(0, b.Max-j.Running)-j.Terminating)
}

// plus adds two numbers that are not negative.
func plus(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return math.MaxInt64
}
