package keda_test

import (
	"fmt"
	"testing"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func BenchmarkDecide(b *testing.B) {
	for _, name := range []string{"2.4", "2.7", "2.12", "2.21"} {
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) { decide(b, release(b, name), "accurate", n) })
		}
	}
	for _, name := range []string{"default", "eager", "custom"} {
		b.Run(name+"/n=1", func(b *testing.B) { decide(b, keda.Newest(), name, 1) })
	}
}

func decide(b *testing.B, p keda.Profile, name string, n int) {
	scalers := make([]keda.Scaler, n)
	for i := range scalers {
		scalers[i] = keda.Scaler{QueueLength: float64(i * 37 % 101), Target: 3, Activity: scaling.Active}
	}
	j := &keda.ScaledJob{Spec: keda.Spec{MaxReplicaCount: new(int32(30)), ScalingStrategy: keda.ScalingStrategy{
		Strategy: name, Parameters: strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(1)), CustomScalingRunningJobPercentage: "0.5"}}}}
	s := keda.State{Scalers: scalers, Running: 3, Pending: 1}
	b.ReportAllocs()
	var created int64
	for b.Loop() {
		created += p.Decide(j, s).Create
	}
}
