package run

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/schedule"
)

// Labels of the Jobs and pods of a run.
const (
	LabelName = "jobName" // the ScheduledJob's name, cut to what a label may hold
	LabelTag  = "jobTag"  // the tag of the run
)

// Environment variables of the containers of a run.
const (
	EnvPodCount = "JOB_POD_COUNT" // how many pods the run has
	EnvPodIndex = "JOB_POD_INDEX" // which of them this is, from 0
)

// NewJob returns the Job of a run whose tag is from package schedule. owner is its
// controller: [ScheduledJob.Owner], unless another object stands in for it. Equal
// arguments give equal Jobs, and other tags other names. The Job shares no memory
// with the Config. It has no pod template where the Config has none; the API server
// refuses it then.
func (c *Config) NewJob(owner metav1.OwnerReference, r schedule.Run) *batchv1.Job {
	labels := map[string]string{LabelName: adapter.LabelValue(c.Name), LabelTag: r.Tag}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: JobName(c.Name, r.Tag), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*owner.DeepCopy()},
		},
		Spec: batchv1.JobSpec{
			CompletionMode:       new(batchv1.IndexedCompletion),
			Parallelism:          new(c.PodCount),
			Completions:          new(c.PodCount),
			BackoffLimitPerIndex: new(c.MaxRestart),
		},
	}
	if c.Template != nil {
		c.Template.DeepCopyInto(&job.Spec.Template)
	}
	c.complete(&job.Spec.Template, labels)
	return job
}

// complete adds to a template what a run does.
func (c *Config) complete(t *corev1.PodTemplateSpec, labels map[string]string) {
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	maps.Copy(t.Labels, labels)
	if c.ExecTimeout > 0 {
		t.Spec.ActiveDeadlineSeconds = new(c.ExecTimeout)
	}
	for _, containers := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range containers {
			containers[i].Env = c.env(containers[i].Env)
		}
	}
}

// env puts the run's variables in front, so that others can refer to them. Those
// that the template sets are the template's.
func (c *Config) env(own []corev1.EnvVar) []corev1.EnvVar {
	index := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: fmt.Sprintf("metadata.annotations['%s']", batchv1.JobCompletionIndexAnnotation),
	}}
	env := []corev1.EnvVar{
		{Name: EnvPodCount, Value: strconv.Itoa(int(c.PodCount))},
		{Name: EnvPodIndex, ValueFrom: index},
	}
	env = slices.DeleteFunc(env, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(own, func(o corev1.EnvVar) bool { return o.Name == e.Name })
	})
	return append(env, own...)
}

// maxName is 63, which a pod's host name may have, less a hyphen and the greatest
// index.
const maxName = 63 - len("-99999")

// JobName is the name of a run's Job: that of the ScheduledJob, cut to the room there
// is, and the tag, in which there is what tells runs and ScheduledJobs apart.
func JobName(name, tag string) string {
	prefix := strings.ReplaceAll(name, ".", "-") // which a pod's host name must not have
	if room := max(0, maxName-len(tag)-1); len(prefix) > room {
		prefix = strings.TrimRight(prefix[:room], "-")
	}
	return strings.TrimLeft(prefix+"-"+tag, "-")
}
