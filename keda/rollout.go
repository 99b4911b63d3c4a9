package keda

import "strconv"

// generation is the annotation of a Job with the generation of the ScaledJob that
// created it.
const generation = "scaledjob.keda.sh/generation"

// A Rollout lists the Jobs that KEDA deletes when it reconciles a ScaledJob.
type Rollout struct {
	Strategy          string // strategy in the manifest: see [Profile.RolloutStrategy]
	Deleted           []int  // indexes, in the order of the Jobs; nil if there are none
	PropagationPolicy string // "background" or "foreground"
}

// Rollout returns the Jobs that KEDA deletes after a change of the ScaledJob, by the
// behavior rollout. Finished Jobs are deleted too. Before 2.14.1, Jobs of the current
// generation are deleted as well, and each restart of the operator deletes Jobs. A
// paused ScaledJob deletes none.
func (p Profile) Rollout(j *ScaledJob, jobs []Job) Rollout {
	r := Rollout{Strategy: p.RolloutStrategy(j), PropagationPolicy: "background"}
	if p.has(behaviorRollout, version{8, 0}) && j.Spec.Rollout.PropagationPolicy == "foreground" {
		r.PropagationPolicy = "foreground"
	}
	if !p.has(behaviorRollout, version{4, 0}) || r.Strategy == "gradual" || p.Paused(j) {
		return r
	}
	current := strconv.FormatInt(j.Generation, 10)
	for i := range jobs {
		revision, found := jobs[i].Annotations[generation]
		if !p.has(behaviorRollout, version{14, 1}) || !found || revision != current {
			r.Deleted = append(r.Deleted, i)
		}
	}
	return r
}

// RolloutStrategy returns the text of the rollout strategy that the release reads:
// rolloutStrategy if it is set, or else rollout.strategy. "gradual" deletes no Jobs; any
// other text, also "", deletes outdated Jobs.
func (p Profile) RolloutStrategy(j *ScaledJob) string {
	switch {
	case p.has(behaviorRollout, version{5, 0}) && j.Spec.RolloutStrategy != "":
		return j.Spec.RolloutStrategy
	case p.has(behaviorRollout, version{8, 0}):
		return j.Spec.Rollout.Strategy
	}
	return ""
}
