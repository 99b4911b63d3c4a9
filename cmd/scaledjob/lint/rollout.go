package lint

import (
	"slices"

	"github.com/scaledjob/scaledjob/keda"
)

var (
	rollouts     = []string{"gradual", "immediate"}
	propagations = []string{"background", "foreground"}
)

// A rolloutField is a field that holds a rollout strategy.
type rolloutField struct {
	at      place
	value   string
	feature keda.Feature
}

func (j *job) rolloutFields() []rolloutField {
	return []rolloutField{
		{j.at("spec", "rolloutStrategy"), j.spec.RolloutStrategy, keda.DeprecatedRollout},
		{j.at("spec", "rollout", "strategy"), j.spec.Rollout.Strategy, keda.RolloutFields},
	}
}

func rolloutUnknown(j *job) {
	for _, f := range j.rolloutFields() {
		if f.value == "" || f.value == "default" || slices.Contains(rollouts, f.value) {
			continue
		}
		j.find(f.at, oneOf(f.value, rollouts),
			effect{when: both(supports(f.feature), not(j.refused(f.at.path))),
				text: "KEDA takes it as immediate and deletes outdated Jobs, running ones too"},
			effect{when: j.refused(f.at.path), text: refusal})
	}
}

func rolloutDefaultRefused(j *job) {
	for _, f := range j.rolloutFields() {
		if f.value == "default" {
			j.find(f.at, "Delete the field, which means the same in every release, or write immediate", effect{when: j.refused(f.at.path), text: refusal})
		}
	}
}

func rolloutDeprecated(j *job) {
	old, current := j.spec.RolloutStrategy, j.spec.Rollout.Strategy
	if old == "" || current != "" && (old == "gradual") != (current == "gradual") {
		return
	}
	want := "Write rollout.strategy instead"
	if current != "" {
		want = "Delete rolloutStrategy"
	}
	j.find(j.at("spec", "rolloutStrategy"), want, effect{when: supports(keda.RolloutFields), text: "the field is deprecated"})
}

func rolloutDeprecatedWins(j *job) {
	old, current := j.spec.RolloutStrategy, j.spec.Rollout.Strategy
	if old == "" || current == "" || (old == "gradual") == (current == "gradual") {
		return
	}
	text := "the deprecated field wins over rollout.strategy: KEDA keeps outdated Jobs"
	if current == "gradual" {
		text = "the deprecated field wins over rollout.strategy: KEDA deletes outdated Jobs, running ones too"
	}
	j.find(j.at("spec", "rolloutStrategy"), "Delete rolloutStrategy",
		effect{when: both(supports(keda.RolloutFields), func(p keda.Profile) bool { return p.RolloutStrategy(j.model) == old }), text: text})
}

func propagationUnknown(j *job) {
	name := j.spec.Rollout.PropagationPolicy
	if name == "" || slices.Contains(propagations, name) {
		return
	}
	const field = "spec.rollout.propagationPolicy"
	j.find(j.at("spec", "rollout", "propagationPolicy"), oneOf(name, propagations),
		effect{when: both(supports(keda.RolloutFields), not(j.refused(field))), text: "KEDA takes it as background"},
		effect{when: j.refused(field), text: refusal})
}

func propagationUnused(j *job) {
	if j.spec.Rollout.PropagationPolicy == "" {
		return
	}
	j.find(j.at("spec", "rollout", "propagationPolicy"), "Delete the field, or use the strategy immediate",
		effect{when: both(supports(keda.RolloutFields), func(p keda.Profile) bool { return p.RolloutStrategy(j.model) == "gradual" }),
			text: "it has no effect: gradual deletes no Job"})
}
