package adapter

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/pods"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/slots"
)

// An owned holds the state of an owner's Jobs: the Jobs in the cache, counted as they
// change, and the set that decides about creates and deletes.
type owned struct {
	uid             types.UID
	target          *Target    // nil while the owner is not tracked
	namespace       string     // of the last target
	set             *slots.Set // nil until the owner is tracked
	plan            *application
	jobs            []*job
	sent            map[int64]Job // the Jobs in flight, and some of before
	called          string        // by the controller reference of the first Job that has one
	finishedChanged bool          // finished Jobs have changed since it was decided which are deleted
	failures        FailureCheckpoint
	expiry          time.Time // when the next finished Job reaches its age; zero if none does

	// Jobs in the cache, without strays.
	phases           [InFlight]int32
	outdated         int32
	podsUnknown      int32
	templatesUnknown int32
	foreign          int32 // with a time to live, which somebody else carries out
	pendingTimes     pods.Times
}

// owner returns the state of an owner, tracked or not.
func (t *Tracker) owner(uid types.UID) *owned {
	o := t.owners[uid]
	if o == nil {
		o = &owned{uid: uid}
		t.owners[uid] = o
	}
	return o
}

// drop frees empty state, and the owner if it has none left.
func (t *Tracker) drop(o *owned) {
	if len(o.jobs) == 0 {
		o.jobs = nil
	}
	if o.target == nil && o.jobs == nil && (o.set == nil || o.set.Empty(t.now())) {
		delete(t.owners, o.uid)
	}
}

// jobShown takes over a Job as the cache shows it now. Equal strings are kept once.
func (t *Tracker) jobShown(j *job) {
	claim, before := j.claim, t.jobs[j.UID]
	if before != nil && before.owner.uid != claim.uid {
		t.jobGone(before)
		before = nil
	}
	if claim.uid == "" {
		return
	}
	o := t.owner(claim.uid)
	o.called = cmp.Or(o.called, claim.called)
	if j.owner = o; claim.called == o.called {
		j.claim = nil
	}
	if before != nil {
		j.Namespace, j.Name, j.UID, j.index = before.Namespace, before.Name, before.UID, before.index
		o.jobs[j.index] = j
	} else {
		j.index = int32(len(o.jobs))
		o.jobs = append(o.jobs, j)
	}
	if target := o.target; target != nil && j.Namespace == target.Owner.Namespace {
		j.Namespace = target.Owner.Namespace
	}
	if target := o.target; target != nil && j.Revision.TemplateHash == target.Revision.TemplateHash {
		j.Revision.TemplateHash = target.Revision.TemplateHash
	}
	t.jobs[j.UID] = j
	t.place(j, before)
}

// jobGone forgets a Job that the cache no longer shows.
func (t *Tracker) jobGone(j *job) {
	o := j.owner
	t.tally(j, -1)
	if delete(t.jobs, j.UID); j.group() > 0 || (j.finished() && j.pruned) {
		t.touch(o)
	}
	last := o.jobs[len(o.jobs)-1]
	o.jobs[j.index], last.index = last, j.index
	o.jobs[len(o.jobs)-1] = nil
	o.jobs = o.jobs[:len(o.jobs)-1]
	if o.set != nil {
		o.set.Observe(slots.Object{UID: string(j.UID), Gone: true})
	}
	t.drop(o)
}

// recount classifies a Job in the cache anew; before is its earlier state.
func (t *Tracker) recount(j *job, before job) { t.place(j, &before) }

// place classifies and counts a Job in the cache. Its state before, if any, no longer counts.
func (t *Tracker) place(j, before *job) {
	if before != nil {
		t.tally(before, -1)
	}
	t.classify(j, valueOf(before))
	t.tally(j, 1)
	o, group := j.owner, 0
	if before != nil {
		group = before.group()
	}
	if group != j.group() || (before != nil && j.finished() && j.pruned && j.marked && !before.marked) {
		t.touch(o)
	}
	switch {
	case o.set == nil:
	case j.stray: // it may have been none before
		o.set.Observe(slots.Object{UID: string(j.UID), Gone: true})
	default:
		o.set.Observe(slots.Object{Number: j.Number, UID: string(j.UID), Finished: j.finished(), Deleting: j.marked})
	}
}

// called returns the name of the owner in the Job's controller reference.
func (j *job) called() string {
	if j.claim != nil {
		return j.claim.called
	}
	return j.owner.called
}

