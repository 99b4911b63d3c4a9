package schedule

import "slices"

// cancel is rule 5. A run whose Job may have been created is cancelled when the Job has
// been observed.
func (d *decider) cancel(tags []string) {
	s := &d.state
	is := func(r Run) bool { return slices.Contains(tags, r.Tag) }
	s.Pending = slices.DeleteFunc(s.Pending, func(r Run) bool {
		if !is(r) || r.tried() {
			return false
		}
		if !r.OnDemand {
			s.Missed = plus(s.Missed, 1)
		}
		r.Status, r.Stopped, r.Completed = Completed, cancelled, latest(d.now, s.Last.Completed)
		s.Completed = append(s.Completed, r)
		d.tell(Event{Reason: RunStopped, Run: r})
		return true
	})
	slices.SortFunc(s.Completed, byCompletion)
	d.stop(is, cancelled)
}

// replace stops the active scheduled run if another one could start instead. While
// creates fail, the active run stays.
func (d *decider) replace() {
	could := func(r Run) bool { return !r.OnDemand && !r.tried() && !d.holds(r) }
	if d.spec.Concurrency == Replace && d.state.Tries < failing && slices.ContainsFunc(d.state.Pending, could) {
		d.stop(func(r Run) bool { return !r.OnDemand }, replaced)
	}
}

func (d *decider) stop(which func(Run) bool, why string) {
	for i := range d.state.Running {
		if r := &d.state.Running[i]; r.Stopped == "" && which(*r) {
			r.Stopped = why
		}
	}
}

// forbid misses the scheduled runs that wait behind an active run.
func (d *decider) forbid() {
	if d.spec.Concurrency == Forbid && d.active() {
		d.missed += d.discard(func(Run) bool { return true })
	}
}

// tellLost counts the runs that do not start, and reports them.
func (d *decider) tellLost() {
	s := &d.state
	for _, lost := range []struct {
		n      int64
		total  *int64
		reason Reason
	}{{d.missed, &s.Missed, RunsMissed}, {d.dropped, &s.Dropped, RunsDropped}} {
		if lost.n > 0 {
			*lost.total = plus(*lost.total, lost.n)
			d.tell(Event{Reason: lost.reason, Count: lost.n})
		}
	}
}
