package scaledobject_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/horizontal"
	"github.com/scaledjob/scaledjob/horizontal/scaledobject"
)

// A queue fills and is emptied. The workload goes from 0 to the minimum, follows the queue as fast as
// the autoscaler allows, and returns to 0 after the cooldown.
func ExampleDecide() {
	policy, checkpoint := scaledobject.DefaultPolicy(), scaledobject.Checkpoint{}
	policy.Cooldown = time.Minute
	now, replicas := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), int32(0)
	for _, queue := range []int64{0, 40, 40, 0, 0, 0} {
		decision := scaledobject.Decide(policy, scaledobject.Observation{
			Now: now, Replicas: replicas, StatusReplicas: replicas, Fresh: true,
			Triggers: []scaledobject.Trigger{{
				Name:   "orders",
				Active: queue > 0,
				Metric: horizontal.Metric{Name: "orders", TargetType: horizontal.AverageValue, Target: 5_000, Values: []int64{queue * 1000}},
			}},
		}, checkpoint)
		checkpoint = decision.Checkpoint
		if decision.Replicas != replicas { // after the write succeeded
			checkpoint, replicas = decision.Written(), decision.Replicas
		}
		fmt.Println(queue, "items:", replicas, "replicas,", decision.Reason)
		now = now.Add(30 * time.Second)
	}
	// Output:
	// 0 items: 0 replicas, Autoscaler
	// 40 items: 1 replicas, Activated
	// 40 items: 4 replicas, Autoscaler
	// 0 items: 8 replicas, Autoscaler
	// 0 items: 8 replicas, Autoscaler
	// 0 items: 0 replicas, Deactivated
}
