package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// bench is a fleet with n Jobs, of which that share is stuck. Each stuck Job is replaced.
func bench(members, n int, stuck float64, scheduling jobs.Scheduling) *fleet {
	var names []string
	for i := range members {
		names = append(names, fmt.Sprintf("member-%04d", i))
	}
	f := newFleet(names...)
	f.Scaling.Bounds.Max, f.Scheduling = scaling.NoMax, scheduling
	f.Failover.Duplication = jobs.PreferFailover
	for i := range n {
		c := &f.Clusters[i%members]
		j := jobs.Job{Name: fmt.Sprintf("job-%06d", i), UID: fmt.Sprintf("job-%06d.abcdefghij", i)}
		if float64(i%100) < 100*stuck {
			j.Phase, j.PendingSince = jobs.Pending, f.Now.Add(-time.Hour+time.Duration(i*7919%n)*time.Millisecond)
		}
		c.Jobs = append(c.Jobs, j)
	}
	for i := range f.Members {
		f.Members[i].Priority = new(int32(i % 1000))
		f.Shared = append(f.Shared, taint.Entry{
			Path:     taint.Path{Cluster: names[i], Priority: int32(i % 1000)},
			Workload: taint.Workload{Class: "other", Size: 1}, Until: at(300),
		})
	}
	f.demand(int64(n))
	return f
}

func BenchmarkPlan(b *testing.B) {
	for _, scheduling := range []jobs.Scheduling{jobs.WeightedRoundRobin, jobs.PriorityFailover} {
		for _, n := range []int{10_000, 100_000} {
			for _, stuck := range []float64{0, 0.1, 0.5, 1} {
				b.Run(fmt.Sprintf("%s/members=1000/n=%d/stuck=%.0f%%", scheduling, n, 100*stuck), func(b *testing.B) {
					f := bench(1000, n, stuck, scheduling)
					b.ReportAllocs()
					for b.Loop() {
						f.plan()
					}
				})
			}
		}
	}
}
