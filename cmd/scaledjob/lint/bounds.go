package lint

import (
	"fmt"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/keda"
)

func minAboveMax(j *job) {
	least, most := j.spec.MinReplicaCount, j.spec.MaxReplicaCount
	if least == nil || most == nil || *least <= *most {
		return
	}
	total := int64(*most)
	j.find(j.at("spec", "minReplicaCount"), fmt.Sprintf("Write at most maxReplicaCount, %d", *most),
		effect{when: func(p keda.Profile) bool {
			r := p.Replicas(j.model)
			return r.Min > 0 && r.QueueMax == 0
		}, text: fmt.Sprintf("KEDA takes the minimum as %d, which uses up the maximum: the queue gets no Job", total)},
		effect{when: func(p keda.Profile) bool {
			r := p.Replicas(j.model)
			return r.Min > 0 && r.QueueMax == total
		}, text: fmt.Sprintf("KEDA takes the minimum as %d, and the queue gets the maximum once more: up to %d Jobs run", total, 2*total)})
}

func minUsesUpMax(j *job) {
	least, most := j.spec.MinReplicaCount, j.spec.MaxReplicaCount
	if least == nil || most == nil || *least != *most || *least < 1 {
		return
	}
	j.find(j.at("spec", "minReplicaCount"), fmt.Sprintf("Write less than maxReplicaCount, %d: the queue gets the difference", *most),
		effect{when: func(p keda.Profile) bool {
			r := p.Replicas(j.model)
			return r.Min > 0 && r.QueueMax == 0
		}, text: "the minimum uses up the maximum: the queue gets no Job"})
}

// minIsAdditional explains the commonest reports in KEDA's tracker: KEDA subtracts
// the minimum from the running Jobs before the strategy sees them.
func minIsAdditional(j *job) {
	least, most := j.spec.MinReplicaCount, j.spec.MaxReplicaCount
	if least == nil || *least < 1 || most == nil || *least >= *most {
		return
	}
	j.find(j.at("spec", "minReplicaCount"), "Leave it out if the Jobs for the queue are enough",
		effect{when: func(p keda.Profile) bool { return p.Replicas(j.model).Min > 0 },
			text: "KEDA deducts these Jobs from the running Jobs: they are in addition to the Jobs for the queue"})
}

func minWithoutMax(j *job) {
	if j.spec.MinReplicaCount == nil || j.spec.MaxReplicaCount != nil {
		return
	}
	least := int64(*j.spec.MinReplicaCount)
	j.find(j.at("spec", "minReplicaCount"), "Add maxReplicaCount",
		effect{when: func(p keda.Profile) bool { return p.Replicas(j.model).Fault.Panics() },
			text: "KEDA's operator panics", fatal: true},
		effect{when: func(p keda.Profile) bool { return p.Replicas(j.model).Min > 0 },
			text: fmt.Sprintf("the minimum is added to the default maximum of 100: up to %d Jobs run", 100+least)})
}

const refusal = "the API server rejects it"

func minNegative(j *job) {
	n := j.spec.MinReplicaCount
	if n == nil || *n >= 0 {
		return
	}
	const field = "spec.minReplicaCount"
	ghosts := -int(*n)
	j.find(j.at("spec", "minReplicaCount"), "Write 0 or more",
		effect{when: both(supports(keda.MinReplicaCount), not(j.refused(field))),
			text: fmt.Sprintf("KEDA counts %s too many as running", report.Plural(ghosts, "Job"))},
		effect{when: j.refused(field), text: refusal})
}

func maxBelow1(j *job) {
	n := j.spec.MaxReplicaCount
	if n == nil || *n >= 1 {
		return
	}
	const field = "spec.maxReplicaCount"
	j.find(j.at("spec", "maxReplicaCount"), `Write 1 or more; to stop the ScaledJob, add the annotation autoscaling.keda.sh/paused: "true"`,
		effect{when: not(j.refused(field)), text: "the queue gets no Job"},
		effect{when: j.refused(field), text: refusal})
}

func historyLimitNegative(j *job) {
	for field, n := range map[string]*int32{
		"successfulJobsHistoryLimit": j.spec.SuccessfulJobsHistoryLimit,
		"failedJobsHistoryLimit":     j.spec.FailedJobsHistoryLimit,
	} {
		if n != nil && *n < 0 {
			path := "spec." + field
			j.find(j.at("spec", field), "Write 0 or more; 0 keeps none",
				effect{when: not(j.refused(path)), text: "KEDA's operator panics, or deletes every finished Job of that outcome"},
				effect{when: j.refused(path), text: refusal})
		}
	}
}

func pollingIntervalBelow1(j *job) {
	n := j.spec.PollingInterval
	if n == nil || *n >= 1 {
		return
	}
	const field = "spec.pollingInterval"
	j.find(j.at("spec", "pollingInterval"), "Write 1 or more (seconds)",
		effect{when: not(j.refused(field)), text: "KEDA polls without a pause"},
		effect{when: j.refused(field), text: refusal})
}
