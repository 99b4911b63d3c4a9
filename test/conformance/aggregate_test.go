//go:build !keda2.8

package conformance

import (
	"fmt"
	"math"
	"testing"

	"github.com/kedacore/keda/v2/pkg/scaling/scaledjob"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
)

var (
	calculations = []string{"", "max", "min", "avg", "sum", "median"}
	odd          = []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 0.1, 0.3, 1 << 53, 1 << 62, 1 << 63, 9.3e18, -9.3e18, 1e300, 5e-324}
)

// sameDemand compares IsScaledJobActive, given each scaler's queue and Jobs.
func sameDemand(t tb, j *keda.ScaledJob, scalers []keda.Scaler) {
	model, operator := profile.Aggregate(j, scalers), operatorOf(j)
	entries := make([]scaledjob.ScalerMetrics, len(scalers))
	for i, s := range scalers {
		entries[i] = scaledjob.ScalerMetrics{QueueLength: s.QueueLength, MaxValue: *s.MaxValue, IsActive: s.Activity == scaling.Active}
	}
	active, queueLength, maxScale, jobs := scaledjob.IsScaledJobActive(
		entries, j.Spec.ScalingStrategy.MultipleScalersCalculation, operator.MinReplicaCount(), operator.MaxReplicaCount())
	of := func() string { return fmt.Sprintf("%+v of %+v", entries, j.Spec) }
	same(t, [4]any{model.Active, model.QueueLength, model.MaxScale, math.Float64bits(canonical(model.Jobs))},
		[4]any{active, queueLength, maxScale, math.Float64bits(canonical(jobs))}, of)
}

// canonical makes all NaN one, and -0 one with 0.
func canonical(x float64) float64 {
	switch x {
	case x:
		return x + 0
	}
	return math.NaN()
}

// Every list of up to three scalers that differ in queue, Jobs and activity.
func TestAggregate(t *testing.T) {
	var kinds []keda.Scaler
	for _, queue := range []float64{0, 0.5, 1, 7, 12} {
		for _, jobs := range []float64{0, 0.4, 3, 7} {
			for _, active := range []bool{false, true} {
				kinds = append(kinds, keda.Scaler{QueueLength: queue, MaxValue: &jobs, Activity: activity(active)})
			}
		}
	}
	for _, c := range calculations {
		for _, least := range []*int32{nil, new(int32(1))} {
			for _, most := range []*int32{nil, new(int32(5))} {
				j := &keda.ScaledJob{Spec: keda.Spec{MinReplicaCount: least, MaxReplicaCount: most,
					ScalingStrategy: keda.ScalingStrategy{MultipleScalersCalculation: c}}}
				sameDemand(t, j, nil)
				for i := range len(kinds) * len(kinds) * len(kinds) {
					list := []keda.Scaler{kinds[i%len(kinds)], kinds[i/len(kinds)%len(kinds)], kinds[i/len(kinds)/len(kinds)]}
					sameDemand(t, j, list[:1+i%3])
				}
			}
		}
	}
}

func TestRandomAggregate(t *testing.T) {
	x := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 20), rapid.SampledFrom(odd))
	rapid.Check(t, func(t *rapid.T) {
		scalers := make([]keda.Scaler, rapid.IntRange(0, 5).Draw(t, "scalers"))
		for i := range scalers {
			scalers[i] = keda.Scaler{QueueLength: x.Draw(t, "queue"), MaxValue: new(x.Draw(t, "jobs")), Activity: activity(rapid.IntRange(0, 3).Draw(t, "active") > 0)}
		}
		j := &keda.ScaledJob{Spec: keda.Spec{
			MinReplicaCount: rapid.SampledFrom(bounds()).Draw(t, "min"), MaxReplicaCount: rapid.SampledFrom(bounds()).Draw(t, "max"),
			ScalingStrategy: keda.ScalingStrategy{MultipleScalersCalculation: rapid.SampledFrom(calculations).Draw(t, "calculation")},
		}}
		sameDemand(t, j, scalers)
	})
}

// sameReading compares CalculateQueueLengthAndMaxValue, given the metrics.
func sameReading(t tb, j *keda.ScaledJob, scalers []keda.Scaler) {
	model := profile.Aggregate(j, scalers)
	var got demanded
	panicked := panics(func() { got = demand(operatorOf(j), scalers) })
	same(t, [2]any{demanded{model.Active, model.QueueLength, model.MaxScale}, model.Fault.Panics()}, [2]any{got, panicked},
		func() string { return fmt.Sprintf("%+v of %+v", scalers, j.Spec) })
}

func TestRandomReadings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameReading(t, drawScaledJob(t), drawScalers(t))
	})
}

// Every scaler of up to three metrics that differ in name, value and target.
func TestReadings(t *testing.T) {
	var kinds []keda.Metric
	for _, name := range []string{"a", "b"} {
		for _, value := range []float64{0, 2, 4.5} {
			for _, target := range []float64{0, 0.3, 2} {
				kinds = append(kinds, keda.Metric{Name: name, Value: value, AverageValue: asRead(target)})
			}
		}
	}
	kinds = append(kinds, keda.Metric{Resource: true}, keda.Metric{Name: "a", Value: 3, AverageValue: 1, Failed: true},
		keda.Metric{Name: "a", Value: 3, AverageValue: 1, Activity: scaling.Active})
	for _, c := range calculations {
		j := &keda.ScaledJob{Spec: keda.Spec{MaxReplicaCount: new(int32(9)), ScalingStrategy: keda.ScalingStrategy{MultipleScalersCalculation: c}}}
		for i := range len(kinds) * len(kinds) * len(kinds) {
			list := []keda.Metric{kinds[i%len(kinds)], kinds[i/len(kinds)%len(kinds)], kinds[i/len(kinds)/len(kinds)]}
			for _, active := range []bool{false, true} {
				sameReading(t, j, []keda.Scaler{{Metrics: list[:1+i%3], Activity: activity(active)}, {Metrics: kinds[1:2], Activity: scaling.Active}})
			}
		}
	}
}
