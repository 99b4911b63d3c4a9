package schedule

import (
	"slices"

	"github.com/scaledjob/scaledjob/history"
)

// block tells when a failure blocks the schedule, and when it is free again.
func (d *decider) block() {
	s := &d.state
	blocked := d.spec.BlockOnFailure && s.Last.Outcome() == Failed
	switch {
	case blocked && !s.Blocked:
		d.tell(Event{Reason: Blocked, Run: s.Last})
	case !blocked && s.Blocked:
		d.tell(Event{Reason: Unblocked, Run: s.Last})
	}
	s.Blocked = blocked
}

// start is rule 5.
func (d *decider) start() {
	s := &d.state
	s.Pending = slices.DeleteFunc(s.Pending, func(r Run) bool {
		if s.Blocked && !r.OnDemand || !d.spec.AllowConcurrentRun && len(s.Running) > 0 {
			return false
		}
		r.Status, r.Started = Running, latest(d.now, s.Last.Completed)
		if !r.OnDemand {
			s.Started = plus(s.Started, 1)
		}
		s.Running = append(s.Running, r)
		return true
	})
	slices.SortFunc(s.Running, byDue)
}

// prune is rule 6.
func (d *decider) prune() {
	s := &d.state
	for _, i := range d.outlived() {
		s.Forgotten = append(s.Forgotten, s.Completed[i].Tag)
		s.Completed[i] = Run{}
	}
	s.Completed = slices.DeleteFunc(s.Completed, func(r Run) bool { return r == Run{} })
	if d.jobsKnown {
		s.Forgotten = slices.DeleteFunc(s.Forgotten, func(tag string) bool {
			_, ok := tagged(d.jobs, tag)
			return !ok
		})
	}
}

// outlived returns the indexes of the completed runs that history does not keep.
func (d *decider) outlived() []int {
	succeeded := 0
	for i := range d.state.Completed {
		if d.state.Completed[i].Success {
			succeeded++
		}
	}
	if !d.spec.History.Exceeded(succeeded, len(d.state.Completed)-succeeded) {
		return nil
	}
	jobs := make([]history.Job, len(d.state.Completed))
	for i, r := range d.state.Completed {
		jobs[i] = history.Job{Name: r.Tag, Outcome: history.Failed, Finished: r.Completed}
		if r.Success {
			jobs[i].Outcome = history.Succeeded
		}
	}
	return history.Choose(d.spec.History, jobs)
}
