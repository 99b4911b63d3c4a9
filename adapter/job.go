package adapter

import (
	"cmp"
	"slices"
	"strconv"
	"time"
	"unique"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

// A Phase is the state of a Job. The zero value is Running.
type Phase uint8

const (
	Running     Phase = iota // unfinished; a pod is Running or has Succeeded
	Pending                  // unfinished; no pod is Running or Succeeded
	Suspended                // unfinished; spec.suspend is true
	Terminating              // unfinished; being deleted, or with a condition that decides its end
	Succeeded                // condition Complete
	Failed                   // condition Failed
	InFlight                 // created, or possibly created, and not in the cache yet
)

var phaseNames = [...]string{"running", "pending", "suspended", "terminating", "succeeded", "failed", "in flight", "unknown phase"}

// String returns the name of the phase in lower case.
func (p Phase) String() string { return phaseNames[min(p, InFlight+1)] }

// MarshalText returns the phase as String does.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// A Job describes a Job of an owner. The zero value is running.
type Job struct {
	Namespace, Name string
	UID             types.UID // empty if the Job is in flight and its create was not answered
	ResourceVersion string    // of the object that the other fields describe
	Number          int64     // in the name, from 1; 0 if the tracker did not name the Job
	Phase           Phase
	Deleting        bool      // has a deletion timestamp, or the API server accepted our delete
	NeverStarted    bool      // no pod has ever started; false if unknown
	Created         time.Time // by the API server's clock; for a Job in flight, when it was sent
	// PendingSince is set if the Job is Pending: when it was created or resumed or,
	// if it has run, when it was first observed without a Running pod.
	PendingSince time.Time
	Finished     time.Time // zero if the Job has not finished
	Revision     rollout.Revision
	Labels       hub.Labels // of a tracker of package member; else nil
}

// JobOf describes a Job from its status alone. Number is not set, nor is PendingSince if the Job has run.
func JobOf(object *batchv1.Job) Job {
	j := newJob(object, &Options{})
	j.classify(job{}, nil, false, nil, time.Time{})
	return j.Job
}

// Delete returns the deletion of the Job. It fails if the Job has changed since it was
// observed.
func (j *Job) Delete(p rollout.Propagation, why Reason) Deletion {
	return Deletion{j.Namespace, j.Name, j.UID, j.ResourceVersion, p, why}
}

func (j *Job) ended() bool { return j.Phase == Succeeded || j.Phase == Failed }

// A job is the tracker's form of a Job. The zero value is none.
type job struct {
	Job
	owner   *owned
	of      *claim      // until the tracker has found the owner
	item    *slots.Slot // that the Job works on; nil if it is numbered
	started int64       // nanoseconds since 1970; 0 if it has not
	at      int32       // index in owner.jobs

	pods   int32 // that its status counts and that have not finished
	end    Phase // Succeeded, Failed, Terminating, Suspended or, for none of them, Running
	took   bool  // its status counts a pod that is ready or has succeeded
	fresh  bool  // suspended since it was created
	marked bool  // has a deletion timestamp
	ttl    bool  // has a time to live after its end

	ran      bool // a pod is known to have started
	deleted  bool // the API server accepted our delete
	pruned   bool // our delete was sent, and the Job had finished
	outdated bool // the rollout deletes it
	stray    bool // in another namespace: not the owner's
}

func newJob(object *batchv1.Job, o *Options) *job {
	s, end := &object.Status, end(object)
	generation, err := strconv.ParseInt(cmp.Or(object.Annotations[AnnotationGeneration], object.Annotations["scaledjob.keda.sh/generation"]), 10, 64)
	if err != nil {
		generation = 0
	}
	j := &job{
		Job: Job{
			Namespace: object.Namespace, Name: object.Name, UID: uidOf(object), ResourceVersion: object.ResourceVersion,
			Deleting: object.DeletionTimestamp != nil, Created: object.CreationTimestamp.Time,
			Revision: rollout.Revision{Generation: max(0, generation), TemplateHash: brief(object.Annotations[AnnotationTemplateHash])},
		},
		end: end, pods: s.Active + value(s.Terminating),
		took: value(s.Ready) > 0 || s.Succeeded > 0, fresh: value(object.Spec.Suspend) && s.StartTime == nil,
		marked: object.DeletionTimestamp != nil, ttl: object.Spec.TTLSecondsAfterFinished != nil,
	}
	if s.StartTime != nil {
		j.started = s.StartTime.UnixNano()
	}
	j.ran = j.took || s.Failed > 0
	if end == Succeeded || end == Failed {
		j.Finished = history.Times{
			Creation: j.Created, Completion: value(s.CompletionTime).Time,
			Failure: value(condition(object, batchv1.JobFailed)).LastTransitionTime.Time,
		}.Finished()
	}
	j.of, j.item = new(o.ownerOf(object)), itemOf(object)
	for _, key := range o.hub.Labels {
		if value, ok := object.Labels[key]; ok {
			if j.Labels == nil {
				j.Labels = hub.Labels{}
			}
			j.Labels[key] = value
		}
	}
	return j
}

// slot returns the slot of a Job.
func (j *job) slot() slots.Slot {
	if j.item != nil {
		return *j.item
	}
	return slots.Slot{Number: j.Number}
}

// itemOf returns the item that a Job's annotations name, or nil.
func itemOf(object *batchv1.Job) *slots.Slot {
	key := object.Annotations[AnnotationKey]
	attempt, err := strconv.ParseInt(cmp.Or(object.Annotations[AnnotationAttempt], "0"), 10, 64)
	if key == "" || err != nil {
		return nil
	}
	return &slots.Slot{Key: brief(key), Number: attempt}
}

// brief returns a text that the API server does not bound, such as an annotation, or its hash if it
// is long: whoever creates Jobs has no control of the tracker's memory.
func brief(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	return "sha256:" + hash(text, 64)
}

// GetObjectMeta returns the part of the metadata that a reflector reads.
func (j *job) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Name}
}

