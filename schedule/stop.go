package schedule

import (
	"maps"
	"slices"
)

// cancel is rule 5. A run whose Job may have been created is cancelled when the Job has
// been observed. It reports whether a run waits no longer.
func (d *decider) cancel() bool {
	if d.JobsUnknown {
		return false
	}
	c, before := &d.Checkpoint, len(d.Checkpoint.Pending)
	isCancelled := func(r Run) bool { return slices.Contains(d.observation.Cancelled, r.Tag) }
	c.Pending = slices.DeleteFunc(c.Pending, func(r Run) bool {
		if !isCancelled(r) || r.tried() {
			return false
		}
		if !r.OnDemand {
			d.miss(Cancelled, 1)
		}
		r.Status, r.Stopped, r.Completed = Completed, cancelled, latest(d.now, c.Last.Completed)
		c.Completed = append(c.Completed, r)
		d.tell(Event{Reason: RunStopped, Run: r})
		return true
	})
	slices.SortFunc(c.Completed, byCompletion)
	d.stop(isCancelled, cancelled)
	return len(c.Pending) < before
}

// replace stops the active scheduled run if another could start instead. While
// creates fail, the active run stays.
func (d *decider) replace() {
	couldStart := func(r Run) bool {
		waits := !r.OnDemand && !r.tried()
		return waits && !d.isFuture(r) && !d.holds(r)
	}
	mayReplace := d.policy.Concurrency == Replace && d.Checkpoint.Tries < maxTries
	if mayReplace && slices.ContainsFunc(d.Checkpoint.Pending, couldStart) {
		d.stop(func(r Run) bool { return !r.OnDemand }, replaced)
	}
}

func (d *decider) stop(which func(Run) bool, stopped string) {
	for i := range d.Checkpoint.Running {
		if r := &d.Checkpoint.Running[i]; r.Stopped == "" && which(*r) {
			r.Stopped = stopped
		}
	}
}

// blocked reports whether a failed run blocks the schedule.
func (d *decider) blocked() bool { return d.policy.BlockOnFailure && d.Checkpoint.FailedRun != "" }

// block tells when a failure blocks the schedule, and when it is free again.
func (d *decider) block() {
	c := &d.Checkpoint
	switch isBlocked := d.blocked(); {
	case isBlocked && !c.Blocked:
		d.tell(Event{Reason: Blocked, Run: Run{Tag: c.FailedRun}})
	case !isBlocked && c.Blocked:
		d.tell(Event{Reason: Unblocked, Run: c.Last})
	}
	c.Blocked = d.blocked()
}

// Missed counts the missed runs by their reasons. It has no counts of 0.
type Missed map[Reason]int64

// missReasons are the reasons for which runs are missed, in the order in which one is chosen if several apply.
var missReasons = []Reason{Blocked, Suspended, OtherRunIsActive, CreateRejected, DeadlineExceeded, Outdated, TooManyWaiting, Ended, ClockAhead, Cancelled}

// tellMissed counts the runs that do not start. It tells a reason if no run was missed for it since a
// scheduled run last started; Cancelled, Ended and ClockAhead have events of their own.
func (d *decider) tellMissed() {
	c := &d.Checkpoint
	for _, reason := range missReasons {
		if d.missed[reason] <= 0 || slices.Contains(c.Missing, reason) {
			continue
		}
		c.Missing = append(c.Missing, reason)
		switch reason {
		case Cancelled, Ended, ClockAhead:
		case TooManyWaiting:
			d.tell(Event{Reason: RunsDropped, Cause: reason, Count: d.missed[reason]})
		default:
			d.tell(Event{Reason: RunsMissed, Cause: reason, Count: d.missed[reason]})
		}
	}
	c.Dropped, c.Missed = d.total[TooManyWaiting], 0
	maps.DeleteFunc(d.total, func(reason Reason, n int64) bool { return reason == TooManyWaiting || n <= 0 })
	for _, n := range d.total {
		c.Missed = plus(c.Missed, n)
	}
	c.MissedBy = d.total
}
