package scaledjob

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter"
)

// Labels and annotations of KEDA.
const (
	// LabelName is the label of Jobs with the name of their ScaledJob: see [LabelValue].
	LabelName = reserved + "name"
	// Selector is the adapter.Options.Selector of a tracker of ScaledJobs. It selects
	// the Jobs that KEDA created too.
	Selector = LabelName
	// AnnotationGeneration is the annotation of Jobs with the generation of the
	// ScaledJob that they were made from.
	AnnotationGeneration = reserved + "generation"
	// AnnotationExcludedLabels is the annotation of a ScaledJob with the keys of
	// labels that its Jobs do not get, separated by commas.
	AnnotationExcludedLabels = reserved + "job-excluded-labels"
	// AnnotationPaused is the annotation that pauses a ScaledJob.
	AnnotationPaused = "autoscaling.keda.sh/paused"

	reserved = "scaledjob.keda.sh/"
)

// LabelValue returns the name, or if it is too long for the value of a label, its
// beginning and a hash of all of it.
func LabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(sum[:5])
	return strings.TrimRight(name[:validation.LabelValueMaxLength-len(suffix)], "-.") + suffix
}

// prototype returns the template of the Jobs, or nil if there is none. It shares no memory
// with s.
func (s *ScaledJob) prototype() *batchv1.Job {
	if s.Spec.JobTargetRef == nil {
		return nil
	}
	job := &batchv1.Job{Spec: *s.Spec.JobTargetRef.DeepCopy()}
	var excluded []string
	for key := range strings.SplitSeq(s.Annotations[AnnotationExcludedLabels], ",") {
		excluded = append(excluded, strings.TrimSpace(key))
	}
	job.Labels = inherited(s.Labels, excluded...)
	job.Labels[LabelName] = LabelValue(s.Name)
	job.Annotations = inherited(s.Annotations, AnnotationPaused, corev1.LastAppliedConfigAnnotation)
	if s.Generation > 0 {
		job.Annotations[AnnotationGeneration] = strconv.FormatInt(s.Generation, 10)
	}
	return job
}

var adapterReserved = path.Dir(adapter.LabelOwner) + "/"

// inherited returns a copy without reserved and excluded keys.
func inherited(m map[string]string, excluded ...string) map[string]string {
	kept := map[string]string{}
	for key, value := range m {
		prefix := path.Dir(key) + "/"
		if prefix != reserved && prefix != adapterReserved && !slices.Contains(excluded, key) {
			kept[key] = value
		}
	}
	return kept
}
