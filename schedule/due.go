package schedule

import (
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// miss counts missed runs. While creates are rejected, that is the cause of runs that would
// have started.
func (d *decider) miss(why Cause, n int64) {
	if s := &d.State; (why == Outdated || why == TooLate) && s.Rejected != "" && !s.Blocked && !d.spec.Suspended {
		why = CreateRejected
	}
	d.missed[why] += n
	d.lost[why] = plus(d.lost[why], n)
}

// becomeDue is rule 2. The Job of a scheduled run shows that the clock has been at its occurrence.
func (d *decider) becomeDue() {
	s := &d.State
	keep, others := d.spec.MaxWaiting, dropped
	if d.spec.SkipOutdated || d.spec.Concurrency == Forbid || d.spec.Concurrency == Replace {
		keep, others = 1, Outdated
	}
	ran := beginning
	handled := s.Handled.Format(tagTime) // tags of earlier occurrences are less
	for tag := range d.jobs {
		if tag < handled {
			continue
		}
		if due, ok := scheduledAt(d.spec.UID, tag); ok {
			ran = latest(ran, due)
		}
	}
	in := interval.Span{After: s.Handled, Until: latest(d.now, ran)}
	if n := d.due.Count(in); n > 0 {
		s.Due = plus(s.Due, n)
		s.Handled, _ = d.due.Last(in.Until)
		late := d.due.Count(interval.Span{After: in.After, Until: d.lastLate()})
		in.After = latest(in.After, d.lastLate())
		d.miss(TooLate, late)
		d.miss(others, n-late-d.queue(in, keep))
	}
	s.Handled = latest(s.Handled, ran)
	d.miss(others, d.outdate(keep))
	d.miss(TooLate, d.discard(func(r Run) bool { return !r.Due.After(d.lastLate()) }))
}

// beginning is the first time that is not the zero time, which is no time.
var beginning = time.Time{}.Add(1)

// lastLate returns the last time at which a run that has not started was due too early
// to start now, and the beginning without a deadline.
func (d *decider) lastLate() time.Time {
	if d.spec.StartingDeadline <= 0 {
		return beginning
	}
	return latest(beginning, interval.Clamp(d.now.Add(-d.spec.StartingDeadline-1)))
}

// nextLate returns the time at which the first waiting run is too late to start, and
// the zero time if there is none.
func (d *decider) nextLate() time.Time {
	for _, r := range d.State.Pending {
		if d.spec.StartingDeadline > 0 && !r.OnDemand && !r.tried() {
			return interval.Clamp(r.Due.Add(d.spec.StartingDeadline + 1))
		}
	}
	return time.Time{}
}

// queue lets the runs of the latest occurrences in a span wait, up to a number, and
// returns how many they are.
func (d *decider) queue(in interval.Span, most int) (n int64) {
	due, ok := d.due.Last(in.Until)
	for ok && due.After(in.After) && n < int64(most) {
		n++
		d.State.Pending = append(d.State.Pending,
			Run{Tag: scheduledTag(d.spec.UID, due), Status: Pending, Due: due, Created: due})
		due, ok = d.due.Last(due.Add(-1))
	}
	slices.SortFunc(d.State.Pending, byDue)
	return n
}

// outdate removes the oldest scheduled runs that wait, except for a number of the
// latest. It returns the number of removed runs.
func (d *decider) outdate(keep int) int64 {
	excess := d.State.PendingScheduled() - int64(keep)
	return d.discard(func(Run) bool {
		excess--
		return excess >= 0
	})
}

// discard removes scheduled runs that wait, except for runs whose Jobs may have been
// created. It returns the number of removed runs.
func (d *decider) discard(which func(Run) bool) (n int64) {
	d.State.Pending = slices.DeleteFunc(d.State.Pending, func(r Run) bool {
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
