package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels and annotations of KEDA.
const (
	// Reserved is the prefix of KEDA's labels and annotations of Jobs.
	Reserved = "scaledjob.keda.sh/"
	// LabelName is the label of Jobs with the name of their ScaledJob: see [LabelValue].
	LabelName = Reserved + "name"
	// AnnotationGeneration is the annotation of Jobs with the generation of the
	// ScaledJob that they were made from.
	AnnotationGeneration = Reserved + "generation"
	// AnnotationExcludedLabels is the annotation of a ScaledJob with the keys of
	// labels that its Jobs do not get, separated by commas.
	AnnotationExcludedLabels = Reserved + "job-excluded-labels"
	// AnnotationPaused is the annotation that pauses a ScaledJob.
	AnnotationPaused = "autoscaling.keda.sh/paused"
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
