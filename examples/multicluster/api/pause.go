package api

import (
	"strconv"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
)

const annotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"

// paused reads the annotation, which is a boolean. Another value is an error, and pauses.
func paused(annotations map[string]string) (bool, error) {
	text, ok := annotations[manifest.AnnotationPaused]
	if !ok {
		return false, nil
	}
	paused, err := strconv.ParseBool(text)
	if err != nil {
		return true, &field.Error{
			Path: "metadata.annotations[" + manifest.AnnotationPaused + "]", Found: strconv.Quote(text),
			Fix: `"true" or "false"; until then it means paused`,
		}
	}
	return paused, nil
}
