package manifest_test

// What the tests hold:
//
//	every documented field is read             TestEveryDocumentedField
//	all problems of a text are reported        TestUnreadable, TestProblems
//	package keda gets every field it reads     TestKEDA

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

const everything = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop, generation: 3, labels: {team: a}, annotations: {note: b}}
spec:
  jobTargetRef: {template: {metadata: {labels: {app: c}}, spec: {restartPolicy: Never, containers: [{name: worker, image: d}]}}}
  pollingInterval: 1
  successfulJobsHistoryLimit: 2
  failedJobsHistoryLimit: 4
  rolloutStrategy: gradual
  rollout: {strategy: immediate, propagationPolicy: foreground}
  minReplicaCount: 5
  maxReplicaCount: 60
  scalingStrategy:
    strategy: custom
    customScalingQueueLengthDeduction: 7
    customScalingRunningJobPercentage: "0.8"
    pendingPodConditions: [Ready]
    multipleScalersCalculation: sum
  triggers: [{type: rabbitmq, metadata: {mode: QueueLength, value: "5", activationValue: "2"}}]
`

func TestKEDA(t *testing.T) {
	s := read(t, everything)
	got := s.KEDA()
	require.Equal(t, &keda.ScaledJob{
		Name: "orders", Namespace: "shop", Generation: 3, Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"},
		PodLabels: map[string]string{"app": "c"}, RestartPolicy: "Never",
		Spec: keda.Spec{
			PollingInterval: new(int32(1)), SuccessfulJobsHistoryLimit: new(int32(2)), FailedJobsHistoryLimit: new(int32(4)),
			RolloutStrategy: "gradual", Rollout: keda.RolloutSpec{Strategy: "immediate", PropagationPolicy: "foreground"},
			MinReplicaCount: new(int32(5)), MaxReplicaCount: new(int32(60)),
			ScalingStrategy: keda.ScalingStrategy{
				Strategy: "custom", Parameters: strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(7)), CustomScalingRunningJobPercentage: "0.8"},
				PendingPodConditions: []string{"Ready"}, MultipleScalersCalculation: "sum",
			},
		},
	}, got)

	got.Labels["team"], got.PodLabels["app"], *got.Spec.MaxReplicaCount = "x", "x", 1
	got.Spec.ScalingStrategy.PendingPodConditions[0] = "x"
	require.Equal(t, read(t, everything), s)
	require.Zero(t, *new(manifest.ScaledJob).KEDA())
}

func TestMetricAndScaler(t *testing.T) {
	trigger := manifest.Trigger{Name: "orders", Type: "rabbitmq", Target: 5, ActivationThreshold: 2}
	for _, queue := range []float64{0, 2, 3} {
		require.Equal(t, keda.Scaler{QueueLength: queue, Target: 5, ActivationThreshold: 2}, trigger.Scaler(queue))
		require.Equal(t, scaling.Metric{Name: "orders", Value: queue, Target: 5, ActivationThreshold: 2}, trigger.Metric(queue))
	}
	require.Equal(t, keda.Scaler{Target: 5, Failed: true}, trigger.Scaler(math.NaN()))
	require.True(t, trigger.Metric(math.NaN()).Failed)
}

const accurate = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders}
spec:
  maxReplicaCount: 20
  scalingStrategy: {strategy: accurate}
  triggers: [{type: rabbitmq, metadata: {queueName: orders, mode: QueueLength, value: "1"}}]
`

// Two releases of KEDA and one manifest. 15 items wait for 15 pending Jobs; KEDA 2.18
// creates Jobs for them again.
func ExampleScaledJob_KEDA() {
	found, err := manifest.Read([]byte(accurate))
	if err != nil {
		fmt.Println(err)
		return
	}
	triggers, err := found[0].Triggers(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	poll := keda.State{Scalers: []keda.Scaler{triggers[0].Scaler(15)}, Running: 15, Pending: 15}
	for _, release := range []string{"2.18", "2.19"} {
		profile, err := keda.Release(release)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(profile, profile.Decide(found[0].KEDA(), poll).Create)
	}
	// Output:
	// KEDA 2.18.3 5
	// KEDA 2.19.0 0
}
