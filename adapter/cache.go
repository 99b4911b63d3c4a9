package adapter

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/rollout"
)

// A claim is whose a Job is.
type claim struct {
	uid    types.UID
	called string // by the controller reference; "" if there is none
}

// ownerOf returns the UID of the owner, or "" if the Job has none that the tracker knows
// of, and the rest of the controller reference.
func (o *Options) ownerOf(j *batchv1.Job) claim {
	controller := metav1.GetControllerOfNoCopy(j)
	switch {
	case o.hub.Home == "" && controller != nil:
		called := (&Owner{controller.APIVersion, controller.Kind, j.Namespace, controller.Name, ""}).called()
		return claim{types.UID(brief(string(controller.UID))), brief(called)}
	case o.hub.Home != "" && controller == nil && j.Labels[hub.LabelHome] == o.hub.Home:
		return claim{uid: types.UID(j.Labels[LabelOwner])}
	}
	return claim{}
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
		if t.term != nil {
			t.term.Forget(o)
		}
	}
}

// jobShown takes over a Job as the cache shows it now.
func (t *Tracker) jobShown(j *job) {
	of, before := j.of, t.jobs[j.UID]
	if before != nil && before.owner.uid != of.uid {
		t.jobGone(before)
		before = nil
	}
	if of.uid == "" {
		return
	}
	o := t.owner(of.uid)
	o.called = cmp.Or(o.called, of.called)
	j.owner, j.of = o, nil
	o.keep(j, before)
	if t.jobs[j.UID] = j; before != nil {
		t.tally(before, -1)
	}
	t.classify(j, value(before))
	t.tally(j, 1)
	if o.show(j); before != nil && j.ended() && j.pruned && j.marked && !before.marked {
		t.freed(o)
	}
}

// jobGone forgets a Job that the cache no longer shows.
func (t *Tracker) jobGone(j *job) {
	t.tally(j, -1)
	delete(t.jobs, j.UID)
	j.owner.forget(j)
	if j.owner.gone(j); j.ended() && j.pruned {
		t.freed(j.owner)
	}
	t.drop(j.owner)
}

// podsOf is the key of a Job's pods. Whoever makes pods elsewhere does not change it.
type podsOf struct {
	namespace string
	job       types.UID
}

// podShown takes over a pod, or that it is gone.
func (t *Tracker) podShown(p *pod, gone bool) {
	of := podsOf{p.namespace, p.job}
	pods := slices.DeleteFunc(t.pods[of], func(other *pod) bool { return other.uid == p.uid })
	if !gone {
		pods = append(pods, p)
	}
	if t.pods[of] = pods; len(pods) == 0 {
		delete(t.pods, of)
	}
	if j := t.jobs[p.job]; j != nil && j.Namespace == p.namespace {
		t.recount(j, *j)
	}
}

// recount classifies a Job in the cache anew; before is its earlier state.
func (t *Tracker) recount(j *job, before job) {
	t.tally(j, -1)
	t.classify(j, before)
	t.tally(j, 1)
	j.owner.show(j)
}

// tally adds n Jobs such as j to the counts of its owner.
func (t *Tracker) tally(j *job, n int32) {
	t.note(j.owner)
	if j.ended() {
		j.owner.aged = false
	}
	if j.owner.tally(j, n); j.owner.timed && j.Phase == Pending && !j.stray {
		j.owner.wait(j.PendingSince.UnixNano(), n)
	}
}

// note notes the counts of an owner before a change of the cache.
func (t *Tracker) note(o *owned) {
	if _, noted := t.changing[o]; t.changing != nil && !noted {
		t.changing[o] = o.counted
	}
}

// freed notes that creating may go on for an owner.
func (t *Tracker) freed(o *owned) {
	if t.changing != nil {
		t.changing[o] = counted{phases: [InFlight]int32{Terminating: -1}}
	}
}

func (t *Tracker) classify(j *job, before job) {
	var conditions []string
	target := j.owner.target
	if j.Number, j.stray = 0, false; target != nil {
		conditions = target.PendingPodConditions
		j.stray = t.options.hub.Home == "" && j.Namespace != target.Owner.Namespace
		switch {
		case j.stray:
		case !target.Keyed:
			j.Number, j.item = target.Owner.number(t.options.hub.Place, j.Name), nil
		case j.item != nil:
			j.Number = j.item.Number
		}
	}
	j.classify(before, t.pods[podsOf{j.Namespace, j.UID}], t.options.Pods, conditions, t.now())
	r := rollout.Job{Revision: j.Revision, NeverStarted: j.NeverStarted, Finished: j.ended(), Deleting: j.Deleting}
	j.outdated = target != nil && !j.stray && target.Rollout.Deletes(r, target.Revision)
}
