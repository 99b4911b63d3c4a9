package adapter

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/placement"
)

// An Order is what to do with the Jobs of one owner in one cluster, where something
// else than [NewPlan] has decided it, such as placement.PlanJobs.
type Order struct {
	Owner     types.UID
	Prototype *batchv1.Job // what the new Jobs are, with its owner: see [ScaledJob.Prototype]
	// Key makes names differ beside the prototype's name and the number: best the
	// owner's UID, the generation, and the cluster.
	Key      string
	Replaces []placement.Source // for each a Job that stands in for it
	Fresh    int64              // Jobs that replace nothing
	Delete   []Deletion
	Now      time.Time
}

// Order returns a plan that does this, for [Tracker.Apply]; its Decision is the
// zero value.
//
// Creates of an order hold their room, as [Fleet.Unseen], until the cache shows
// the Job or [Fleet.Settle] says that there is none, however long that takes, and
// their numbers are not taken twice. For elsewhere a plan could be made meanwhile by
// which the Job is created in another cluster, under another name.
func (t *Tracker) Order(o Order) Plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	plan := Plan{
		Delete: o.Delete, Create: o.Fresh + int64(len(o.Replaces)),
		owner: o.Owner, ownership: t.ownership, namespace: o.Prototype.Namespace,
		template: jobTemplate{o.Prototype, o.Key}, sources: o.Replaces,
		flight: flight{held: true, asked: o.Now},
	}
	if f := t.known(o.Owner); f != nil {
		plan.gaps, plan.next = f.free(o.Now)
	} else {
		plan.Delete, plan.Create = nil, 0
	}
	return plan
}

// Unseen are the Jobs of orders that the cache does not show, by number. One
// without a UID may exist or not: its create is under way, or was not answered.
func (f *Fleet) Unseen() []Job {
	return f.ordered(func(flight) bool { return true })
}

// Job returns the Job of that name, an unseen one too, if there is one.
func (f *Fleet) Job(name string) (Job, bool) {
	if m := f.jobs[name]; m != nil {
		return m.Job, true
	}
	for _, to := range f.flights {
		if to.job != nil && to.job.Name == name {
			return *to.job, true
		}
	}
	return Job{}, false
}

// Unsettled are those of [Fleet.Unseen] that are in doubt: whose create was not
// answered, or that the cache has not shown for a minute.
func (f *Fleet) Unsettled(now time.Time) []Job {
	return f.ordered(func(to flight) bool {
		return to.unanswered || to.landed && now.Sub(to.asked) >= flightTime
	})
}

func (f *Fleet) ordered(such func(flight) bool) (jobs []Job) {
	for _, to := range f.flights {
		if to.job != nil && such(to) {
			jobs = append(jobs, *to.job)
		}
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return jobs
}

// Settle says what the API server has under the name of an unsettled Job: nil is
// that there is no such Job, and it holds no room any more.
func (f *Fleet) Settle(j Job, there *batchv1.Job, now time.Time) {
	to, ok := f.flights[j.Sequence]
	switch {
	case !ok || to.job == nil:
	case there == nil:
		f.numbers.see(j.Sequence, time.Time{}) // its name may have been told as a source
		delete(f.flights, j.Sequence)
	default:
		to.land(there)
		to.asked = now
		f.flights[j.Sequence] = to
	}
}
