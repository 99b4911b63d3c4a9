package scheduledjob

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/schedule"
)

// Labels of the Jobs and pods of a run.
const (
	labelName = "jobName" // name of the ScheduledJob, cut to 63 characters
	LabelTag  = "jobTag"  // tag of the run
)

// AnnotationTTL is the time to live of a Job in seconds. NewJob leaves ttlSecondsAfterFinished
// unset, so that Kubernetes cannot delete a Job before its outcome has been stored. [ttlPatch]
// sets it then.
const AnnotationTTL = "scaledjob.github.io/ttl-seconds-after-finished"

// ttlPatch returns the merge patch that lets the time to live of a Job begin, and nil if the Job
// has none or it has begun.
func ttlPatch(j *batchv1.Job) []byte {
	ttl, err := strconv.ParseInt(j.Annotations[AnnotationTTL], 10, 32)
	if err != nil || ttl < 0 || j.Spec.TTLSecondsAfterFinished != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"ttlSecondsAfterFinished":%d}}`, j.UID, ttl)
}

// Environment variables of the containers of a run.
const (
	envPodCount = "JOB_POD_COUNT" // number of pods of the run
	envPodIndex = "JOB_POD_INDEX" // index of this pod, from 0
	envDue      = "JOB_DUE_AT"    // occurrence of the run, in RFC 3339 and the zone of the schedule; not of requested runs without one
	envDelay    = "JOB_DELAY"     // time after JOB_DUE_AT at which the run was due, by jitterSeconds, such as 19m55s
)

// Annotations of a Job with the same values.
const (
	annotationDue   = "scaledjob.github.io/due-at"
	annotationDelay = "scaledjob.github.io/delay"
)

// NewJob returns the Job of a run of package schedule. Its controller is owner, also if the
// reference does not say so; usually it is [ScheduledJob.Owner]. Its name is
// [adapter.JobName] of the ScheduledJob's name and the tag. Equal arguments give equal Jobs.
// The Job shares no memory with c.
//
// Without a Template the Job has no containers, and the API server rejects it.
func (c *Config) NewJob(owner metav1.OwnerReference, r schedule.Run) *batchv1.Job {
	owner.Controller = new(true) // Observe finds no other Jobs
	spec := batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Parallelism: &c.PodCount, Completions: &c.PodCount,
		ActiveDeadlineSeconds: c.ActiveDeadline, PodFailurePolicy: c.PodFailurePolicy,
	}
	if c.Template != nil {
		spec.Template = *c.Template
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: adapter.JobName(c.Name, r.Tag),
			Labels:          map[string]string{labelName: labelOf(c.Name), LabelTag: r.Tag},
			OwnerReferences: []metav1.OwnerReference{*owner.DeepCopy()},
		},
		Spec: *spec.DeepCopy(),
	}
	job.Annotations = map[string]string{}
	if c.TTL != nil {
		job.Annotations[AnnotationTTL] = strconv.Itoa(int(*c.TTL))
	}
	if due := dueAt(r); due != "" {
		job.Annotations[annotationDue], job.Annotations[annotationDelay] = due, r.Delay.String()
	}
	c.limit(&job.Spec)
	t := &job.Spec.Template
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	maps.Copy(t.Labels, job.Labels)
	if c.ExecTimeout > 0 {
		t.Spec.ActiveDeadlineSeconds = new(c.ExecTimeout)
	}
	for _, containers := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range containers {
			containers[i].Env = c.env(r, containers[i].Env)
		}
	}
	return job
}

// limit sets the limit of restarts. A Job of one pod has one limit, because a limit for each index
// lets Kubernetes keep a deleted pod until it is replaced, which a namespace that ends refuses.
func (c *Config) limit(s *batchv1.JobSpec) {
	byIndex := func(r batchv1.PodFailurePolicyRule) bool { return r.Action == batchv1.PodFailurePolicyActionFailIndex }
	if c.PodCount > 1 || slices.ContainsFunc(value(c.PodFailurePolicy).Rules, byIndex) {
		s.BackoffLimitPerIndex = new(c.MaxRestart)
	} else {
		s.BackoffLimit = new(c.MaxRestart)
	}
}

// labelOf returns the value of LabelName for a ScheduledJob.
func labelOf(name string) string { return strings.TrimRight(fmt.Sprintf("%.63s", name), "-.") }

// env returns the variables of the template after the run's variables that it does not
// set, so that the template's may refer to the run's.
func (c *Config) env(r schedule.Run, template []corev1.EnvVar) []corev1.EnvVar {
	index := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: fmt.Sprintf("metadata.annotations['%s']", batchv1.JobCompletionIndexAnnotation),
	}}
	env := []corev1.EnvVar{
		{Name: envPodCount, Value: strconv.Itoa(int(c.PodCount))},
		{Name: envPodIndex, ValueFrom: index},
	}
	if due := dueAt(r); due != "" {
		env = append(env, corev1.EnvVar{Name: envDue, Value: due}, corev1.EnvVar{Name: envDelay, Value: r.Delay.String()})
	}
	env = slices.DeleteFunc(env, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(template, func(other corev1.EnvVar) bool { return other.Name == e.Name })
	})
	return append(env, template...)
}

// dueAt returns the occurrence that a run stands for, and "" if it stands for none.
func dueAt(r schedule.Run) string {
	due := r.Occurrence
	if !r.OnDemand {
		due = r.Due
	}
	if due.IsZero() {
		return ""
	}
	return due.Format(time.RFC3339Nano)
}
