package schedule

import (
	"maps"
	"slices"
)

// cancel is rule 5. A run whose Job may have been created is cancelled when the Job has
// been observed.
func (d *decider) cancel(tags []string) {
	s := &d.State
	is := func(r Run) bool { return slices.Contains(tags, r.Tag) }
	s.Pending = slices.DeleteFunc(s.Pending, func(r Run) bool {
		if !is(r) || r.tried() {
			return false
		}
		if !r.OnDemand {
			d.miss(Cancelled, 1)
		}
		r.Status, r.Stopped, r.Completed = Completed, cancelled, latest(d.now, s.Last.Completed)
		s.Completed = append(s.Completed, r)
		d.tell(Event{Reason: RunStopped, Run: r})
		return true
	})
	slices.SortFunc(s.Completed, byCompletion)
	d.stop(is, cancelled)
}

// replace stops the active scheduled run if another could start instead. While
// creates fail, the active run stays.
func (d *decider) replace() {
	could := func(r Run) bool { return !r.OnDemand && !r.tried() && !d.holds(r) }
	if d.spec.Concurrency == Replace && d.State.Tries < failing && slices.ContainsFunc(d.State.Pending, could) {
		d.stop(func(r Run) bool { return !r.OnDemand }, replaced)
	}
}

func (d *decider) stop(which func(Run) bool, why string) {
	for i := range d.State.Running {
		if r := &d.State.Running[i]; r.Stopped == "" && which(*r) {
			r.Stopped = why
		}
	}
}

// forbid misses the scheduled runs that wait behind an active run.
func (d *decider) forbid() {
	if d.spec.Concurrency == Forbid && d.active() {
		d.miss(Forbidden, d.discard(func(Run) bool { return true }))
	}
}

// block decides when a failure blocks the schedule, and when it is free again. A run that was
// stopped or lost changes nothing.
func (d *decider) block() {
	s := &d.State
	failed := s.Last.Outcome() == Failed
	if s.Last.Stopped != "" || s.Last.Lost {
		failed = s.Blocked
	}
	blocked := d.spec.BlockOnFailure && failed
	switch {
	case blocked && !s.Blocked:
		d.tell(Event{Reason: Blocked, Run: s.Last})
	case !blocked && s.Blocked:
		d.tell(Event{Reason: Unblocked, Run: s.Last})
	}
	s.Blocked = blocked
}

// A Cause is why a scheduled run was missed.
type Cause string

const (
	Outdated       Cause = "outdated"  // a later run was due
	TooLate        Cause = "deadline"  // it waited for longer than the starting deadline
	Forbidden      Cause = "forbidden" // another run was active, and the policy is Forbid
	CreateRejected Cause = "rejected"  // outdated or too late while the API server rejected creates
	Cancelled      Cause = "cancelled" // before it started
)

// Missed counts the missed runs by their causes. It has no counts of 0.
type Missed map[Cause]int64

// dropped is the cause of runs above MaxWaiting, in decider.lost and State.Missing.
const dropped Cause = "dropped"

// lostCauses are the causes in the order of their reports.
var lostCauses = []Cause{Outdated, TooLate, Forbidden, CreateRejected, Cancelled, dropped}

// tellLost counts the runs that do not start. It reports a cause if no run was lost for it since a
// scheduled run last started; cancelled runs have events of their own.
func (d *decider) tellLost() {
	s := &d.State
	for _, why := range lostCauses {
		if d.missed[why] <= 0 || why == Cancelled || slices.Contains(s.Missing, why) {
			continue
		}
		e := Event{Reason: RunsMissed, Count: d.missed[why], Cause: why}
		if why == dropped {
			e.Reason = RunsDropped
		}
		s.Missing = append(s.Missing, why)
		d.tell(e)
	}
	s.Dropped, s.Missed = d.lost[dropped], 0
	maps.DeleteFunc(d.lost, func(why Cause, n int64) bool { return why == dropped || n <= 0 })
	for _, n := range d.lost {
		s.Missed = plus(s.Missed, n)
	}
	s.MissedBy = d.lost
}
