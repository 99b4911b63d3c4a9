package scaledjob

import (
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"
)

// A Config holds the settings of a ScaledJob: see [manifest.Config].
type Config struct {
	// Target is for [adapter.Tracker.Track], [adapter.List] and [adapter.Observe]. The caller sets
	// Target.Revision.TemplateHash to [adapter.TemplateHash] of spec.jobTargetRef as the API server serves
	// it: an edit of anything else, such as the maximum, deletes no Job. Without it no edit does.
	// No field of a ScaledJob sets Target.StuckAfter: at 0 no Job is stuck.
	Target          adapter.Target
	PollingInterval time.Duration
	Triggers        []manifest.Trigger // in the order of the manifest
	// Warnings are about valid fields that may surprise.
	Warnings []*field.Error
}

// Configure returns the settings of a ScaledJob, as [manifest.ScaledJob.Config] does with
// the same targets.
//
// With an error only Target.Policy.Paused is valid: an invalid pause annotation pauses.
// [adapter.Target.Validate] checks the fields that the API server sets: the UID and the
// generation.
func Configure(s *manifest.ScaledJob, targets map[string]float64) (Config, error) {
	c, err := s.Config(targets)
	return Config{
		Target: adapter.Target{
			Owner:                adapter.OwnerOf(s, manifest.GroupVersionKind),
			Job:                  prototype(s),
			Revision:             rollout.Revision{Generation: s.Generation},
			Policy:               c.Policy,
			History:              c.History,
			Rollout:              c.Rollout,
			PendingPodConditions: slices.Clone(s.Spec.ScalingStrategy.PendingPodConditions),
		},
		PollingInterval: c.PollingInterval, Triggers: c.Triggers, Warnings: c.Warnings,
	}, err
}
