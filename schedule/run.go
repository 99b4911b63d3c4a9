package schedule

import (
	"slices"

	"github.com/scaledjob/scaledjob/history"
)

// block decides when a failure blocks the schedule, and when it is free again. A run that was
// stopped or lost changes nothing.
func (d *decider) block() {
	s := &d.state
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

// prune is rule 8.
func (d *decider) prune() {
	s := &d.state
	for _, i := range d.outlived() {
		if !d.unanswered(s.Completed[i].Tag) {
			d.drop(i)
		}
	}
	d.compact()
	d.fit()
	if d.jobsKnown {
		s.PendingDeletion = slices.DeleteFunc(s.PendingDeletion, func(tag string) bool {
			_, ok := tagged(d.jobs, tag)
			d.changed = d.changed || !ok
			return !ok
		})
	}
}

// unanswered reports whether a request waits for the answer that its run has completed.
func (d *decider) unanswered(tag string) bool {
	answered, listed := d.answered[tag]
	return listed && !answered
}

// drop lets history drop a completed run, which compact removes.
func (d *decider) drop(i int) {
	s := &d.state
	s.PendingDeletion = append(s.PendingDeletion, s.Completed[i].Tag)
	if s.Completed[i].OnDemand {
		s.Requested = append(s.Requested, s.Completed[i].Tag)
	}
	s.Completed[i] = Run{}
}

func (d *decider) compact() {
	d.state.Completed = slices.DeleteFunc(d.state.Completed, func(r Run) bool { return r == Run{} })
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
