package scheduledjob

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/schedule"
)

// Observe returns the runs of the ScheduledJob's Jobs, in their order. The exit
// code of a failed run is read from its failed pods. It is 0 if they are not among the
// pods. A run whose Job is gone follows as long as one of its pods is not finished and has its
// tag; so list the pods with the tags of active runs without a Job. Other Jobs and pods are ignored.
func (s *ScheduledJob) Observe(jobs []batchv1.Job, pods []corev1.Pod) []schedule.Job {
	failed, orphans, tags := map[types.UID][]*corev1.Pod{}, map[string]int32{}, map[string]bool{}
	for i := range pods {
		if tag := pods[i].Labels[LabelTag]; s.ownsPod(&pods[i]) && !finished(&pods[i]) {
			orphans[tag]++
		}
		if c := metav1.GetControllerOfNoCopy(&pods[i]); c != nil && pods[i].Status.Phase == corev1.PodFailed {
			failed[c.UID] = append(failed[c.UID], &pods[i])
		}
	}
	var observed []schedule.Job
	for i := range jobs {
		if s.owns(&jobs[i]) {
			observed = append(observed, observe(&jobs[i], failed[jobs[i].UID]))
			tags[jobs[i].Labels[LabelTag]] = true
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(orphans)) {
		if !tags[tag] {
			observed = append(observed, schedule.Job{Tag: tag, Deleting: true, Foreground: true, Pods: schedule.Pods{Active: orphans[tag]}})
		}
	}
	return observed
}

// finished reports whether a pod has finished.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func observe(job *batchv1.Job, failed []*corev1.Pod) schedule.Job {
	j := adapter.JobOf(job)
	observed := schedule.Job{Tag: job.Labels[LabelTag], Created: j.Created, Finished: j.Finished, Deleting: j.Deleting,
		Foreground: slices.Contains(job.Finalizers, metav1.FinalizerDeleteDependents), Keeps: ttlPatch(job) != nil,
		Pods: schedule.Pods{Active: job.Status.Active, Succeeded: job.Status.Succeeded, Failed: job.Status.Failed,
			Restarts: restarts(job, j.Phase)}}
	switch j.Phase {
	case adapter.Succeeded:
		observed.Outcome = schedule.Succeeded
	case adapter.Failed:
		observed.Outcome, observed.ExitCode = schedule.Failed, exitCode(job, failed)
	}
	return observed
}

// restarts returns the number of failed pods that were replaced.
func restarts(j *batchv1.Job, phase adapter.Phase) int32 {
	lasting := int32(indexes(value(j.Status.FailedIndexes)))
	if j.Spec.BackoffLimitPerIndex == nil && phase == adapter.Failed {
		lasting = 1
	}
	return max(0, j.Status.Failed-lasting)
}

// indexes returns the number of indexes in a text such as "1,3-5".
func indexes(text string) (n int) {
	for part := range strings.SplitSeq(text, ",") {
		from, end, span := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if span {
			last, _ = strconv.Atoi(end)
		}
		n += max(0, last-first+1)
	}
	return n
}

// controls reports whether the Job has a tag and the ScheduledJob as its controller, as a copy of the Job
// of a run has, too.
func (s *ScheduledJob) controls(j *batchv1.Job) bool {
	c := metav1.GetControllerOfNoCopy(j)
	isController := s.UID != "" && c != nil && c.UID == s.UID
	return isController && j.Namespace == s.Namespace && j.Labels[LabelTag] != "" // in other namespaces, anybody may name s
}

// owns reports whether the Job is that of a run: the ScheduledJob controls it, and it has the name that
// NewJob gives to its tag.
func (s *ScheduledJob) owns(j *batchv1.Job) bool {
	return s.controls(j) && j.Name == adapter.JobName(s.Name, j.Labels[LabelTag])
}

// ownsPod reports whether a pod was made for the Job of a run. A pod that was orphaned has no controller.
func (s *ScheduledJob) ownsPod(p *corev1.Pod) bool {
	tag := p.Labels[LabelTag]
	return tag != "" && p.Labels[batchv1.JobNameLabel] == adapter.JobName(s.Name, tag)
}

// exitCode returns the exit code of the first pod that failed for good.
func exitCode(j *batchv1.Job, failed []*corev1.Pod) int32 {
	var first failure
	for _, p := range failed {
		if f := failureOf(p); forGood(j, p, failed) && (first.pod == "" || f.compare(first) < 0) {
			first = f
		}
	}
	return first.code
}

// forGood reports whether a failed pod is not replaced: a rule of the podFailurePolicy says
// so, or no restart is left.
func forGood(j *batchv1.Job, p *corev1.Pod, failed []*corev1.Pod) bool {
	for _, rule := range value(j.Spec.PodFailurePolicy).Rules {
		if !matches(&rule, &p.Status) {
			continue
		}
		switch rule.Action {
		case batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex:
			return true
		case batchv1.PodFailurePolicyActionIgnore:
			return false
		}
		break
	}
	if limit := j.Spec.BackoffLimit; j.Spec.BackoffLimitPerIndex == nil && limit != nil { // of a Job of one pod
		last := !slices.ContainsFunc(failed, func(o *corev1.Pod) bool { return o.CreationTimestamp.After(p.CreationTimestamp.Time) })
		return last && j.Status.Failed > *limit
	}
	restarts, err := strconv.ParseInt(p.Annotations[batchv1.JobIndexFailureCountAnnotation], 10, 64)
	return err == nil && j.Spec.BackoffLimitPerIndex != nil && restarts >= int64(*j.Spec.BackoffLimitPerIndex)
}

// matches reports whether the rule is for a pod with this status, as the Job controller
// decides it.
func matches(rule *batchv1.PodFailurePolicyRule, s *corev1.PodStatus) bool {
	for _, pattern := range rule.OnPodConditions {
		if slices.ContainsFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == pattern.Type && c.Status == pattern.Status }) {
			return true
		}
	}
	exit := rule.OnExitCodes
	return exit != nil && slices.ContainsFunc(slices.Concat(s.InitContainerStatuses, s.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		t, named := c.State.Terminated, exit.ContainerName == nil || *exit.ContainerName == c.Name
		return named && t != nil && t.ExitCode != 0 &&
			slices.Contains(exit.Values, t.ExitCode) == (exit.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn)
	})
}

// A failure is the first failure of a container in a pod.
type failure struct {
	time time.Time
	pod  string
	code int32
}

func (f failure) compare(g failure) int {
	return cmp.Or(f.time.Compare(g.time), cmp.Compare(f.pod, g.pod))
}

// failureOf returns the failure of a pod. The code is 0 if no container has one: the
// pod was evicted before it ran.
func failureOf(p *corev1.Pod) failure {
	f := failure{time: p.CreationTimestamp.Time, pod: p.Name}
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			t := statuses[i].State.Terminated
			if t != nil && t.ExitCode != 0 && (f.code == 0 || t.FinishedAt.Time.Before(f.time)) {
				f.time, f.code = t.FinishedAt.Time, t.ExitCode
			}
		}
	}
	return f
}
