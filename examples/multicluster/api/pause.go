package api

import (
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/placement/replicas"
)

const annotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"

// objectPause reads the annotations of a DistributedScaledObject. paused-replicas, a
// whole number of 0 or more, takes precedence over paused, which is a boolean in a
// spelling of strconv.ParseBool.
//
// An annotation that cannot be read is a [*field.Error], and pauses: no workload is
// scaled because a pause was misspelled.
func objectPause(annotations map[string]string) (replicas.Pause, error) {
	if text, ok := annotations[annotationPausedReplicas]; ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || strings.Trim(text, "0123456789") != "" {
			return replicas.Pause{Paused: true}, &field.Error{
				Path: "metadata.annotations[" + annotationPausedReplicas + "]", Found: strconv.Quote(text),
				Fix: "a whole number from 0 to 2147483647; until then every member stays as it is",
			}
		}
		return replicas.Pause{Paused: true, Replicas: new(int32(n))}, nil
	}
	paused, err := paused(annotations)
	return replicas.Pause{Paused: paused}, err
}

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
