package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/keda"
)

func (j *job) annotation(key string) place { return j.place("metadata", "annotations", key) }

// pausedBy is met by the releases that the annotation pauses.
func (j *job) pausedBy() condition {
	return func(p keda.Profile) bool { return p.Paused(j.model) }
}

func pausedUnparseable(j *job) {
	text, ok := j.manifest.Annotations[manifest.AnnotationPaused]
	if _, err := strconv.ParseBool(text); ok && err != nil {
		j.find(j.annotation(manifest.AnnotationPaused), `Write "true" or "false"`,
			effect{affected: j.pausedBy(), text: "a text that is not a boolean pauses the ScaledJob. KEDA then does not poll and deletes no finished Jobs"})
	}
}

func pausedFalse(j *job) {
	text, ok := j.manifest.Annotations[manifest.AnnotationPaused]
	if paused, err := strconv.ParseBool(text); ok && err == nil && !paused {
		j.find(j.annotation(manifest.AnnotationPaused), "Delete the annotation", effect{affected: j.pausedBy(), text: "any value pauses the ScaledJob", fatal: true})
	}
}

// ofScaledObjects are annotations that KEDA reads from ScaledObjects.
var ofScaledObjects = []string{"autoscaling.keda.sh/paused-replicas", "autoscaling.keda.sh/paused-scale-in", "autoscaling.keda.sh/paused-scale-out", "autoscaling.keda.sh/force-activation"}

func pausedIgnored(j *job) {
	for _, key := range ofScaledObjects {
		_, ok := j.manifest.Annotations[key]
		j.check(ok, j.key("metadata", "annotations", key), "Write "+manifest.AnnotationPaused+`: "true" to pause`, "KEDA reads this annotation on ScaledObjects only")
	}
}

// annotationUnknown finds annotations of KEDA's domain that KEDA does not read.
func annotationUnknown(j *job) {
	names := []string{manifest.AnnotationPaused, manifest.AnnotationExcludedLabels}
	others := append([]string{manifest.AnnotationGeneration}, ofScaledObjects...) // with rules of their own
	for key := range j.manifest.Annotations {
		domain, _, _ := strings.Cut(key, "/")
		if (domain != "keda.sh" && !strings.HasSuffix(domain, ".keda.sh")) || slices.Contains(names, key) || slices.Contains(others, key) {
			continue
		}
		fix := "Delete it"
		_, part, _ := strings.Cut(key, "/")
		for _, name := range names {
			if _, candidate, _ := strings.Cut(name, "/"); nearest(part, []string{candidate}) != "" {
				fix = "Write " + name
			}
		}
		j.find(j.key("metadata", "annotations", key), fix, effect{text: "KEDA does not read this annotation on a ScaledJob"})
	}
}
