package lint

import (
	"errors"
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/keda"
)

func missingField(j *job) {
	if j.isPatch() {
		return
	}
	if j.manifest.GenerateName == "" {
		j.require("Give the ScaledJob a name", "metadata", "name")
	}
	missingTemplate(j)
	missingTriggers(j)
	for i, t := range j.spec.Triggers {
		j.require("Add the type of the trigger", "spec", "triggers", i, "type")
		j.require("Add the trigger's parameters", "spec", "triggers", i, "metadata")
		if t.AuthenticationRef != nil {
			j.require("Add the name of a TriggerAuthentication", "spec", "triggers", i, "authenticationRef", "name")
		}
	}
}

// require finds a field without a value.
func (j *job) require(want string, steps ...any) {
	position := j.place(steps...)
	j.check(position.empty(), position, want, refusal)
}

func missingTemplate(j *job) {
	template := []any{"spec", "jobTargetRef", "template"}
	switch {
	case j.spec.JobTargetRef == nil:
		j.require("Add the spec of a Job with a template", template[:2]...)
		return
	case j.place(template...).empty():
		j.require("Add a pod template", template...)
		return
	}
	position := j.place(append(template, "spec", "containers")...)
	if position.found == emptyList {
		j.checkPolls(true, position, "Add at least one container", "KEDA reads the environment of a container and never polls without one")
		return
	}
	j.check(position.empty(), position, "Add at least one container", refusal)
}

func missingTriggers(j *job) {
	position := j.place("spec", "triggers")
	if position.found != emptyList {
		j.require("Add at least one trigger", "spec", "triggers")
		return
	}
	j.find(position, "Add at least one trigger",
		effect{affected: not(from("2.20.0")), text: "KEDA never creates a Job for the queue"},
		effect{affected: from("2.20.0"), text: refusal})
}

// features holds the field of each feature.
var features = map[keda.Feature][]any{
	keda.PendingConditions: {"spec", "scalingStrategy", "pendingPodConditions"},
	keda.Calculation:       {"spec", "scalingStrategy", "multipleScalersCalculation"},
	keda.DeprecatedRollout: {"spec", "rolloutStrategy"},
	keda.MinReplicaCount:   {"spec", "minReplicaCount"},
	keda.RolloutFields:     {"spec", "rollout"},
	keda.PauseAnnotation:   {"metadata", "annotations", manifest.AnnotationPaused},
	keda.EagerStrategy:     {"spec", "scalingStrategy", "strategy"},
	keda.ExcludedLabels:    {"metadata", "annotations", manifest.AnnotationExcludedLabels},
}

func isFeature(path tree.Path) bool {
	for _, steps := range features {
		if slices.Equal(path, tree.Path(steps)) {
			return true
		}
	}
	return false
}

// unsupportedFeature holds back unless the caller names releases, since few
// manifests have no feature that came after 2.0.
func unsupportedFeature(j *job) {
	if !j.scope.named {
		return
	}
	for feature, steps := range features {
		var lacks *keda.UnsupportedError
		if errors.As(knownProfiles()[0].Supports(feature), &lacks) {
			j.find(j.place(steps...), fmt.Sprintf("Use KEDA %s or later", lacks.Since),
				effect{affected: j.lacks(feature), text: "KEDA does not support this yet and ignores it"})
		}
	}
}

// lacks is met by the releases that lack a feature which the manifest uses.
func (j *job) lacks(feature keda.Feature) condition {
	return func(p keda.Profile) bool {
		return slices.ContainsFunc(unwrap(p.Validate(j.model)), func(err error) bool {
			var lacks *keda.UnsupportedError
			return errors.As(err, &lacks) && lacks.Feature == feature
		})
	}
}
