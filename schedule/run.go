package schedule

import (
	"slices"

	"github.com/scaledjob/scaledjob/history"
)

// block tells when a failure blocks the schedule, and when it is free again.
func (d *decider) block() {
	s := &d.state
	failed := s.Last.Outcome() == Failed
	if s.Last.Stopped != "" {
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

// prune is rule 6.
func (d *decider) prune() {
	s := &d.state
	for _, i := range d.outlived() {
		if answered, listed := d.answered[s.Completed[i].Tag]; listed && !answered {
			continue
		}
		s.PendingDeletion = append(s.PendingDeletion, s.Completed[i].Tag)
		s.Completed[i] = Run{}
	}
	s.Completed = slices.DeleteFunc(s.Completed, func(r Run) bool { return r == Run{} })
	if d.jobsKnown {
		s.PendingDeletion = slices.DeleteFunc(s.PendingDeletion, func(tag string) bool {
			_, ok := tagged(d.jobs, tag)
			d.changed = d.changed || !ok
			return !ok
		})
	}
}

// outlived returns the indexes of the completed runs that history does not keep.
func (d *decider) outlived() []int {
	jobs := make([]history.Job, len(d.state.Completed))
	for i, r := range d.state.Completed {
		jobs[i] = history.Job{Name: r.Tag, Outcome: history.Failed, Finished: r.Completed}
		if r.Success {
			jobs[i].Outcome = history.Succeeded
		}
	}
	return history.ToDelete(d.spec.History, jobs)
}
