package horizontal_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/horizontal"
)

// The next step of a HorizontalPodAutoscaler with an External metric.
func ExampleDecide() {
	policy := horizontal.DefaultPolicy(20)
	decision := horizontal.Decide(policy, horizontal.Observation{
		Now:            time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Replicas:       3,
		StatusReplicas: 3,
		Metrics: []horizontal.Metric{
			{Name: "queue", TargetType: horizontal.AverageValue, Target: 5_000, Values: []int64{42_000}}, // 42 items, 5 per replica
		},
	}, horizontal.Checkpoint{})
	fmt.Println(decision)
	fmt.Println(decision.ScalingLimited.Reason)
	// Output:
	// replicas 3 -> 6: a limit of the rate; "queue" asks for 9; limited to 6
	// ScaleUpLimit
}

// Ten polls, a minute apart, with a behavior that adds 2 replicas a minute and removes a
// quarter after five minutes.
func ExampleDecision_Written() {
	policy := horizontal.DefaultPolicy(20)
	policy.Behavior = &horizontal.Behavior{
		Up: horizontal.ScalingRules{Policies: []horizontal.ScalingPolicy{
			{Type: horizontal.PodsPolicy, Value: 2, Period: time.Minute}}},
		Down: horizontal.ScalingRules{Policies: []horizontal.ScalingPolicy{
			{Type: horizontal.PercentPolicy, Value: 25, Period: time.Minute}}},
	}
	var checkpoint horizontal.Checkpoint
	now, replicas := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), int32(2)
	for _, queue := range []int64{20, 20, 20, 5, 5, 5, 5, 5, 5, 5} {
		decision := horizontal.Decide(policy, horizontal.Observation{
			Now: now, Replicas: replicas, StatusReplicas: replicas,
			Metrics: []horizontal.Metric{{TargetType: horizontal.AverageValue, Target: 3_000, Values: []int64{queue * 1000}}},
		}, checkpoint)
		checkpoint = decision.Checkpoint
		if decision.Replicas != replicas { // after the write succeeded
			checkpoint, replicas = decision.Written(), decision.Replicas
		}
		fmt.Print(replicas, " ", decision.Reason, "; ")
		now = now.Add(time.Minute)
	}
	// Output: 4 Limited; 6 Limited; 7 Metrics; 7 Stabilized; 7 Stabilized; 7 Stabilized; 7 Stabilized; 5 Limited; 3 Limited; 2 Metrics;
}
