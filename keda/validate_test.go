package keda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
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
		Annotations: map[string]string{"autoscaling.keda.sh/paused": "false", "scaledjob.keda.sh/job-excluded-labels": "team"},
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
		err := release(t, name).Validate(&defaults, keda.Scaler{Activity: scaling.Active})
		if name == "2.20.0" || name == "2.20.1" {
			require.EqualError(t, err, `spec.scalingStrategy.strategy: found "default", which KEDA `+name+` rejects; use one of accurate, eager, custom`)
			continue
		}
		require.NoError(t, err, name)
		require.NoError(t, release(t, name).Validate(&keda.ScaledJob{}))
	}
	j, scaler := everything()
	require.EqualError(t, release(t, "2.0").Validate(j, scaler), `spec.scalingStrategy.pendingPodConditions: KEDA 2.0.0 does not have it; use KEDA 2.4 or later
spec.scalingStrategy.multipleScalersCalculation: KEDA 2.0.0 does not have it; use KEDA 2.5 or later
spec.rolloutStrategy: KEDA 2.0.0 does not have it; use KEDA 2.5 or later
spec.minReplicaCount: KEDA 2.0.0 does not have it; use KEDA 2.8 or later
spec.rollout: KEDA 2.0.0 does not have it; use KEDA 2.8 or later
metadata.annotations[autoscaling.keda.sh/paused]: KEDA 2.0.0 does not have it; use KEDA 2.11 or later
spec.scalingStrategy.strategy eager: KEDA 2.0.0 does not have it; use KEDA 2.15 or later
metadata.annotations[scaledjob.keda.sh/job-excluded-labels]: KEDA 2.0.0 does not have it; use KEDA 2.18 or later`)
	require.EqualError(t, release(t, "2.21").Validate(j, scaler), `spec.pollingInterval: found 0, which KEDA 2.21.0 rejects; use 1 or more
spec.successfulJobsHistoryLimit: found -1, which KEDA 2.21.0 rejects; use 0 or more
spec.failedJobsHistoryLimit: found -2, which KEDA 2.21.0 rejects; use 0 or more
spec.minReplicaCount: found -1, which KEDA 2.21.0 rejects; use 0 or more
spec.maxReplicaCount: found 0, which KEDA 2.21.0 rejects; use 1 or more
spec.rolloutStrategy: found "gradually", which KEDA 2.21.0 rejects; use one of gradual, immediate
spec.rollout.strategy: found "slow", which KEDA 2.21.0 rejects; use one of gradual, immediate
spec.rollout.propagationPolicy: found "Foreground", which KEDA 2.21.0 rejects; use one of background, foreground
spec.scalingStrategy.multipleScalersCalculation: found "median", which KEDA 2.21.0 rejects; use one of max, min, avg, sum`)
	require.NoError(t, release(t, "2.19").Validate(j, scaler))
}

func TestSupports(t *testing.T) {
	var lacks *keda.UnsupportedError
	require.ErrorAs(t, release(t, "2.14").Supports(keda.EagerStrategy), &lacks)
	require.Equal(t, keda.UnsupportedError{Feature: keda.EagerStrategy, Release: "2.14.1", Since: "2.15"}, *lacks)
	require.NoError(t, release(t, "2.15").Supports(keda.EagerStrategy))
	require.ErrorAs(t, release(t, "2.0").Supports(keda.PendingCount), &lacks)
	require.Equal(t, "2.1", lacks.Since)
	require.NoError(t, release(t, "2.0").Supports(keda.Feature("speed")))
	require.Equal(t, "speed", keda.Feature("speed").String())
	for _, f := range []keda.Feature{keda.PendingCount, keda.PendingConditions, keda.Calculation, keda.DeprecatedRollout, keda.MinReplicaCount,
		keda.RolloutFields, keda.PauseAnnotation, keda.EagerStrategy, keda.ExcludedLabels} {
		require.NoError(t, keda.Newest().Supports(f), f)
		require.Error(t, keda.Profile{}.Supports(f), f)
	}
	require.Nil(t, field.All(release(t, "2.14").Supports(keda.EagerStrategy)))
}
