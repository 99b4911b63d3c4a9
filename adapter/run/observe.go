package run

import (
	"cmp"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/schedule"
)

// Observe returns what a decision needs to know of the Jobs that owner controls and
// that have a tag, in their order. Of pods only those of failed Jobs matter, for the
// exit codes; a code is 0 where the pods are not there. The cost is linear in the
// Jobs and pods.
func Observe(owner types.UID, jobs []batchv1.Job, pods []corev1.Pod) []schedule.Job {
	failed := map[types.UID][]*corev1.Pod{}
	for i := range pods {
		if c := metav1.GetControllerOfNoCopy(&pods[i]); c != nil && pods[i].Status.Phase == corev1.PodFailed {
			failed[c.UID] = append(failed[c.UID], &pods[i])
		}
	}
	var seen []schedule.Job
	for i := range jobs {
		if Owned(owner, &jobs[i]) {
			j := adapter.Observation{Owner: owner}.Classify(jobs[i:i+1], nil)[0]
			seen = append(seen, observe(&jobs[i], j, failed[j.UID]))
		}
	}
	return seen
}

func observe(job *batchv1.Job, j adapter.Job, failed []*corev1.Pod) schedule.Job {
	s := schedule.Job{Tag: job.Labels[LabelTag], Created: j.Created, Finished: j.Finished, Deleting: j.Deleting}
	switch j.Phase {
	case adapter.Succeeded:
		s.Outcome = schedule.Succeeded
	case adapter.Failed:
		s.Outcome, s.ExitCode = schedule.Failed, exitCode(job, failed)
	}
	return s
}

// Owned reports whether the Job is one of a run of that ScheduledJob.
func Owned(owner types.UID, j *batchv1.Job) bool {
	c := metav1.GetControllerOfNoCopy(j)
	return owner != "" && c != nil && c.UID == owner && j.Labels[LabelTag] != ""
}

// exitCode is that of the first of the failed pods that had no restart left.
func exitCode(j *batchv1.Job, failed []*corev1.Pod) int32 {
	var first failure
	for _, p := range failed {
		restarts, err := strconv.ParseInt(p.Annotations[batchv1.JobIndexFailureCountAnnotation], 10, 64)
		final := err == nil && j.Spec.BackoffLimitPerIndex != nil && restarts >= int64(*j.Spec.BackoffLimitPerIndex)
		if f := failureOf(p); final && (first.pod == "" || f.compare(first) < 0) {
			first = f
		}
	}
	return first.code
}

// A failure is how a container failed first, and with it its pod.
type failure struct {
	at   time.Time
	pod  string
	code int32
}

func (f failure) compare(g failure) int {
	return cmp.Or(f.at.Compare(g.at), cmp.Compare(f.pod, g.pod))
}

// failureOf has the code 0 where no container says one, as in a pod that was evicted
// before it ran.
func failureOf(p *corev1.Pod) failure {
	f := failure{at: p.CreationTimestamp.Time, pod: p.Name}
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			t := statuses[i].State.Terminated
			if t != nil && t.ExitCode != 0 && (f.code == 0 || t.FinishedAt.Time.Before(f.at)) {
				f.at, f.code = t.FinishedAt.Time, t.ExitCode
			}
		}
	}
	return f
}
