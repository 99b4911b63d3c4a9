package lint

import (
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

func minAboveMax(j *job) {
	minimum, maximum := j.spec.MinReplicaCount, j.spec.MaxReplicaCount
	if minimum == nil || maximum == nil || *minimum <= *maximum {
		return
	}
	total := int64(*maximum)
	j.find(j.place("spec", "minReplicaCount"), "Write less than maxReplicaCount; the queue gets the difference",
		effect{affected: func(p keda.Profile) bool {
			r := p.Replicas(j.model)
			return r.Min > 0 && r.QueueMax == 0
		}, text: fmt.Sprintf("KEDA lowers the minimum to the maximum of %d, so the queue gets no Job", total)},
		effect{affected: func(p keda.Profile) bool {
			r := p.Replicas(j.model)
			return r.Min > 0 && r.QueueMax == total
		}, text: fmt.Sprintf("KEDA lowers the minimum to the maximum of %d and gives the queue the maximum once more, so up to %d Jobs run", total, 2*total)})
}

func minUsesUpMax(j *job) {
	minimum, maximum := j.spec.MinReplicaCount, j.spec.MaxReplicaCount
	if minimum == nil || maximum == nil || *minimum != *maximum || *minimum < 1 {
		return
	}
	j.find(j.place("spec", "minReplicaCount"), "Write less than maxReplicaCount; the queue gets the difference",
		effect{affected: func(p keda.Profile) bool {
			r := p.Replicas(j.model)
			return r.Min > 0 && r.QueueMax == 0
		}, text: "the minimum uses up the maximum, so the queue gets no Job"})
}

// minIsAdditional explains the commonest reports in KEDA's tracker: KEDA subtracts
// the minimum from the running Jobs before the strategy sees them.
func minIsAdditional(j *job) {
	minimum, maximum := j.spec.MinReplicaCount, j.spec.MaxReplicaCount
	needed := slices.ContainsFunc(j.spec.Triggers, func(t manifest.ScaleTrigger) bool { return countsPendingEntries(&t) }) // which a Job must read first
	if minimum == nil || *minimum < 1 || maximum == nil || *minimum >= *maximum || needed {
		return
	}
	fewer := "none runs"
	if *minimum > 1 {
		fewer = fmt.Sprintf("fewer than %d run", *minimum)
	}
	j.find(j.place("spec", "minReplicaCount"), "Write 0 if the Jobs for the queue are enough",
		effect{affected: func(p keda.Profile) bool { return p.Replicas(j.model).Min > 0 },
			text: fmt.Sprintf("KEDA keeps %s on top of those for the queue. While %s, it ignores the queue", field.Plural(int(*minimum), "Job"), fewer)})
}

func minWithoutMax(j *job) {
	if j.spec.MinReplicaCount == nil || j.node("spec", "maxReplicaCount") != nil {
		return
	}
	minimum := int64(*j.spec.MinReplicaCount)
	j.find(j.place("spec", "minReplicaCount"), "Add maxReplicaCount",
		effect{affected: func(p keda.Profile) bool { return p.Replicas(j.model).Fault.Panics() },
			text: panics, fatal: true},
		effect{affected: func(p keda.Profile) bool { return p.Replicas(j.model).Min > 0 },
			text: fmt.Sprintf("the minimum is added to the default maximum of 100, so up to %d Jobs run", 100+minimum)})
}

const (
	refusal = "the API server rejects it"
	panics  = "KEDA's operator panics and restarts again and again, which delays every ScaledJob and ScaledObject"
)

// replaced finds a value that the API server rejects in some releases. In others that meet the
// condition, it has another effect.
func (j *job) replaced(path string, affected condition, text, fix string) {
	j.find(j.place(j.path(path)...), fix,
		effect{affected: conjunction(affected, not(j.refused(path))), text: text},
		effect{affected: j.refused(path), text: refusal})
}

// misnamed is replaced for a name that is not one of those that KEDA knows.
func (j *job) misnamed(path, name string, choices []string, affected condition, text string) {
	if name != "" && !slices.Contains(choices, name) {
		j.replaced(path, affected, text, oneOf(name, choices))
	}
}

func minNegative(j *job) {
	if n := j.spec.MinReplicaCount; n != nil && *n < 0 {
		j.replaced("spec.minReplicaCount", supports(keda.MinReplicaCount), fmt.Sprintf("KEDA counts %s too many as running", field.Plural(-int(*n), "Job")), "Write 0 or more")
	}
}

func maxBelow1(j *job) {
	if n := j.spec.MaxReplicaCount; n != nil && *n < 1 {
		j.replaced("spec.maxReplicaCount", nil, "the queue gets no Job", `Write 1 or more; to stop the ScaledJob, add the annotation autoscaling.keda.sh/paused: "true" (KEDA 2.11 or later)`)
	}
}

func historyLimitNegative(j *job) {
	for field, n := range map[string]*int32{
		"successfulJobsHistoryLimit": j.spec.SuccessfulJobsHistoryLimit,
		"failedJobsHistoryLimit":     j.spec.FailedJobsHistoryLimit,
	} {
		if n != nil && *n < 0 {
			j.replaced("spec."+field, nil, "KEDA deletes every finished Job of that outcome. While there are few or none, "+panics, "Write 0 or more; 0 keeps none")
		}
	}
}

func pollingIntervalBelow1(j *job) {
	if n := j.spec.PollingInterval; n != nil && *n < 1 {
		j.replaced("spec.pollingInterval", nil, "KEDA polls without a pause", "Write 1 or more (seconds)")
	}
}

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