// group returns 1 for an unfinished Job, 2 for a terminating one, and else 0.
func (j *job) group() int {
	switch {
	case j.stray, j.finished():
		return 0
	case j.Phase == Terminating:
		return 2
	}
	return 1
}

// tally adds n Jobs such as j to the counts of its owner.
func (t *Tracker) tally(j *job, n int32) {
	o := j.owner
	if j.stray {
		return
	}
	if called := j.called(); j.group() == 1 {
		if t.unfinished[called] += n; t.unfinished[called] == 0 {
			delete(t.unfinished, called)
		}
	}
	o.phases[j.Phase] += n
	o.finishedChanged = o.finishedChanged || j.finished()
	if j.outdated {
		o.outdated += n
	}
	if j.podsUnknown {
		o.podsUnknown += n
	}
	if j.templateUnknown {
		o.templatesUnknown += n
	}
	if j.ttl {
		o.foreign += n
	}
	if j.Phase == Pending {
		o.pendingTimes.Add(j.PendingSince, n)
	}
}

// touch notes that Options.Changed is to be called for an owner.
func (t *Tracker) touch(o *owned) {
	if t.changing != nil {
		t.changing[o] = true
	}
}

func (t *Tracker) classify(j *job, before job) {
	var conditions []string
	target := j.owner.target
	if j.Number, j.stray = 0, false; target != nil {
		conditions = target.PendingPodConditions
		j.stray = t.options.hub.Home == "" && j.Namespace != target.Owner.Namespace
		if !j.stray {
			j.Number = target.number(j.Name)
		}
	}
	j.classify(before, t.pods[pods.Job{Namespace: j.Namespace, UID: j.UID}], t.options.Pods, conditions, t.now())
	r := rollout.Job{Revision: j.Revision, NeverStarted: j.NeverStarted, Finished: j.finished(), Deleting: j.Deleting}
	if j.outdated, j.podsUnknown, j.templateUnknown = false, false, false; target != nil && !j.stray {
		d := rollout.Decide(target.Rollout, rollout.Observation{Job: r, Current: target.Revision, PodsUnknown: !t.options.Pods})
		j.outdated, j.podsUnknown = d.Delete, d.Reason == rollout.ReasonPodsUnknown
		j.templateUnknown = d.Reason == rollout.ReasonRevisionUnknown && j.Revision.Generation > 0
	}
}

// counts returns the counts for the decision. Jobs that leave in it count as terminating. A
// flight and the Job that it may stand for count once.
func (o *owned) counts(now time.Time, leaving []*job) scaling.JobCounts {
	phases, stuck, limit := o.phases, int32(0), now.Add(-o.target.StuckAfter)
	if o.target.StuckAfter > 0 {
		stuck = o.pendingTimes.Until(limit)
	}
	for _, j := range leaving {
		phases[j.Phase]--
		phases[Terminating]++
		if j.Phase == Pending && stuck > 0 && !j.PendingSince.After(limit) {
			stuck--
		}
	}
	return scaling.JobCounts{
		Running:     int64(phases[Running] + phases[Pending] + phases[Suspended]),
		Pending:     int64(phases[Pending] + phases[Suspended]),
		Suspended:   int64(phases[Suspended]),
		Terminating: int64(phases[Terminating]),
		InFlight:    o.flying(),
		Stuck:       int64(stuck),
	}
}

// flying returns the number of creates in flight.
func (o *owned) flying() (n int64) {
	for range o.set.InFlight {
		n++
	}
	return n
}

// cached returns the Jobs in the cache.
func (o *owned) cached() (jobs []Job) {
	for _, j := range o.jobs {
		if !j.stray {
			jobs = append(jobs, j.Job)
		}
	}
	return jobs
}

// describe returns the Jobs, then the Jobs in flight by number.
func (o *owned) describe() (jobs []Job) {
	jobs = o.cached()
	flights := len(jobs)
	for number, uid := range o.set.InFlight {
		j := o.sent[number]
		j.UID = types.UID(uid)
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs[flights:], func(a, b Job) int { return cmp.Compare(a.Number, b.Number) })
	return jobs
}

// land forgets from what Jobs were created whose creates are no longer in flight.
func (o *owned) land() {
	maps.DeleteFunc(o.sent, func(number int64, _ Job) bool { return !o.set.Reserved(number) })
	if len(o.sent) == 0 {
		o.sent = nil
	}
}
