package placement

import (
	"slices"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
)

// delete returns the Jobs to delete, and takes those that will be as terminating.
func (f *fleet) delete() (all []Deletion) {
	add := func(reason Reason, chosen []int) {
		for _, i := range chosen {
			j := &f.jobs[i]
			j.deleted, j.deferred = true, !f.members[j.member].cluster.Reachable
			all = append(all, Deletion{f.ref(i), reason, j.deferred})
		}
	}
	add(ReasonOldSpec, f.rolledOut())
	add(ReasonDuplicate, f.duplicates())
	finished := make([]history.Job, len(f.jobs))
	for i := range f.jobs {
		finished[i] = f.jobs[i].history()
	}
	add(ReasonHistoryLimit, history.Choose(f.History, finished))
	return all
}

func (f *fleet) rolledOut() []int {
	if f.Paused {
		return nil
	}
	unfinished := make([]rollout.Job, len(f.jobs))
	for i := range f.jobs {
		j := &f.jobs[i]
		unfinished[i] = rollout.Job{Revision: j.Revision, NeverStarted: j.NeverStarted, Finished: j.finished(), Deleting: !j.live()}
	}
	chosen := rollout.Choose(f.Rollout, f.Revision, unfinished)
	slices.SortFunc(chosen, f.compare)
	return chosen
}

// duplicates returns the Jobs that the policy has no use for beside another of their
// chain. Whether one runs on a cluster that does not answer is not known.
func (f *fleet) duplicates() (chosen []int) {
	if !f.Scaling.replaces() {
		return nil
	}
	for _, c := range f.chains() {
		links := make([]link, len(c.live))
		for g, i := range c.live {
			j := &f.jobs[i]
			links[g] = link{runs: j.Phase == Running && f.members[j.member].cluster.Reachable, exists: !j.Unconfirmed}
		}
		from, to := f.Failover.Duplication.surplus(links)
		chosen = append(chosen, c.live[from:to]...)
	}
	chosen = slices.DeleteFunc(chosen, func(i int) bool { return f.jobs[i].deleted })
	slices.SortFunc(chosen, f.compare)
	return chosen
}

func (j *Job) history() history.Job {
	h := history.Job{Name: j.Name, Deleting: j.Deleting, Finished: j.Finished}
	switch j.Phase {
	case Succeeded:
		h.Outcome = history.Succeeded
	case Failed:
		h.Outcome = history.Failed
	}
	return h
}
