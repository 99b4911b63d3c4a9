package controller

import (
	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// decide says how many Jobs there should be for the items that wait, and how many to
// create of them. It is pure:
//
//	desired = ceil(depth / threshold), at least minReplicas, at most maxReplicas
//	create  = desired - jobs.Running, at most maxReplicas - jobs.Running - jobs.Terminating
//
// and neither is below 0. An empty queue is one like any other, and not an
// inactive one: its desired Jobs are minReplicas.
func decide(spec *v1.ScaledJobSpec, depth int64, jobs scaling.Jobs) (desired, create int32) {
	decision := scaling.Decide(
		scaling.Policy{Bounds: scaling.Bounds{
			Min:  int64(spec.MinReplicas),
			Max:  int64(spec.MaxReplicas),
			Mode: scaling.Floor,
		}},
		scaling.State{
			Metrics: []scaling.Metric{{
				Name:     spec.QueueName,
				Value:    float64(depth),
				Target:   float64(spec.Threshold),
				Activity: scaling.Active,
			}},
			Jobs: &jobs,
		})
	return int32(decision.Trace.Load.Target), int32(decision.Create)
}
