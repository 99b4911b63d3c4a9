package conform

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/scaledjob/scaledjob/strategy"
)

// A generator draws questions of small numbers, with every special case now and then.
type generator struct{ *rand.Rand }

// chance reports true in so many of 100 draws.
func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g generator) between(low, high int) int { return low + g.IntN(high-low+1) }

func pick[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

// set sets a field in so many of 100 draws.
func (g generator) set(fields map[string]any, name string, percent int, value any) {
	if g.chance(percent) {
		fields[name] = value
	}
}

// question draws a question of a kind.
func (g generator) question(kind string) question {
	switch kind {
	case "strategy":
		return g.load()
	case "history":
		return g.history()
	case "rollout":
		return g.rollout()
	}
	return g.poll()
}

func (g generator) poll() question {
	scalers := []any{}
	for range pick(g, 0, 1, 1, 1, 1, 2, 2, 3, 5) {
		scalers = append(scalers, g.scaler())
	}
	q := question{"kind": "create"}
	if len(scalers) > 0 || g.chance(50) { // without scalers the field may be left out
		q["scalers"] = scalers
	}
	g.counts(q)
	g.set(q, "terminating", 20, g.between(-1, 5))
	g.set(q, "maxReplicaCount", 70, pick(g, 0, 1, 2, 3, 5, 8, 12, 30, 2_000_000_000, -1))
	g.set(q, "minReplicaCount", 50, pick(g, 0, 1, 2, 3, 5, 20, -1))
	g.set(q, "min", 50, pick(g, "floor", "additive"))
	g.set(q, "multipleScalersCalculation", 60, pick(g, "max", "min", "avg", "sum"))
	g.strategy(q)
	g.set(q, "hold", 15, true)
	g.set(q, "paused", 3, true)
	g.set(q, "jobsUnknown", 3, true)
	return q
}

// counts sets the numbers of Jobs that a strategy reads.
func (g generator) counts(q question) {
	g.set(q, "running", 70, pick(g, g.between(-1, 12), g.between(-1, 12), 90))
	g.set(q, "pending", 50, g.between(-1, 12))
	g.set(q, "stuck", 30, g.between(-1, 6))
	g.set(q, "suspended", 20, g.between(-1, 5))
	g.set(q, "inFlight", 20, g.between(-1, 4))
	if g.chance(10) {
		q["agesUnknown"] = true
		delete(q, "stuck")
	}
}

func (g generator) scaler() map[string]any {
	s := map[string]any{}
	g.set(s, "queueLength", 97, pick[any](g, 0, 0, 1, 2, 3, 4, 5, 7, 9, 10, 12, 30, g.between(0, 500), 0.5, 2.1, -1, "+Inf", "NaN", 3e9, 1e30))
	g.set(s, "target", 97, pick[any](g, 1, 1, 1, 2, 3, 5, 10, 0.3, 0.1, 0, -1, "+Inf"))
	g.set(s, "isActive", 20, g.chance(50))
	g.set(s, "activationTarget", 20, pick(g, 0, 1, 5))
	g.set(s, "failed", 10, g.chance(80))
	g.set(s, "error", 5, "timeout")
	return s
}

func (g generator) strategy(q question) {
	name := pick(g, append(strategy.Names(), "", "basic", "custom")...)
	if name != "" {
		q["strategy"] = name
	}
	custom := 5 // others ignore the parameters
	if name == "custom" {
		custom = 80
	}
	g.set(q, "customScalingRunningJobPercentage", custom, pick(g, "0.5", "1", "0.29", "0", "0.1", "2", "0.333"))
	g.set(q, "customScalingQueueLengthDeduction", custom, pick(g, 0, 1, 2, -1, 5))
}

func (g generator) load() question {
	q := question{"kind": "strategy", "maxScale": pick(g, g.between(-1, 14), g.between(0, 14), 3_000_000_000)}
	g.set(q, "maxReplicaCount", 90, pick(g, g.between(0, 16), g.between(-1, 16), 100))
	g.counts(q)
	q["pending"] = g.between(-1, 12)
	g.strategy(q)
	return q
}

// at returns one of a few times, so that ties are common.
func (g generator) at() string {
	return time.Date(2026, 1, 1, g.between(8, 11), 30*g.between(0, 1), g.between(0, 1), 0, time.UTC).Format(time.RFC3339)
}

func (g generator) history() question {
	jobs := []any{}
	for _, i := range g.Perm(g.between(0, 7)) {
		job := finishedJob(pick(g, "job-", "Job-", "job_", "é")+fmt.Sprint(i), pick(g, "succeeded", "succeeded", "failed", ""), g.at(), g.chance(10))
		g.set(job, "conditions", 5, []any{map[string]any{"type": pick(g, "Complete", "Failed", "Suspended"), "status": pick(g, "False", "Unknown"), "lastTransitionTime": g.at()}})
		jobs = append(jobs, job)
	}
	q := question{"kind": "history", "jobs": jobs}
	if g.chance(2) { // more than the default keeps
		for i := range 160 {
			jobs = append(jobs, finishedJob(fmt.Sprint("more-", i), pick(g, "succeeded", "succeeded", "succeeded", "failed"), g.at(), false))
		}
		return q.with("jobs", jobs)
	}
	g.set(q, "successfulJobsHistoryLimit", 70, g.between(-1, 4))
	g.set(q, "failedJobsHistoryLimit", 70, g.between(-1, 3))
	if g.chance(40) {
		q["age"], q["now"] = pick(g, "0s", "30m0s", "1h0m0s", "1h30m0s", "2h0m1s"), "2026-01-01T11:30:00Z"
	}
	return q
}

func (g generator) rollout() question {
	jobs := []any{}
	for i := range g.between(1, 4) {
		job := map[string]any{"name": fmt.Sprint("job-", i), "creationTimestamp": "2026-01-01T00:00:00Z"}
		g.set(job, "generationAnnotation", 90, pick(g, "1", "1", "1", "2", "2", "3", "0", "-1", "+1", "01", "x"))
		g.set(job, "templateHash", 80, pick(g, "old", "old", "new"))
		if phases := g.between(0, 2); phases > 0 {
			job["pods"] = []any{map[string]any{"phase": "Pending"}, map[string]any{"phase": pick(g, "Running", "Succeeded", "Failed", "Pending")}}[2-phases:]
		}
		g.set(job, "conditions", 15, []any{map[string]any{"type": pick(g, "Complete", "Failed"), "status": pick(g, "True", "False"), "lastTransitionTime": g.at()}})
		g.set(job, "deletionTimestamp", 10, g.at())
		jobs = append(jobs, job)
	}
	q := question{"kind": "rollout", "jobs": jobs}
	g.set(q, "rollout", 85, map[string]any{"strategy": pick(g, "default", "immediate", "immediate", "drain", "drain", "gradual")})
	g.set(q, "generation", 97, pick(g, 2, 2, 2, 3, 1, 0))
	g.set(q, "templateHash", 90, pick(g, "new", "new", "old"))
	g.set(q, "everyEdit", 60, g.chance(30))
	return q
}
