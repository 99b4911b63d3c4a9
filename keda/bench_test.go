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

func BenchmarkValidate(b *testing.B) {
	p, j := keda.Newest(), &defaults
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Validate(j); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			jobs := make([]keda.Job, n)
			for i := range jobs {
				jobs[i] = keda.Job{CompletionTime: at(i * 7919 % n), Conditions: []keda.Condition{{Type: "Complete", Status: "True"}}}
			}
			j := &keda.ScaledJob{Spec: keda.Spec{SuccessfulJobsHistoryLimit: new(int32(90))}}
			b.ReportAllocs()
			for b.Loop() {
				keda.Newest().History(j, jobs)
			}
		})
	}
}
