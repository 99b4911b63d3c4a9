package adapter

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/hub"
	"github.com/scaledjob/scaledjob/adapter/internal/pods"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/rollout"
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

	labels map[string]string // those of hub.Options
}

func init() {
	hub.Picked = func(j any) map[string]string { return j.(*Job).labels }
	hub.Visit = func(tracker any, visit func(types.UID, string, map[string]string)) {
		t := tracker.(*Tracker)
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, j := range t.jobs {
			visit(j.owner.uid, j.Namespace, j.labels)
		}
	}
}

// JobOf describes a Job from its status alone. Number is not set, nor is PendingSince if the Job has run.
func JobOf(object *batchv1.Job) Job {
	j := newJob(object, &Options{})
	j.classify(job{}, nil, false, nil, time.Time{})
	return j.Job
}

// Delete returns the deletion of the Job. It fails if the Job has changed since it was
// observed.
func (j *Job) Delete(p rollout.Propagation, reason Reason) Deletion {
	return Deletion{j.Namespace, j.Name, j.UID, j.ResourceVersion, p, reason}
}

func (j *Job) finished() bool { return j.Phase == Succeeded || j.Phase == Failed }

// A job is the tracker's form of a Job. The zero value is none.
type job struct {
	Job
	owner   *owned
	claim   *claim // nil if the owner has the name in it, as nearly always
	started int64  // nanoseconds since 1970; 0 if it has not
	index   int32  // index in owner.jobs

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
	// The rollout would have to know its pods, or what it was made from.
	podsUnknown, templateUnknown bool
	stray                        bool // in another namespace: not the owner's
}

func newJob(object *batchv1.Job, o *Options) *job {
	s, end := &object.Status, end(object)
	j := &job{
		Job: Job{
			Namespace: object.Namespace, Name: object.Name, UID: request.UID(object), ResourceVersion: object.ResourceVersion,
			Deleting: object.DeletionTimestamp != nil, Created: object.CreationTimestamp.Time,
			Revision: revisionOf(object),
		},
		end: end, pods: s.Active + valueOf(s.Terminating),
		took: valueOf(s.Ready) > 0 || s.Succeeded > 0, fresh: valueOf(object.Spec.Suspend) && s.StartTime == nil,
		marked: object.DeletionTimestamp != nil, ttl: object.Spec.TTLSecondsAfterFinished != nil,
	}
	if s.StartTime != nil {
		j.started = s.StartTime.UnixNano()
	}
	j.ran = j.took || s.Failed > 0
	if end == Succeeded || end == Failed {
		failure := valueOf(condition(object, batchv1.JobFailed)).LastTransitionTime.Time
		j.Finished = cmp.Or(valueOf(s.CompletionTime).Time, failure, j.Created)
	}
	j.claim = &claim{}
	if o.hub.Counts(object) {
		*j.claim, j.labels = claimOf(object, o.hub.Home), o.hub.Pick(object.Labels)
	}
	return j
}

// condition returns the condition of a Job if it is True, else nil.
func condition(j *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

// valueOf returns *p, or the zero value if p is nil.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// GetObjectMeta returns the part of the metadata that a reflector reads.
func (j *job) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Name}
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
	case valueOf(j.Spec.Suspend):
		return Suspended
	}
	return Running
}

// classify sets the phase from the Job, its pods and its earlier state. If there are
// conditions, they are read from the pods only.
func (j *job) classify(before job, pods []*pods.Pod, podsKnown bool, conditions []string, now time.Time) {
	j.ran = j.ran || before.ran
	took := j.took && len(conditions) == 0
	for _, p := range pods {
		j.ran = j.ran || p.Ran
		took = took || p.Took(conditions)
	}
	// A pod that the cache does not show may have started.
	j.NeverStarted = !j.ran && j.Finished.IsZero() && (j.fresh || (podsKnown && int32(len(pods)) >= j.pods))
	j.deleted, j.pruned = before.deleted, before.pruned
	j.Deleting = j.marked || j.deleted
	switch j.Phase = j.end; {
	case j.finished():
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
