package lint

import (
	"strconv"

	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/keda"
)

func (j *job) annotation(key string) place { return j.at("metadata", "annotations", key) }

// pausedBy is met by the releases that the annotation pauses.
func (j *job) pausedBy() condition {
	return func(p keda.Profile) bool { return p.Paused(j.model) }
}

func pausedUnparseable(j *job) {
	text, ok := j.manifest.Annotations[scaledjob.AnnotationPaused]
	if _, err := strconv.ParseBool(text); !ok || err == nil {
		return
	}
	j.find(j.annotation(scaledjob.AnnotationPaused), `Write "true" or "false"`,
		effect{when: j.pausedBy(), text: "it is not a boolean, and pauses the ScaledJob: KEDA does not poll and deletes no finished Jobs"})
}

func pausedFalse(j *job) {
	text, ok := j.manifest.Annotations[scaledjob.AnnotationPaused]
	if paused, err := strconv.ParseBool(text); !ok || err != nil || paused {
		return
	}
	j.find(j.annotation(scaledjob.AnnotationPaused), "Delete the annotation",
		effect{when: j.pausedBy(), text: "any value pauses the ScaledJob", fatal: true})
}

func pausedIgnored(j *job) {
	for _, name := range []string{"paused-replicas", "paused-scale-in", "paused-scale-out", "force-activation"} {
		key := "autoscaling.keda.sh/" + name
		if _, ok := j.manifest.Annotations[key]; ok {
			j.find(j.key("metadata", "annotations", key), "Write "+scaledjob.AnnotationPaused+`: "true" to pause`,
				effect{text: "it has no effect: KEDA reads it from ScaledObjects only"})
		}
	}
}
