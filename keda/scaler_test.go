package keda_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

var (
	sum        = &keda.ScaledJob{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{MultipleScalersCalculation: "sum"}}}
	activities = []scaling.Activity{scaling.ByThreshold, scaling.Active, scaling.Inactive}
)

// A scaler is active exactly if a metric of package scaling with the same fields
// is, in every release.
func TestActivityIsThatOfAMetric(t *testing.T) {
	for _, name := range keda.Releases() {
		for _, value := range []float64{0, 1, 5, 6} {
			for _, threshold := range []float64{0, 5} {
				for _, activity := range activities {
					s := keda.Scaler{QueueLength: value, Target: 1, ActivationThreshold: threshold, Activity: activity}
					m := scaling.Metric{Value: value, Target: 1, ActivationThreshold: threshold, Activity: activity}
					got := release(t, name).Aggregate(sum, []keda.Scaler{s}).Active
					require.Equal(t, scaling.Aggregate(scaling.Sum, []scaling.Metric{m}, false).Active == 1, got, "%s %+v", name, s)
				}
			}
		}
	}
}

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
		fmt.Println(d.Create, d.Reason)
	}
	// Output:
	// 8 the strategy's answer
	// 0 no scaler is active
	// 0 no scaler is active
}

// The trace shows how many Jobs the queues ask for, and then the maximum. KEDA limits each
// scaler before it combines them.
func TestUncapped(t *testing.T) {
	both := []keda.Scaler{{QueueLength: 100, Target: 1}, {QueueLength: 5, Target: 2}}
	for _, name := range []string{"2.4", "2.5", "2.8", "2.12", "2.13", "2.21"} {
		for calculation, want := range map[string]string{
			"max": "queue length 100 asks for 100 Jobs, limited to 30 by the maximum, rounded up to 30",
			"min": "queue length 5 asks for 2.5 Jobs, rounded up to 3",
			"sum": "queue length 105 asks for 102.5 Jobs, limited to 30 by the maximum, rounded up to 30",
			"avg": "queue length 52.5 asks for 51.25 Jobs, limited to 16.25 by the maximum, rounded up to 17",
		} {
			switch {
			case name == "2.4": // one sum, by the last target, which is 2
				want = "queue length 105 asks for 53 Jobs, limited to 30 by the maximum, rounded up to 30"
			case name == "2.5": // whole numbers
				want = strings.NewReplacer("102.5", "103", "52.5", "53", "51.25", "52", "16.25", "17", "2.5", "3").Replace(want)
			}
			j := &keda.ScaledJob{Spec: keda.Spec{MaxReplicaCount: new(int32(30))}}
			j.Spec.ScalingStrategy.MultipleScalersCalculation = calculation
			require.Contains(t, release(t, name).Decide(j, keda.State{Scalers: both}).String(), want, "%s %s", name, calculation)
		}
	}
	negative := []keda.Scaler{{QueueLength: -3, Target: 2, Activity: scaling.Active}}
	for _, name := range keda.Releases() {
		d := release(t, name).Aggregate(sum, negative)
		require.Equal(t, d.Jobs, d.Uncapped, "%s: nothing is limited", name)
	}
}
