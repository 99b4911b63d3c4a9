package adapter

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
)

// Phase is where a Job is in its life. The zero value is Running.
type Phase uint8

const (
	Running     Phase = iota // unfinished, and a pod of it is Running or Succeeded
	Pending                  // unfinished, and none is
	Suspended                // unfinished, and spec.suspend is true
	Terminating              // unfinished, deleted or on its way to an end that is decided
	Succeeded                // condition Complete
	Failed                   // condition Failed
)

// A Job is what the rules need to know of one.
type Job struct {
	Name     string
	UID      types.UID
	Phase    Phase
	Stuck    bool // Pending for at least Observation.StuckAfter
	Deleting bool // has a deletion timestamp
	Revision rollout.Revision
	NeverRan bool      // known to have no pod that ever started
	Finished time.Time // the zero time while it has not
	Sequence int64     // its number among its owner's Jobs; 0 is unknown
}

// An Observation says how Jobs are looked at.
type Observation struct {
	Owner types.UID // only Jobs with this controller are seen
	Now   time.Time
	// PodsKnown says that the Pods are all that there are. Otherwise a Job is
	// Pending if its own status counts no pod that is ready or has succeeded.
	PodsKnown bool
	// PendingPodConditions, where there are any, replaces the phases of the pods:
	// a Job is Pending until one of its pods has all of them. It needs the pods.
	PendingPodConditions []string
	// StuckAfter is how long a Job may be Pending before it is stuck; at 0 none is.
	StuckAfter time.Duration
}

// Classify looks at the Jobs that the owner controls, in their order.
func (o Observation) Classify(jobs []batchv1.Job, pods []corev1.Pod) []Job {
	of := map[types.UID][]*corev1.Pod{}
	for i := range pods {
		if c := metav1.GetControllerOfNoCopy(&pods[i]); c != nil {
			of[c.UID] = append(of[c.UID], &pods[i])
		}
	}
	var seen []Job
	for i := range jobs {
		if c := metav1.GetControllerOfNoCopy(&jobs[i]); c != nil && c.UID == o.Owner && o.Owner != "" {
			seen = append(seen, o.classify(&jobs[i], of[jobs[i].UID]))
		}
	}
	return seen
}

func (o Observation) classify(j *batchv1.Job, pods []*corev1.Pod) Job {
	job := Job{
		Name: j.Name, UID: j.UID, Deleting: j.DeletionTimestamp != nil,
		Revision: rollout.Revision{
			Generation:   number(j.Annotations[AnnotationGeneration]),
			TemplateHash: j.Annotations[AnnotationTemplateHash],
		},
		Sequence: number(j.Annotations[AnnotationSequence]),
		NeverRan: o.neverRan(j, pods),
	}
	job.Phase = o.phase(j, pods)
	switch job.Phase {
	case Succeeded, Failed:
		job.Finished = finishTime(j)
	case Pending:
		since := j.CreationTimestamp.Time
		if start := j.Status.StartTime; start != nil && start.After(since) { // it was suspended before
			since = start.Time
		}
		job.Stuck = o.StuckAfter > 0 && o.Now.Sub(since) >= o.StuckAfter
	}
	return job
}

// number reads an annotation of ours; what is none of ours is unknown.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

func (o Observation) phase(j *batchv1.Job, pods []*corev1.Pod) Phase {
	switch {
	case condition(j, batchv1.JobComplete) != nil:
		return Succeeded
	case condition(j, batchv1.JobFailed) != nil:
		return Failed
	case j.DeletionTimestamp != nil, condition(j, batchv1.JobFailureTarget) != nil, condition(j, batchv1.JobSuccessCriteriaMet) != nil:
		return Terminating
	case j.Spec.Suspend != nil && *j.Spec.Suspend:
		return Suspended
	case o.started(j, pods):
		return Running
	}
	return Pending
}

// started reports whether the Job no longer counts as pending.
func (o Observation) started(j *batchv1.Job, pods []*corev1.Pod) bool {
	if !o.PodsKnown {
		return j.Status.Succeeded > 0 || j.Status.Ready != nil && *j.Status.Ready > 0
	}
	for _, p := range pods {
		if len(o.PendingPodConditions) > 0 {
			if hasAll(p, o.PendingPodConditions) {
				return true
			}
		} else if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodSucceeded {
			return true
		}
	}
	return false
}

func hasAll(p *corev1.Pod, conditions []string) bool {
	for _, want := range conditions {
		if !hasCondition(p, want) {
			return false
		}
	}
	return true
}

func hasCondition(p *corev1.Pod, want string) bool {
	for _, c := range p.Status.Conditions {
		if string(c.Type) == want && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// neverRan reports whether it is known that no pod ever started. Pods may be
// gone, so the Job's own counts have a say too.
func (o Observation) neverRan(j *batchv1.Job, pods []*corev1.Pod) bool {
	if s := j.Status; s.Succeeded > 0 || s.Failed > 0 || s.Ready != nil && *s.Ready > 0 {
		return false
	}
	if j.Status.StartTime == nil && j.Spec.Suspend != nil && *j.Spec.Suspend {
		return true // suspended since it was created
	}
	if !o.PodsKnown {
		return false
	}
	for _, p := range pods {
		if p.Status.Phase != corev1.PodPending && p.Status.Phase != "" {
			return false
		}
	}
	return true
}

func condition(j *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i, c := range j.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return &j.Status.Conditions[i]
		}
	}
	return nil
}

func finishTime(j *batchv1.Job) time.Time {
	t := history.Times{Creation: j.CreationTimestamp.Time}
	if j.Status.CompletionTime != nil {
		t.Completion = j.Status.CompletionTime.Time
	}
	if failed := condition(j, batchv1.JobFailed); failed != nil {
		t.Failure = failed.LastTransitionTime.Time
	}
	return t.Finished()
}

// Count counts the unfinished Jobs.
func Count(jobs []Job) scaling.Jobs {
	var c scaling.Jobs
	for _, j := range jobs {
		switch j.Phase {
		case Running:
			c.Running++
		case Pending:
			c.Running++
			c.Pending++
			if j.Stuck {
				c.Stuck++
			}
		case Suspended:
			c.Running++
			c.Pending++
			c.Suspended++
		case Terminating:
			c.Terminating++
		}
	}
	return c
}
