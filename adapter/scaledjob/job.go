package scaledjob

import (
	"path"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
)

// Selector is the adapter.Options.Selector of a tracker of ScaledJobs. It selects the Jobs
// that KEDA created too.
const Selector = manifest.LabelName

// prototype returns the template of the Jobs, or nil if there is none. It shares no memory
// with s.
func prototype(s *manifest.ScaledJob) *batchv1.Job {
	if s.Spec.JobTargetRef == nil {
		return nil
	}
	job := &batchv1.Job{Spec: *s.Spec.JobTargetRef.DeepCopy()}
	var excluded []string
	for key := range strings.SplitSeq(s.Annotations[manifest.AnnotationExcludedLabels], ",") {
		excluded = append(excluded, strings.TrimSpace(key))
	}
	job.Labels = inherited(s.Labels, excluded...)
	job.Labels[manifest.LabelName] = manifest.LabelValue(s.Name)
	job.Annotations = inherited(s.Annotations, manifest.AnnotationPaused, corev1.LastAppliedConfigAnnotation)
	if s.Generation > 0 {
		job.Annotations[manifest.AnnotationGeneration] = strconv.FormatInt(s.Generation, 10)
	}
	return job
}

var adapterReserved = path.Dir(adapter.LabelOwner) + "/"

// inherited returns a copy without reserved and excluded keys.
func inherited(m map[string]string, excluded ...string) map[string]string {
	kept := map[string]string{}
	for key, value := range m {
		prefix := path.Dir(key) + "/"
		if prefix != manifest.Reserved && prefix != adapterReserved && !slices.Contains(excluded, key) {
			kept[key] = value
		}
	}
	return kept
}
