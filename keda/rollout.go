package keda

import "strconv"

// generation is the annotation in which Jobs have the generation of the
// ScaledJob that they were made from.
const generation = "scaledjob.keda.sh/generation"

// A Rollout says which Jobs KEDA deletes when it reconciles a ScaledJob.
type Rollout struct {
	Strategy          string // what the manifest asks for: see [Profile.RolloutStrategy]
	Deleted           []int  // indexes, in the order of the Jobs; nil where there are none
	PropagationPolicy string // "background", or "foreground"
}

// Rollout returns the Jobs that KEDA deletes when the ScaledJob has changed, by
// [PartRollout]. Finished Jobs go too, and before 2.14.1 so do those of the
// current generation, when the operator starts anew as well. Paused, KEDA deletes
// none.
func (p Profile) Rollout(j *ScaledJob, jobs []Job) Rollout {
	form := p.forms[PartRollout]
	r := Rollout{Strategy: p.RolloutStrategy(j), PropagationPolicy: "background"}
	if form >= rollout28 && j.Spec.Rollout.PropagationPolicy == "foreground" {
		r.PropagationPolicy = "foreground"
	}
	if form == rollout20 || r.Strategy == "gradual" || p.Paused(j) {
		return r
	}
	current := strconv.FormatInt(j.Metadata.Generation, 10)
	for i := range jobs {
		of, known := jobs[i].Annotations[generation]
		if form < rollout2141 || !known || of != current {
			r.Deleted = append(r.Deleted, i)
		}
	}
	return r
}

// RolloutStrategy returns the strategy that counts, as it is written:
// rolloutStrategy, or else rollout.strategy, of those that the release reads.
// Any other than "gradual", the empty one included, deletes.
func (p Profile) RolloutStrategy(j *ScaledJob) string {
	switch form := p.forms[PartRollout]; {
	case form >= rollout25 && j.Spec.RolloutStrategy != "":
		return j.Spec.RolloutStrategy
	case form >= rollout28:
		return j.Spec.Rollout.Strategy
	}
	return ""
}
