package keda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

var (
	sum        = &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{MultipleScalersCalculation: "sum"}}}
	activities = []scaling.Activity{scaling.ByThreshold, scaling.Active, scaling.Inactive}
)

// The metric's activity counts before the scaler's, and both before the value.
func TestActivityOfMetrics(t *testing.T) {
	for _, name := range []string{"2.4", "2.12", "2.13", "2.21"} {
		for _, value := range []float64{5, 6} {
			for _, of := range activities {
				for _, own := range activities {
					s := keda.Scaler{ActivationThreshold: 5, Activity: of,
						Metrics: []keda.Metric{{Name: "queueLength", Value: value, AverageValue: 1, Activity: own}}}
					want := value > 5
					for _, said := range []scaling.Activity{of, own} {
						if said != scaling.ByThreshold {
							want = said == scaling.Active
						}
					}
					require.Equal(t, want, release(t, name).Aggregate(sum, []keda.Scaler{s}).Active, "%s %+v", name, s)
				}
			}
		}
	}
}

// Since 2.13 KEDA asks for the activity with each metric, and an active metric
// makes the later ones active. Before, it asks with the first.
func TestActivityOfLaterMetrics(t *testing.T) {
	metrics := []keda.Metric{{Name: "a", AverageValue: 1}, {Name: "a", Value: 3, AverageValue: 1}, {Name: "a", AverageValue: 1}}
	for name, want := range map[string]float64{"2.12": 0, "2.13": 6} { // two entries of 3 items
		d := release(t, name).Aggregate(sum, []keda.Scaler{{Metrics: metrics}})
		require.Equal(t, want, d.Queue, name)
		require.Equal(t, want > 0, d.Active, name)
	}
}

// The zero Activity decides by the queue, as in package scaling.
func ExampleScaler() {
	for _, s := range []keda.Scaler{
		{QueueLength: 8, Target: 1},
		{QueueLength: 8, Target: 1, ActivationThreshold: 10},
		{QueueLength: 8, Target: 1, Activity: scaling.Inactive},
	} {
		d := keda.Newest().Decide(&keda.ScaledJob{}, keda.State{Scalers: []keda.Scaler{s}})
		fmt.Println(d.Create, d.Reason.Text())
	}
	// Output:
	// 8 the strategy's answer
	// 0 no scaler is active
	// 0 no scaler is active
}
