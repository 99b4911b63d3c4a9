package keda_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
)

// Defaults, written out, are no use of a feature.
var defaults = keda.ScaledJob{Spec: keda.Spec{
	MinReplicaCount: new(int32(0)), MaxReplicaCount: new(int32(100)), RolloutStrategy: "immediate",
	Rollout:         keda.RolloutSpec{Strategy: "immediate", PropagationPolicy: "background"},
	ScalingStrategy: keda.ScalingStrategy{Strategy: "default", MultipleScalersCalculation: "max"},
}}

// everything uses every feature, and is refused in every field.
func everything() (*keda.ScaledJob, keda.Scaler) {
	j := &keda.ScaledJob{
		Metadata: keda.Metadata{Annotations: map[string]string{
			"autoscaling.keda.sh/paused": "false", "scaledjob.keda.sh/job-excluded-labels": "team"}},
		Spec: keda.Spec{
			PollingInterval: new(int32(0)), MinReplicaCount: new(int32(-1)), MaxReplicaCount: new(int32(0)),
			SuccessfulJobsHistoryLimit: new(int32(-1)), FailedJobsHistoryLimit: new(int32(-2)),
			RolloutStrategy: "gradually", Rollout: keda.RolloutSpec{Strategy: "slow", PropagationPolicy: "Foreground"},
			ScalingStrategy: keda.ScalingStrategy{
				Strategy: "eager", MultipleScalersCalculation: "median", PendingPodConditions: []string{"Ready"}},
		},
	}
	return j, keda.Scaler{MaxValue: new(3.0)}
}

func TestValidate(t *testing.T) {
	for _, name := range keda.Releases() {
		err := release(t, name).Validate(&defaults, keda.Scaler{Active: true})
		if name == "2.20.0" || name == "2.20.1" {
			require.EqualError(t, err, `spec.scalingStrategy.strategy is "default": KEDA `+name+` wants one of accurate, eager, custom`)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, release(t, name).Validate(&keda.ScaledJob{}))
	}
	j, scaler := everything()
	require.EqualError(t, release(t, "2.0").Validate(j, scaler), `spec.scalingStrategy.pendingPodConditions: KEDA 2.0.0 does not know it, want 2.4 or later
spec.scalingStrategy.multipleScalersCalculation: KEDA 2.0.0 does not know it, want 2.5 or later
spec.rolloutStrategy: KEDA 2.0.0 does not know it, want 2.5 or later
spec.minReplicaCount: KEDA 2.0.0 does not know it, want 2.8 or later
spec.rollout: KEDA 2.0.0 does not know it, want 2.8 or later
metadata.annotations[autoscaling.keda.sh/paused]: KEDA 2.0.0 does not know it, want 2.11 or later
spec.scalingStrategy.strategy eager: KEDA 2.0.0 does not know it, want 2.15 or later
metadata.annotations[scaledjob.keda.sh/job-excluded-labels]: KEDA 2.0.0 does not know it, want 2.18 or later`)
	require.EqualError(t, release(t, "2.21").Validate(j, scaler), `spec.pollingInterval is 0: KEDA 2.21.0 wants 1 or more
spec.successfulJobsHistoryLimit is -1: KEDA 2.21.0 wants 0 or more
spec.failedJobsHistoryLimit is -2: KEDA 2.21.0 wants 0 or more
spec.minReplicaCount is -1: KEDA 2.21.0 wants 0 or more
spec.maxReplicaCount is 0: KEDA 2.21.0 wants 1 or more
spec.rolloutStrategy is "gradually": KEDA 2.21.0 wants one of gradual, immediate
spec.rollout.strategy is "slow": KEDA 2.21.0 wants one of gradual, immediate
spec.rollout.propagationPolicy is "Foreground": KEDA 2.21.0 wants one of background, foreground
spec.scalingStrategy.multipleScalersCalculation is "median": KEDA 2.21.0 wants one of max, min, avg, sum`)
	require.NoError(t, release(t, "2.19").Validate(j, scaler))
}

func TestSupports(t *testing.T) {
	var lacks *keda.UnsupportedError
	require.ErrorAs(t, release(t, "2.14").Supports(keda.EagerStrategy), &lacks)
	require.Equal(t, keda.UnsupportedError{Feature: keda.EagerStrategy, Release: "2.14.1", Since: "2.15"}, *lacks)
	require.NoError(t, release(t, "2.15").Supports(keda.EagerStrategy))
	require.ErrorAs(t, release(t, "2.0").Supports(keda.PendingCount), &lacks)
	require.Equal(t, "2.1", lacks.Since)
	require.NoError(t, release(t, "2.0").Supports(keda.Feature(99)))
	require.Equal(t, "Feature(99)", keda.Feature(99).String())
	for f := range keda.ExcludedLabels + 1 {
		require.NoError(t, keda.Newest().Supports(f), f)
		require.Error(t, keda.Profile{}.Supports(f), f)
	}
	var refused *keda.RefusedError
	require.False(t, errors.As(release(t, "2.14").Supports(keda.EagerStrategy), &refused))
}
