package scaling_test

import (
	"fmt"
	"testing"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func BenchmarkDecide(b *testing.B) {
	for _, a := range []scaling.Aggregation{scaling.Max, scaling.Min, scaling.Avg, scaling.Sum} {
		for _, n := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s/n=%d", a, n), func(b *testing.B) {
				metrics := make([]scaling.Metric, n)
				for i := range metrics {
					metrics[i] = scaling.Metric{Name: "queue", Value: float64(i*37%101) + 0.3, Target: 3}
				}
				p := scaling.DefaultPolicy()
				p.Aggregation = a
				p.Strategy = strategy.Accurate{}
				s := scaling.Observation{Metrics: metrics, Jobs: &scaling.JobCounts{Running: 3, Pending: 1}}
				b.ReportAllocs()
				var created int64
				for b.Loop() {
					created += scaling.Decide(p, s).Create
				}
			})
		}
	}
}
