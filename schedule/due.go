package schedule

import (
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// latestOnly reports whether at most one scheduled run waits.
func (d *decider) latestOnly() bool {
	return d.spec.SkipOutdated || d.spec.Concurrency == Forbid || d.spec.Concurrency == Replace
}

// lose counts scheduled runs that do not start, because others do.
func (d *decider) lose(n int64) {
	if d.latestOnly() {
		d.miss(Outdated, n)
	} else {
		d.missed[dropped] += n
	}
}

// miss counts missed runs. While creates are rejected, that is the cause of runs that would
// have started.
func (d *decider) miss(why Cause, n int64) {
	if s := &d.state; (why == Outdated || why == TooLate) && s.Rejected != "" && !s.Blocked && !d.spec.Suspended {
		why = CreateRejected
	}
	d.missed[why] += n
}

// becomeDue is rule 2. The Job of a scheduled run shows that the clock has been at its occurrence.
func (d *decider) becomeDue() {
	s := &d.state
	keep := d.spec.MaxWaiting
	if d.latestOnly() {
		keep = 1
	}
	var ran time.Time
	handled := s.Handled.Format(tagTime) // tags of earlier occurrences are less
	for _, j := range d.jobs {
		if !d.jobsKnown || j.Tag < handled {
			continue
		}
		if due, ok := scheduledAt(d.spec.UID, j.Tag); ok {
			ran = latest(ran, due)
		}
	}
	in := interval.Span{After: s.Handled, Until: latest(d.now, ran)}
	if n := d.countIn(in); n > 0 {
		s.Due = plus(s.Due, n)
		s.Handled, _ = d.due.Last(in.Until)
		late := d.countIn(interval.Span{After: in.After, Until: d.lastLate()})
		in.After = latest(in.After, d.lastLate())
		d.miss(TooLate, late)
		d.lose(n - late - d.wait(in, keep))
	}
	s.Handled = latest(s.Handled, ran)
	d.lose(d.outdate(keep))
	d.miss(TooLate, d.discard(func(r Run) bool { return !r.Due.After(d.lastLate()) }))
}

// countIn returns the number of occurrences in a span that has an end.
func (d *decider) countIn(in interval.Span) int64 {
	if !in.Until.After(in.After) { // a zero Until would be no bound
		return 0
	}
	return d.due.Count(in)
}

// lastLate returns the last time at which a run that has not started was due too early
// to start now, and the zero time without a deadline.
func (d *decider) lastLate() time.Time {
	if d.spec.StartingDeadline <= 0 {
		return time.Time{}
	}
	return interval.Clamp(d.now.Add(-d.spec.StartingDeadline - 1))
}

// nextLate returns the time at which the first waiting run is too late to start, and
// the zero time if there is none.
func (d *decider) nextLate() time.Time {
	if d.spec.StartingDeadline > 0 {
		for _, r := range d.state.Pending {
			if !r.OnDemand && !r.tried() {
				return interval.Clamp(r.Due.Add(d.spec.StartingDeadline + 1))
			}
		}
	}
	return time.Time{}
}

// wait lets the runs of the latest occurrences in a span wait, up to a number, and
// returns how many they are.
func (d *decider) wait(in interval.Span, most int) (n int64) {
	due, ok := d.due.Last(in.Until)
	for ok && due.After(in.After) && n < int64(most) {
		n++
		d.state.Pending = append(d.state.Pending,
			Run{Tag: scheduledTag(d.spec.UID, due), Status: Pending, Due: due, Created: due})
		due, ok = d.due.Last(due.Add(-1))
	}
	slices.SortFunc(d.state.Pending, byDue)
	return n
}

// outdate removes the oldest scheduled runs that wait, except for a number of the
// latest. It returns the number of removed runs.
func (d *decider) outdate(keep int) int64 {
	excess := d.state.PendingScheduled() - int64(keep)
	return d.discard(func(Run) bool {
		excess--
		return excess >= 0
	})
}

// discard removes scheduled runs that wait, except for runs whose Jobs may have been
// created. It returns the number of removed runs.
func (d *decider) discard(which func(Run) bool) (n int64) {
	d.state.Pending = slices.DeleteFunc(d.state.Pending, func(r Run) bool {
		if r.OnDemand || !which(r) || r.tried() {
			return false
		}
		n++
		return true
	})
	return n
}

// plus adds two numbers; a negative number counts as 0.
func plus(a, b int64) int64 {
	sum := max(0, a) + max(0, b)
	if sum < 0 { // it overflowed
		return math.MaxInt64
	}
	return sum
}
