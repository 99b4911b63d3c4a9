package schedule

import (
	"math"
	"slices"
)

// becomeDue is rule 4. An adopted run shows that the clock has been at its instant.
func (d *decider) becomeDue() {
	s := &d.state
	keep, lost, reason := d.spec.MaxWaiting, &s.Dropped, RunsDropped
	if d.spec.SkipOutdated {
		keep, lost, reason = 1, &s.Missed, RunsMissed
	}
	in := Span{After: s.Handled, Until: latest(d.now, d.ran)}
	gone := int64(0)
	if n := d.instants.Count(in); n > 0 {
		newest, _ := d.instants.Last(in.Until)
		if d.spec.SkipOutdated && d.adopted[newest] {
			keep = 0 // a later run has started than any that waits
		}
		s.Due, s.Handled = plus(s.Due, n), newest
		gone = n - int64(len(d.adopted)) - d.wait(in, keep)
	}
	s.Handled = latest(s.Handled, d.ran)
	if gone += d.outdate(keep); gone > 0 {
		*lost = plus(*lost, gone)
		d.tell(Event{Reason: reason, Count: gone})
	}
}

// wait lets the runs of the latest instants in a span wait, up to so many, and
// returns how many those are.
func (d *decider) wait(in Span, most int) int64 {
	n := 0
	for due := range d.instants.Backward(in) {
		if n == most {
			break
		}
		if !d.adopted[due] {
			n++
			d.state.Pending = append(d.state.Pending,
				Run{Tag: scheduledTag(d.spec.UID, due), Status: Pending, Due: due, Created: d.now})
		}
	}
	slices.SortFunc(d.state.Pending, byDue)
	return int64(n)
}

// outdate takes away the scheduled runs that wait, but for so many of the latest,
// and returns how many it took.
func (d *decider) outdate(keep int) int64 {
	excess, n := d.state.Waiting()-int64(keep), int64(0)
	d.state.Pending = slices.DeleteFunc(d.state.Pending, func(r Run) bool {
		if r.OnDemand || n >= excess {
			return false
		}
		n++
		return true
	})
	return n
}

// plus adds two numbers; what is negative counts as 0.
func plus(a, b int64) int64 {
	a, b = max(0, a), max(0, b)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
