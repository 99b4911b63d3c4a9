package scaling

import "github.com/scaledjob/scaledjob/strategy"

// A Surplus is a number of workers that may be drained, with the reason. The zero value
// drains none.
type Surplus struct {
	Workers int64
	Reason  string
}

// Surplus returns how many of the running workers a decision of the policy leaves without
// work, for workers that serve many items each, such as idle agents or machines. The caller
// chooses idle Jobs. At least the minimum and the strategy's target remain.
//
// There is no surplus if the policy is paused, if the workers or any metric are unknown, if
// the decision creates workers, or if the strategy's target leaves out the items in progress
// (see [strategy.TargetIsTotal]).
func (d Decision) Surplus(p Policy) Surplus {
	t, bounds := &d.Trace, p.Bounds.normalize()
	switch {
	case p.Paused:
		return Surplus{Reason: "paused"}
	case !t.JobsKnown:
		return Surplus{Reason: "the workers are not known"}
	case t.Demand.Read < t.Demand.Metrics || t.Demand.Metrics == 0:
		return Surplus{Reason: "not every metric could be read"}
	case d.Create > 0:
		return Surplus{Reason: "more workers are needed"}
	case !strategy.TargetIsTotal(p.strategy()):
		return Surplus{Reason: "the strategy's target leaves out the items in progress"}
	}
	target := min(t.Demand.Jobs, bounds.Max)
	if t.Demand.Active == 0 {
		target = 0
	}
	if bounds.Mode == Floor {
		target = max(target, bounds.Min)
	} else if target = plus(target, bounds.Min); target > bounds.Max {
		target = bounds.Max
	}
	if n := t.Jobs.Running - target; n > 0 {
		return Surplus{n, "above the strategy's target and the minimum"}
	}
	return Surplus{Reason: "every worker is needed"}
}
