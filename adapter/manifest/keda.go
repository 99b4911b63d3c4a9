package manifest

import (
	"math"

	"github.com/scaledjob/scaledjob/keda"
)

// KEDA returns the fields that package keda reads, to compute the decisions of a release
// of KEDA. The result shares no memory with s.
func (s *ScaledJob) KEDA() *keda.ScaledJob {
	s = s.DeepCopyObject().(*ScaledJob)
	j := &keda.ScaledJob{
		Name: s.Name, Namespace: s.Namespace, Generation: s.Generation, Labels: s.Labels, Annotations: s.Annotations,
		Spec: keda.Spec{
			PollingInterval:            s.Spec.PollingInterval,
			SuccessfulJobsHistoryLimit: s.Spec.SuccessfulJobsHistoryLimit,
			FailedJobsHistoryLimit:     s.Spec.FailedJobsHistoryLimit,
			RolloutStrategy:            s.Spec.RolloutStrategy,
			Rollout:                    keda.RolloutSpec(s.Spec.Rollout),
			MinReplicaCount:            s.Spec.MinReplicaCount,
			MaxReplicaCount:            s.Spec.MaxReplicaCount,
			ScalingStrategy:            keda.ScalingStrategy(s.Spec.ScalingStrategy),
		},
	}
	if ref := s.Spec.JobTargetRef; ref != nil {
		j.PodLabels, j.RestartPolicy = ref.Template.Labels, string(ref.Template.Spec.RestartPolicy)
	}
	return j
}

// Scaler returns the report of KEDA's scaler for the trigger at a queue length. NaN is a
// queue that could not be read.
func (t Trigger) Scaler(queue float64) keda.Scaler {
	if math.IsNaN(queue) {
		return keda.Scaler{Target: t.Target, Failed: true}
	}
	return keda.Scaler{QueueLength: queue, Target: t.Target, ActivationThreshold: t.ActivationThreshold}
}
