package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/scaling"
)

// A Machine is a worker that takes items of every queue, one after the other.
type Machine struct {
	Name string
	// Mark asks the machine to take no more items. Answered is its own answer: it takes none, and has
	// none. Only then is it deleted; until then, and after it, the mark can be taken back.
	Mark, Answered bool
	Busy           bool // it has an item: such a machine is marked last
}

// An Observation is what was read for one decision.
type Observation struct {
	Now      time.Time
	Queues   []scaling.Metric // items waiting and in progress; Target is the items per machine
	Machines []Machine        // of the pool
	External int64            // machines outside the pool that serve the same queues
}

// A Decision says what happens to the machines of the pool.
type Decision struct {
	Create               int64
	Unmark, Mark, Delete []string
	Scaling              scaling.Decision         // the reasons
	Drain                scaling.CooldownDecision // with the checkpoint for the next decision
}

// decide shares the maximum of the policy among all queues, because their demand is added
// (aggregation sum). Machines outside the pool serve demand, and count towards no bound.
func decide(p scaling.Policy, c scaling.Cooldown, o Observation, last scaling.CooldownCheckpoint) (d Decision) {
	limit := p.Bounds.Max
	p.Aggregation, p.Bounds.Mode = scaling.Sum, scaling.Floor
	p.Bounds.Min, p.Bounds.Max = p.Bounds.Min+o.External, p.Bounds.Max+o.External
	serving, idle, busy := split(o.Machines)
	d.Scaling = scaling.Decide(p, scaling.Observation{Metrics: o.Queues, Jobs: &scaling.JobCounts{
		Running: int64(len(serving)+len(busy)) + o.External, // a marked machine still serves its item
	}})
	reactivated := min(d.Scaling.Create, int64(len(idle)))
	d.Unmark, idle = names(idle[:reactivated]), idle[reactivated:]
	if d.Scaling.Create > reactivated {
		d.Unmark = append(d.Unmark, names(busy)...)
	}
	d.Create = min(d.Scaling.Create-reactivated, max(0, limit-int64(len(o.Machines))))
	for _, m := range idle {
		if m.Answered {
			d.Delete = append(d.Delete, m.Name)
		}
	}
	d.Drain = c.Decide(scaling.CooldownObservation{Now: o.Now, Surplus: d.Scaling.Surplus}, last)
	d.Mark = names(serving[:min(d.Drain.Jobs, int64(len(serving)))])
	return d
}

// split returns the machines that serve, idle ones first, and the marked ones without and with an
// item, of which those that have not answered are first.
func split(machines []Machine) (serving, idle, busy []Machine) {
	for _, m := range slices.SortedFunc(slices.Values(machines), compare) {
		switch {
		case !m.Mark:
			serving = append(serving, m)
		case m.Busy:
			busy = append(busy, m)
		default:
			idle = append(idle, m)
		}
	}
	return serving, idle, busy
}

func compare(a, b Machine) int {
	rank := func(m Machine) int {
		if m.Busy || m.Answered {
			return 1
		}
		return 0
	}
	return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Name, b.Name))
}

func names(machines []Machine) (all []string) {
	for _, m := range machines {
		all = append(all, m.Name)
	}
	return all
}
