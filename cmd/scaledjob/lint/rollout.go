package lint

import (
	"slices"

	"github.com/scaledjob/scaledjob/keda"
)

var (
	rollouts     = []string{"gradual", "immediate"}
	propagations = []string{"background", "foreground"}
)

// A rolloutField is one of the two places of a rollout strategy.
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
				text: "KEDA takes it as immediate: it deletes the Jobs of the older spec, running ones too"},
			effect{when: j.refused(f.at.path), text: refusal})
	}
}

func rolloutDefaultRefused(j *job) {
	for _, f := range j.rolloutFields() {
		if f.value == "default" {
			j.find(f.at, "no strategy at all, which is the same everywhere, or immediate", effect{when: j.refused(f.at.path), text: refusal})
		}
	}
}

func rolloutDeprecated(j *job) {
	old, current := j.spec.RolloutStrategy, j.spec.Rollout.Strategy
	if old == "" || current != "" && (old == "gradual") != (current == "gradual") {
		return
	}
	want := "rollout.strategy in its place"
	if current != "" {
		want = "rollout.strategy alone"
	}
	j.find(j.at("spec", "rolloutStrategy"), want, effect{when: supports(keda.RolloutFields), text: "it is deprecated"})
}

func rolloutDeprecatedWins(j *job) {
	old, current := j.spec.RolloutStrategy, j.spec.Rollout.Strategy
	if old == "" || current == "" || (old == "gradual") == (current == "gradual") {
		return
	}
	text := "it is deprecated and wins over rollout.strategy: Jobs of the older spec are left alone"
	if current == "gradual" {
		text = "it is deprecated and wins over rollout.strategy: Jobs of the older spec are deleted, running ones too"
	}
	j.find(j.at("spec", "rolloutStrategy"), "rollout.strategy alone",
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
	j.find(j.at("spec", "rollout", "propagationPolicy"), "no such field, or the strategy immediate",
		effect{when: both(supports(keda.RolloutFields), func(p keda.Profile) bool { return p.RolloutStrategy(j.model) == "gradual" }),
			text: "it has no effect: gradual deletes no Job"})
}
