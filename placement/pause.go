package placement

import (
	"fmt"
	"strconv"
	"strings"
)

// Annotations that pause, which are KEDA's.
const (
	AnnotationPaused         = "autoscaling.keda.sh/paused"
	AnnotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"
)

// Pause is what the annotations of an object say. The zero value is not paused.
type Pause struct {
	Paused   bool
	Replicas *int32 // the total while paused; nil leaves every member as it is
}

// ObjectPause reads the annotations of an object. paused-replicas, a whole number of
// 0 or more, wins over paused whatever that says; paused is a boolean in one of the
// spellings of strconv.ParseBool.
//
// What cannot be read is a [*FieldError], and paused: an object is never scaled
// because a pause was misspelled.
func ObjectPause(annotations map[string]string) (Pause, error) {
	if text, ok := annotations[AnnotationPausedReplicas]; ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || strings.Trim(text, "0123456789") != "" {
			return Pause{Paused: true}, annotationError(AnnotationPausedReplicas, text,
				"a whole number from 0 to 2147483647; until then every member stays as it is")
		}
		replicas := int32(n)
		return Pause{true, &replicas}, nil
	}
	paused, err := paused(annotations)
	return Pause{Paused: paused}, err
}

// JobPause reads the annotations of a job: whether it is paused. What cannot be read
// is a [*FieldError], and paused. paused-replicas has no effect, which is a
// warning.
func JobPause(annotations map[string]string) (pause bool, warnings []*FieldError, err error) {
	if text, ok := annotations[AnnotationPausedReplicas]; ok {
		warnings = append(warnings, annotationError(AnnotationPausedReplicas, text, "nothing: it has no effect on Jobs"))
	}
	pause, err = paused(annotations)
	return pause, warnings, err
}

func paused(annotations map[string]string) (bool, error) {
	text, ok := annotations[AnnotationPaused]
	if !ok {
		return false, nil
	}
	paused, err := strconv.ParseBool(text)
	if err != nil {
		return true, annotationError(AnnotationPaused, text, `"true" or "false"; until then it means paused`)
	}
	return paused, nil
}

func annotationError(name, text, want string) *FieldError {
	return &FieldError{fmt.Sprintf("metadata.annotations[%s]", name), strconv.Quote(text), want}
}
