package lint

import (
	"github.com/scaledjob/scaledjob/keda"
)

var (
	rollouts     = []string{"gradual", "immediate"}
	propagations = []string{"background", "foreground"}
)

// A rolloutField is a field that holds a rollout strategy.
type rolloutField struct {
	path, value string
	feature     keda.Feature
}

func (j *job) rolloutFields() []rolloutField {
	return []rolloutField{
		{"spec.rolloutStrategy", j.spec.RolloutStrategy, keda.DeprecatedRollout},
		{"spec.rollout.strategy", j.spec.Rollout.Strategy, keda.RolloutFields},
	}
}

func rolloutUnknown(j *job) {
	for _, f := range j.rolloutFields() {
		if f.value != "default" {
			j.misnamed(f.path, f.value, rollouts, supports(f.feature), "KEDA uses immediate instead and deletes outdated Jobs, even running ones")
		}
	}
}

func rolloutDefaultRefused(j *job) {
	for _, f := range j.rolloutFields() {
		if f.value == "default" {
			j.find(j.place(j.path(f.path)...), "Delete the field or write immediate; both mean the same", effect{affected: j.refused(f.path), text: refusal})
		}
	}
}

func rolloutDeprecated(j *job) {
	old, current := j.spec.RolloutStrategy, j.spec.Rollout.Strategy
	if old == "" || (current != "" && (old == "gradual") != (current == "gradual")) {
		return
	}
	want := "Write rollout.strategy instead"
	if current != "" {
		want = "Delete rolloutStrategy"
	}
	j.find(j.place("spec", "rolloutStrategy"), want, effect{affected: conjunction(supports(keda.RolloutFields), not(j.refused("spec.rolloutStrategy"))), text: "the field is deprecated"})
}

func rolloutDeprecatedWins(j *job) {
	old, current := j.spec.RolloutStrategy, j.spec.Rollout.Strategy
	if old == "" || current == "" || (old == "gradual") == (current == "gradual") {
		return
	}
	text := "the deprecated field wins over rollout.strategy, so KEDA keeps outdated Jobs"
	if current == "gradual" {
		text = "the deprecated field wins over rollout.strategy, so KEDA deletes outdated Jobs, even running ones"
	}
	j.find(j.place("spec", "rolloutStrategy"), "Delete rolloutStrategy",
		effect{affected: conjunction(supports(keda.RolloutFields), func(p keda.Profile) bool { return p.RolloutStrategy(j.model) == old }), text: text})
}

func propagationUnknown(j *job) {
	j.misnamed("spec.rollout.propagationPolicy", j.spec.Rollout.PropagationPolicy, propagations, supports(keda.RolloutFields), "KEDA uses background instead")
}

func propagationUnused(j *job) {
	if j.spec.Rollout.PropagationPolicy == "" {
		return
	}
	j.find(j.place("spec", "rollout", "propagationPolicy"), "Delete the field, or use the strategy immediate",
		effect{affected: conjunction(supports(keda.RolloutFields), func(p keda.Profile) bool { return p.RolloutStrategy(j.model) == "gradual" }),
			text: "it has no effect, because gradual deletes no Jobs"})
}
