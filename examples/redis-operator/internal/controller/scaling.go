package controller

import (
	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// policy returns the arithmetic of a ScaledJob, which package scaling does:
//
//	desired = ceil(depth / threshold), at least minReplicas, at most maxReplicas
//	create  = desired - running Jobs, at most maxReplicas - running and terminating Jobs
//
// Neither is below 0.
func policy(spec *v1.ScaledJobSpec) scaling.Policy {
	return scaling.Policy{Bounds: scaling.Bounds{
		Min:  int64(spec.MinReplicas),
		Max:  int64(spec.MaxReplicas),
		Mode: scaling.Floor,
	}}
}

// waiting returns the depth of the queue as the only metric. An empty queue is active
// like any other: its desired Jobs are minReplicas.
func waiting(spec *v1.ScaledJobSpec, depth int64) []scaling.Metric {
	return []scaling.Metric{{
		Name:     spec.QueueName,
		Value:    float64(depth),
		Target:   float64(spec.Threshold),
		Activity: scaling.Active,
	}}
}

// desired returns the number of Jobs that should run, whatever runs now.
func desired(spec *v1.ScaledJobSpec, depth int64) int32 {
	decision := scaling.Decide(policy(spec), scaling.State{Metrics: waiting(spec, depth), Jobs: &scaling.JobCounts{}})
	return int32(decision.Trace.Load.Target)
}
