package schedule

import (
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// becomeDue is rule 2.
func (d *decider) becomeDue() {
	c := &d.Checkpoint
	keep, reason := d.policy.MaxWaiting, TooManyWaiting
	if d.policy.keepsLatest() {
		keep, reason = 1, Outdated
	}
	if until, ok := d.line.lastDue(d.now); ok && until.After(c.Handled) {
		in := interval.Span{After: c.Handled, Until: until}
		c.Handled = until
		c.Due = plus(c.Due, d.line.count(in, math.MaxInt64))
		d.enqueue(in, keep, reason)
	}
	d.discard(DeadlineExceeded, func(r Run) bool { return !r.due().After(d.lastLate()) })
	excess := c.PendingScheduled() - keep
	d.discard(reason, func(Run) bool {
		excess--
		return excess >= 0
	})
}

// enqueue lets the runs of the latest occurrences in a span wait, and misses the others.
func (d *decider) enqueue(in interval.Span, keep int64, reason Reason) {
	early := d.passEarly(in)
	late, timely := in, in
	if until, ok := d.line.lastDue(d.lastLate()); ok {
		late.Until, timely.After = earliest(in.Until, until), latest(in.After, until)
	} else {
		late.Until = in.After
	}
	lateCount := d.countDue(late, early)
	missed := d.countDue(timely, early) - d.queue(timely, keep, early)
	d.missIn(late, early, DeadlineExceeded, lateCount)
	d.missIn(timely, early, reason, missed)
}

// passEarly returns the occurrences in a span whose runs have started before their times, and counts them.
func (d *decider) passEarly(in interval.Span) (early []time.Time) {
	c := &d.Checkpoint
	c.Early = slices.DeleteFunc(c.Early, func(t time.Time) bool {
		if t.After(in.Until) {
			return false
		}
		if last, ok := d.line.last(t); ok && last.Equal(t) && t.After(in.After) {
			early = append(early, t)
		}
		return true
	})
	c.Started = plus(c.Started, int64(len(early)))
	return early
}

// countDue returns the number of occurrences in a span whose runs have not started early.
func (d *decider) countDue(in interval.Span, early []time.Time) int64 {
	n := d.line.count(in, math.MaxInt64)
	for _, t := range early {
		if t.After(in.After) && !t.After(in.Until) {
			n--
		}
	}
	return n
}

// queue lets the runs of the latest occurrences in a span wait, up to a number, except for those that have
// started early. It returns how many wait.
func (d *decider) queue(in interval.Span, limit int64, early []time.Time) (n int64) {
	t, ok := d.line.last(in.Until)
	for ok && t.After(in.After) && n < limit {
		if !slices.ContainsFunc(early, t.Equal) {
			n++
			d.Checkpoint.Pending = append(d.Checkpoint.Pending, d.scheduledRun(t))
		}
		t, ok = d.line.last(t.Add(-1))
	}
	slices.SortFunc(d.Checkpoint.Pending, byDue)
	return n
}

// scheduledRun returns the waiting run of an occurrence.
func (d *decider) scheduledRun(t time.Time) Run {
	o := d.line.occurrence(t)
	return Run{Tag: scheduledTag(d.policy.UID, t), Status: Pending, Due: o.Time, Delay: o.Delay, Created: interval.Clamp(o.Due())}
}

// lastLate returns the last time at which a run that has not started was due too early
// to start now, and the first time without a deadline.
func (d *decider) lastLate() time.Time {
	if d.policy.StartingDeadline <= 0 {
		return firstTime
	}
	return latest(firstTime, interval.Clamp(d.now.Add(-time.Duration(d.policy.StartingDeadline)-1)))
}

// nextDue returns the first time at which a waiting run is too late to start, or at which one is due that
// waits because the clock went back. It is the zero time if there is none.
func (d *decider) nextDue() (next time.Time) {
	for _, r := range d.Checkpoint.Pending {
		if d.isFuture(r) {
			next = earliest(next, r.due().UTC())
		}
		if d.policy.StartingDeadline > 0 && !r.OnDemand && !r.tried() {
			next = earliest(next, interval.Clamp(r.due().Add(time.Duration(d.policy.StartingDeadline)+1)))
		}
	}
	return next
}

// discard misses some of the scheduled runs that wait, except for runs whose Jobs may have been
// created. It returns the number of missed runs.
func (d *decider) discard(reason Reason, which func(Run) bool) (n int64) {
	d.Checkpoint.Pending = slices.DeleteFunc(d.Checkpoint.Pending, func(r Run) bool {
		if r.OnDemand || !which(r) || r.tried() {
			return false
		}
		n++
		d.miss(d.reasonAt(r.due(), reason), 1)
		return true
	})
	return n
}

// discardTold is discard with an event.
func (d *decider) discardTold(reason Reason, which func(Run) bool) {
	if n := d.discard(reason, which); n > 0 {
		d.tell(Event{Reason: RunsDropped, Cause: reason, Count: n})
	}
}

// dropEnded drops the waiting runs of a schedule that was removed, or that has no occurrence as late.
func (d *decider) dropEnded() {
	d.discardTold(Ended, func(r Run) bool {
		_, ok := d.line.next(r.Due.Add(-1))
		return !ok
	})
}

// reasonAt returns why a run that was due at a time is missed; reason is what removes it.
func (d *decider) reasonAt(due time.Time, reason Reason) Reason {
	if due.After(d.now) {
		return reason
	}
	return d.firstReason(!due.After(d.busyUntil), reason)
}

// firstReason returns the first that applies of Blocked, Suspended, OtherRunIsActive, CreateRejected and
// the reason that removes a run.
func (d *decider) firstReason(busy bool, reason Reason) Reason {
	switch {
	case d.blocked():
		return Blocked
	case d.policy.Suspended:
		return Suspended
	case busy && d.policy.Concurrency != Allow:
		return OtherRunIsActive
	case d.Checkpoint.Rejected != "":
		return CreateRejected
	}
	return reason
}

// missIn misses n runs of a span, which are of its first occurrences without those that have started early.
func (d *decider) missIn(in interval.Span, early []time.Time, reason Reason, n int64) {
	var busy int64
	if until, ok := d.line.lastDue(d.busyUntil); ok && !d.busyUntil.IsZero() {
		in.Until = earliest(in.Until, until)
		busy = min(n, d.countDue(in, early))
	}
	d.miss(d.firstReason(true, reason), busy)
	d.miss(d.firstReason(false, reason), n-busy)
}

// miss counts missed runs.
func (d *decider) miss(reason Reason, n int64) {
	if n > 0 {
		d.missed[reason] += n
		d.total[reason] = plus(d.total[reason], n)
		if reason != ClockAhead { // whose runs become due again
			d.Checkpoint.LastMissed = reason
		}
	}
}

// plus adds two numbers; a negative number counts as 0.
func plus(a, b int64) int64 {
	sum := max(0, a) + max(0, b)
	if sum < 0 { // it overflowed
		return math.MaxInt64
	}
	return sum
}
