package adapter

import (
	"math"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement"
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
	Name      string
	Namespace string
	UID       types.UID
	Phase     Phase
	Created   time.Time
	Since     time.Time // when a Pending one was created or, if that was later, resumed
	Deleting  bool      // has a deletion timestamp
	Revision  rollout.Revision
	Ran       bool             // known to have had a pod that started
	NeverRan  bool             // known to have had none
	Finished  time.Time        // the zero time while it has not
	Sequence  int64            // its number among its owner's Jobs; 0 is unknown
	Replaces  placement.Source // what it was created to replace, on another cluster; the zero value is nothing
}

// An Observation says whose Jobs are looked at, and when one of them is pending.
// There are three ways, and each costs more than the one before:
//
//   - From the Job's status, where PodsKnown is false: until it counts a pod that
//     is ready or has succeeded. This needs neither a watch of pods nor the right to
//     read them. Use it unless pods without a readiness gate are ready long before
//     they take work, and [rollout.Drain] does not matter: a Job that has a pod is
//     not known to have never run.
//   - From the phases of the pods, where PodsKnown is true: until one of them is
//     Running or has Succeeded. This is KEDA's meaning without pendingPodConditions,
//     and needs every pod of the Jobs in memory.
//   - From the conditions of the pods, where there are PendingPodConditions too:
//     until one pod has all of them. This is KEDA's meaning of them, for pods that
//     say themselves when they took work, and costs the same as phases do.
type Observation struct {
	Owner                types.UID // only Jobs with this controller are seen; "" sees none
	Namespace            string    // only Jobs there are, for what somebody has copied elsewhere is not the owner's; "" is all
	PodsKnown            bool      // the pods are all that there are
	PendingPodConditions []string  // without effect unless PodsKnown
}

// Classify looks at the Jobs that the owner controls, in their order. The cost
// is linear in the Jobs and the pods (BenchmarkRecount).
func (o Observation) Classify(jobs []batchv1.Job, pods []corev1.Pod) []Job {
	if o.Owner == "" {
		return nil
	}
	evidence := make(map[types.UID]evidence, len(jobs))
	if o.PodsKnown {
		for i := range pods {
			if c := metav1.GetControllerOfNoCopy(&pods[i]); c != nil {
				evidence[c.UID] |= o.evidence(&pods[i])
			}
		}
	}
	seen := make([]Job, 0, len(jobs))
	for i := range jobs {
		if c := metav1.GetControllerOfNoCopy(&jobs[i]); c != nil && c.UID == o.Owner && o.within(&jobs[i]) {
			seen = append(seen, o.classify(&jobs[i], evidence[jobs[i].UID]))
		}
	}
	return seen
}

// evidence is what a Job's pods show together. The zero value is that of no pod.
type evidence uint8

const (
	started evidence = 1 << iota // by which the Job is no longer pending
	ran                          // a pod has left phase Pending
)

func (o Observation) evidence(p *corev1.Pod) (e evidence) {
	phase := p.Status.Phase
	if phase != corev1.PodPending && phase != "" {
		e |= ran
	}
	if len(o.PendingPodConditions) > 0 && hasAll(p, o.PendingPodConditions) ||
		len(o.PendingPodConditions) == 0 && (phase == corev1.PodRunning || phase == corev1.PodSucceeded) {
		e |= started
	}
	return e
}

// within reports whether the Job is where the owner's are.
func (o *Observation) within(j *batchv1.Job) bool {
	return o.Namespace == "" || o.Namespace == j.Namespace
}

func (o Observation) classify(j *batchv1.Job, pods evidence) Job {
	job := Job{
		Name: j.Name, Namespace: j.Namespace, UID: j.UID, Created: j.CreationTimestamp.Time, Deleting: j.DeletionTimestamp != nil,
		Revision: rollout.Revision{
			Generation:   number(j.Annotations[AnnotationGeneration]),
			TemplateHash: j.Annotations[AnnotationTemplateHash],
		},
		Sequence: number(j.Annotations[AnnotationSequence]),
		Ran:      hasRun(j, pods),
		NeverRan: o.neverRan(j, pods),
		Phase:    o.phase(j, pods),
		Replaces: source(j),
	}
	switch job.Phase {
	case Succeeded, Failed:
		job.Finished = finishTime(j)
	case Pending:
		job.Since = job.Created
		if start := j.Status.StartTime; start != nil && start.After(job.Since) { // it was suspended before
			job.Since = start.Time
		}
	}
	return job
}

// source reads what the Job replaces. The attempt of one that does not say, or
// not in a way that can be, is 0, which placement takes as the first.
func source(j *batchv1.Job) placement.Source {
	uid := j.Labels[LabelSource]
	if uid == "" {
		return placement.Source{}
	}
	return placement.Source{UID: uid, Attempt: int32(min(number(j.Labels[LabelAttempt]), math.MaxInt32))}
}

// number reads an annotation of ours; what is none of ours is unknown. No number
// comes near the greatest int64, from which a sequence could not go on.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		return 0
	}
	return n
}

func (o Observation) phase(j *batchv1.Job, pods evidence) Phase {
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
func (o Observation) started(j *batchv1.Job, pods evidence) bool {
	if o.PodsKnown {
		return pods&started != 0
	}
	return j.Status.Succeeded > 0 || j.Status.Ready != nil && *j.Status.Ready > 0
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

// hasRun reports whether it is known that a pod has started. Pods may be gone, so
// the Job's own counts have a say too.
func hasRun(j *batchv1.Job, pods evidence) bool {
	s := j.Status
	return s.Succeeded > 0 || s.Failed > 0 || s.Ready != nil && *s.Ready > 0 || pods&ran != 0
}

// neverRan reports whether it is known that none has.
func (o Observation) neverRan(j *batchv1.Job, pods evidence) bool {
	suspended := j.Spec.Suspend != nil && *j.Spec.Suspend && j.Status.StartTime == nil // since it was created
	return !hasRun(j, pods) && (suspended || o.PodsKnown)
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

// Count counts the unfinished Jobs. Those pending since stuckBefore or longer are
// stuck; the zero time means none.
func Count(jobs []Job, stuckBefore time.Time) scaling.Jobs {
	var c scaling.Jobs
	for i := range jobs {
		count(&c, &jobs[i], 1)
		if jobs[i].stuck(stuckBefore) {
			c.Stuck++
		}
	}
	return c
}

// count adds n times the Job, but for Stuck, which depends on the time.
func count(c *scaling.Jobs, j *Job, n int64) {
	switch j.Phase {
	case Running:
		c.Running += n
	case Pending:
		c.Running += n
		c.Pending += n
	case Suspended:
		c.Running += n
		c.Pending += n
		c.Suspended += n
	case Terminating:
		c.Terminating += n
	}
}

func (j *Job) stuck(before time.Time) bool {
	return j.Phase == Pending && !before.IsZero() && !j.Since.After(before)
}

func (j *Job) finished() bool { return j.Phase == Succeeded || j.Phase == Failed }

// rollout is what the rollout's rule needs to know of the Job.
func (j *Job) rollout() rollout.Job {
	return rollout.Job{Revision: j.Revision, NeverStarted: j.NeverRan, Finished: j.finished(), Deleting: j.Deleting}
}

// history is what the history's rule needs to know of the Job.
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
