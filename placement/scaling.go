package placement

import (
	"math"

	"github.com/scaledjob/scaledjob/strategy"
)

// NoMax as Scaling.Max is no maximum: more Jobs than can be counted here.
const NoMax = math.MaxInt32

// Scaling is what a manifest says about how many Jobs there are to be. The zero
// value has a maximum of 0 and creates nothing.
type Scaling struct {
	Min, Max int32 // below 0 they count as 0, and a Min above Max as Max
	// Strategy is basic, accurate, eager, custom or pendingAware; anything else, ""
	// included, is pendingAware.
	Strategy             string
	QueueLengthDeduction int32 // of custom
	// RunningJobPercentage is a decimal, of custom. What strategy.ParsePercentage
	// does not take, "" included, makes custom basic.
	RunningJobPercentage     string
	AccurateSubtractsPending bool // see strategy.Accurate
	// Own takes the place of the strategy that Strategy names, where it is not nil.
	Own strategy.Strategy
	// FailoverOverMax lets pendingAware replace stuck Jobs when these take up the
	// maximum: stuck ones do not count against it, up to twice the maximum in all.
	FailoverOverMax bool
}

// A Demand is what the metrics ask for. The zero value asks for the minimum.
type Demand struct {
	Jobs int64 // before the bounds; below 0 it counts as 0
	// Active is that a metric is active and could be read. Without one there are to
	// be the Jobs of the minimum and no more, and stuck ones are not replaced.
	Active bool
}

// A Proposal is how many Jobs to create, and how that came about. Proposals can be
// compared with ==.
type Proposal struct {
	Counts Counts
	Load   strategy.Load // what the strategy saw, or would have; its Target is the status's desiredJobs
	Raw    int64         // what the strategy answered; 0 where it was not asked
	Create int32
	// Blocked is ReasonHeldByStuck where nothing can be created because stuck Jobs
	// take up the maximum.
	Blocked Reason
}

// Propose returns how many Jobs to create. The minimum is a floor: with M the
// maximum and D what the metrics ask for, the strategy sees
//
//	T = clamp(D, min, M)  if its target is a total (basic, pendingAware)
//	T = min(D, M)         else, or it would add min on every poll
//
// and what is created is
//
//	clamp(max(min - R, strategy(T, R, P, S, M)), 0, max(0, M - R - terminating))
//
// Under FailoverOverMax M is min(M + S, 2M) in all but T. So R + terminating + create
// is never more than max, or twice that, unless R + terminating was (FuzzPropose).
func (s *Scaling) Propose(d Demand, c Counts) (p Proposal) {
	chosen := s.strategy()
	most := int64(max(0, s.Max))
	least := min(int64(max(0, s.Min)), most)
	terminating := max(0, c.Terminating)
	p.Load = strategy.Load{Target: min(d.Jobs, most), Running: c.Running, Pending: c.Pending, Stuck: c.Stuck, Max: most}.Normalize()
	if s.FailoverOverMax && d.Active && s.replaces() {
		p.Load.Max += min(p.Load.Stuck, most)
	}
	l := &p.Load
	p.Counts = Counts{l.Running, l.Pending, l.Stuck, terminating}
	create := least - l.Running
	switch {
	case !d.Active:
		l.Target = least
	default:
		if strategy.TargetIsTotal(chosen) {
			l.Target = max(l.Target, least)
		}
		p.Raw = chosen.Propose(*l)
		create = max(create, p.Raw)
	}
	room := max(0, max(0, l.Max-l.Running)-terminating)
	p.Create = clip(max(0, min(create, room)))
	if d.Active && s.replaces() && l.Running >= l.Max && l.Stuck > 0 && l.Target > l.Running-l.Stuck {
		p.Blocked = ReasonHeldByStuck
	}
	return p
}

// replaces reports whether the strategy replaces stuck Jobs.
func (s *Scaling) replaces() bool {
	_, ok := s.strategy().(strategy.PendingAware)
	return ok
}

func (s *Scaling) strategy() strategy.Strategy {
	if s.Own != nil {
		return s.Own
	}
	switch s.Strategy {
	case "basic":
		return strategy.Default{}
	case "accurate":
		return strategy.Accurate{SubtractPending: s.AccurateSubtractsPending}
	case "eager":
		return strategy.Eager{}
	case "custom":
		percentage, err := strategy.ParsePercentage(s.RunningJobPercentage)
		if err != nil {
			return strategy.Default{}
		}
		return strategy.NewCustom(int64(s.QueueLengthDeduction), percentage)
	}
	return strategy.PendingAware{}
}
