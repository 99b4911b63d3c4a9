package jobs

import (
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// Decide decides a poll: which Jobs to delete, how many to create, and where. The checkpoint
// is that of the previous decision, or the zero value. Decide is pure and total, and the
// order of members, clusters and Jobs does not matter.
//
//  1. Outdated Jobs are deleted, then duplicates, then finished Jobs, over all clusters.
//  2. Failures and stuck Jobs become taints.
//  3. scaling.Decide returns the number of Jobs to create.
//  4. Under PendingAware the first of them replace stuck and lost Jobs, the longest pending
//     first, each on a cluster without a Job of the same chain. A Job with a live
//     replacement is not replaced again.
//  5. [Scheduling] places them on members that are not excluded.
//
// A deletion on an unreachable cluster is deferred, and its Job counts as before. Other
// unfinished Jobs to delete are terminating.
func Decide(p Policy, o Observation, c Checkpoint) Decision {
	f := newFleet(&p, &o, c)
	var d Decision
	f.taint(&d.Checkpoint)
	f.delete(&d)
	f.count()
	f.judge()
	f.decide(&d)
	f.place(&d)
	if d.Reason == "" && f.cutOff() {
		d.Reason = ReasonCutOff
	}
	f.store(&d)
	d.NextCheck = f.change.next
	return d
}

// decide sets the number of Jobs to create. Late creates occupy capacity, except for
// Jobs that are created again on their clusters.
func (f *fleet) decide(d *Decision) {
	jobs, unanswered := f.total()
	d.Scaling = f.scale(jobs)
	held := jobs
	held.Terminating = plus(held.Terminating, unanswered)
	f.createdAgain = d.Scaling.Create - f.scale(held).Create
	t := &d.Scaling.Trace
	d.Target = f.target(t.Demand.Jobs)
	missing := f.proposed(d) && d.Scaling.Create == 0 && d.Target > jobs.Running-jobs.Stuck
	full := jobs.Running >= t.Bounds.Max && jobs.Stuck > 0
	if f.replaces() && missing && full {
		d.Reason = ReasonHeldByStuck
	}
}

// scale decides by package scaling. With FailoverOverMax the trace has the raised
// maximum.
func (f *fleet) scale(jobs scaling.JobCounts) scaling.Decision {
	policy, state := f.Scaling, scaling.Observation{Metrics: f.Metrics, Jobs: &jobs}
	policy.Strategy = f.strategy()
	if f.waits() {
		state.Jobs = nil
	}
	d := scaling.Decide(policy, state)
	if maximum := max(0, policy.Bounds.Max); f.FailoverOverMax && f.replaces() && d.Trace.Strategy != "" {
		policy.Bounds.Max = plus(maximum, max(0, min(jobs.Stuck, maximum)))
		policy.Strategy = overMax{maximum}
		if policy.Bounds.Mode != scaling.Floor {
			policy.Strategy = overMax{maximum - min(max(0, policy.Bounds.Min), maximum)}
		}
		d = scaling.Decide(policy, state)
	}
	return d
}

// proposed reports whether the strategy proposed a number.
func (f *fleet) proposed(d *Decision) bool { return d.Scaling.Trace.Strategy != "" }

// target returns the Jobs that should run if the metrics ask for that many.
func (f *fleet) target(demand int64) int64 {
	maximum := max(0, f.Scaling.Bounds.Max)
	minimum := min(max(0, f.Scaling.Bounds.Min), maximum)
	if f.Scaling.Bounds.Mode != scaling.Floor {
		return min(plus(minimum, demand), maximum)
	}
	return max(minimum, min(demand, maximum))
}

// An overMax is PendingAware with a target that excludes the additional capacity.
type overMax struct{ maximum int64 }

func (o overMax) TargetIsTotal() bool { return true }

func (o overMax) Propose(l strategy.Load) int64 {
	l.Target = min(l.Target, o.maximum)
	return strategy.PendingAware{}.Propose(l)
}

func (o overMax) String() string { return strategy.PendingAware{}.String() + ", over the maximum" }

// waits reports whether the Jobs of a member are not known yet, so that nothing is
// created.
func (f *fleet) waits() bool {
	for i := range f.members {
		m := &f.members[i]
		unlisted := m.reason == ReasonNeverReached || (m.reason == ReasonUnconfirmed && m.Reach == NeverReached)
		if !unlisted || m.Taint.At(f.Now).Level == taint.Hard {
			continue
		}
		if excluded, _ := elapsed(m.Since, f.Failover.GracePeriod, f.Now); m.Since.IsZero() || !excluded {
			return true
		}
	}
	return false
}

// cutOff reports whether no member answers and none of the failures counts.
func (f *fleet) cutOff() bool {
	fails := func(m member) bool { return m.reason == ReasonUnconfirmed }
	other := func(m member) bool { return m.registered && m.listed && !fails(m) }
	return slices.ContainsFunc(f.members, fails) && !slices.ContainsFunc(f.members, other)
}

// plus adds two numbers of 0 or more, and saturates.
func plus(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }
