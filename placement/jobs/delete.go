package jobs

import (
	"slices"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
)

// delete chooses the Jobs to delete, and notes it.
func (f *fleet) delete(d *Decision) {
	d.Outdated = f.deletions(f.outdated())
	d.Duplicates = f.deletions(f.duplicates())
	d.Finished = f.deletions(f.history())
}

func (f *fleet) deletions(chosen []int32) (deletions []Deletion) {
	deletions = slices.Grow(deletions, len(chosen))
	for _, i := range chosen {
		j := &f.jobs[i]
		j.deleted, j.deferred = true, f.members[j.member].Reach != Reachable
		deletions = append(deletions, Deletion{f.ref(j), j.deferred})
	}
	return deletions
}

// outdated returns the outdated Jobs to delete, in order.
func (f *fleet) outdated() []int32 {
	if f.Scaling.Paused {
		return nil
	}
	return f.choose(func(j *job) bool {
		o := rollout.Observation{Job: rollout.Job{Revision: j.Revision, NeverStarted: j.NeverStarted}, Current: f.Revision}
		return j.live() && rollout.Decide(f.Rollout, o).Delete
	})
}

// choose returns the Jobs that satisfy is, in order.
func (f *fleet) choose(matches func(*job) bool) (chosen []int32) {
	for i := range f.jobs {
		if matches(&f.jobs[i]) {
			chosen = append(chosen, int32(i))
		}
	}
	slices.SortFunc(chosen, f.compare)
	return chosen
}

// history returns the finished Jobs to delete, in the order of package history. A
// replacement that has succeeded is kept, beside those, while a superfluous Job of its chain
// exists. This decision deletes that Job, but the deletion may fail.
func (f *fleet) history() (chosen []int32) {
	var finished []history.Job
	var indexes []int32
	for i := range f.jobs {
		j := &f.jobs[i]
		if !j.finished() || (j.Phase == Succeeded && f.chains[j.chain].surplus) {
			continue
		}
		outcome := history.Failed
		if j.Phase == Succeeded {
			outcome = history.Succeeded
		}
		finished = append(finished, history.Job{Name: j.Name, Deleting: j.Deleting, Finished: j.Finished, Outcome: outcome})
		indexes = append(indexes, int32(i))
	}
	decision := history.Decide(f.History, history.Observation{Now: f.Now, Jobs: finished})
	f.change.add(decision.NextCheck)
	for _, d := range decision.Delete {
		chosen = append(chosen, indexes[d.Index])
	}
	return chosen
}