// uidOf returns the UID of a Job. client-go's fake clientset gives none.
func uidOf(j *batchv1.Job) types.UID { return cmp.Or(j.UID, types.UID(j.Name)) }

// A claim is whose a Job is.
type claim struct {
	uid    types.UID // "" if the Job has no owner that the tracker knows of
	called string    // by the controller reference; "" if there is none
}

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

// value returns *p, or the zero value if p is nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// end returns the phase of a Job that does not depend on its pods, or else Running.
func end(j *batchv1.Job) Phase {
	switch {
	case condition(j, batchv1.JobComplete) != nil:
		return Succeeded
	case condition(j, batchv1.JobFailed) != nil:
		return Failed
	case j.DeletionTimestamp != nil, condition(j, batchv1.JobFailureTarget) != nil, condition(j, batchv1.JobSuccessCriteriaMet) != nil:
		return Terminating
	case value(j.Spec.Suspend):
		return Suspended
	}
	return Running
}

// condition returns the condition if it is True, else nil.
func condition(j *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// A pod is the tracker's form of a pod.
type pod struct {
	uid             types.UID
	namespace, name string
	job             types.UID                                // the pod's controller
	started         bool                                     // Running or Succeeded
	ran             bool                                     // has left phase Pending
	conditions      []unique.Handle[corev1.PodConditionType] // types of the conditions that are True
}

func newPod(object *corev1.Pod) *pod {
	phase := object.Status.Phase
	p := &pod{
		uid: object.UID, namespace: object.Namespace, name: object.Name,
		// Labels stay if the pod loses its controller, as an orphan does.
		job:     types.UID(object.Labels[batchv1.ControllerUidLabel]),
		started: phase == corev1.PodRunning || phase == corev1.PodSucceeded,
		ran:     phase != corev1.PodPending && phase != "",
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && p.job == "" {
		p.job = types.UID(brief(string(owner.UID)))
	}
	for _, c := range object.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			p.conditions = append(p.conditions, unique.Make(c.Type))
		}
	}
	p.conditions = slices.Clip(p.conditions)
	return p
}

// GetObjectMeta returns the part of the metadata that a reflector reads.
func (p *pod) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}
}

// took reports whether the pod shows that its Job is no longer pending.
func (p *pod) took(conditions []string) bool {
	for _, c := range conditions {
		if !slices.Contains(p.conditions, unique.Make(corev1.PodConditionType(c))) {
			return false
		}
	}
	return p.started || len(conditions) > 0
}

// classify sets the phase from the Job, its pods and its earlier state. If there are
// conditions, they are read from the pods only.
func (j *job) classify(before job, pods []*pod, podsKnown bool, conditions []string, now time.Time) {
	j.ran = j.ran || before.ran
	took := j.took && len(conditions) == 0
	for _, p := range pods {
		j.ran = j.ran || p.ran
		took = took || p.took(conditions)
	}
	// A pod that the cache does not show may have started.
	j.NeverStarted = !j.ran && j.Finished.IsZero() && (j.fresh || podsKnown && int32(len(pods)) >= j.pods)
	j.deleted, j.pruned = before.deleted, before.pruned
	j.Deleting = j.marked || j.deleted
	switch j.Phase = j.end; {
	case j.ended():
	case j.deleted:
		j.Phase = Terminating
	case j.Phase == Running && !took:
		j.Phase = Pending
	}
	j.PendingSince = j.pendingSince(before, now)
	j.ran = j.ran || j.Phase == Running
}

// pendingSince returns the start of the uninterrupted time in which the Job is pending.
// The time before the first observation is unknown: if the Job has run, it is pending
// from now.
func (j *job) pendingSince(before job, now time.Time) time.Time {
	switch {
	case j.Phase != Pending:
		return time.Time{}
	case before.Phase == Pending && before.ran == j.ran && (j.started == 0 || j.started <= before.PendingSince.UnixNano()):
		return before.PendingSince
	case j.ran:
		return now
	case j.started != 0 && j.started > j.Created.UnixNano(): // resumed
		return time.Unix(0, j.started).In(j.Created.Location())
	}
	return j.Created
}
