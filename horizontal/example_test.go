package horizontal_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/horizontal"
)

// The next step of a HorizontalPodAutoscaler with an External metric.
func ExampleDecide() {
	policy := horizontal.DefaultPolicy(20)
	decision := horizontal.Decide(policy, horizontal.State{}, horizontal.Observation{
		Now:            time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Replicas:       3,
		StatusReplicas: 3,
		Metrics: []horizontal.Metric{
			{Name: "queue", Target: horizontal.AverageValue, Amount: 5_000, Values: []int64{42_000}}, // 42 items, 5 per replica
		},
	})
	fmt.Println(decision)
	fmt.Println(decision.Limited.Reason)
	// Output:
	// replicas 3 -> 6 (limited); "queue" asks for 9; limited to 6
	// ScaleUpLimit
}

// Ten polls, a minute apart, with a behavior that adds 2 replicas a minute and removes a
// quarter after five minutes.
func ExampleState_Record() {
	policy := horizontal.DefaultPolicy(20)
	policy.Behavior = &horizontal.Behavior{
		Up: horizontal.Rules{Policies: []horizontal.Limit{
			{Type: horizontal.Pods, Value: 2, Period: time.Minute}}},
		Down: horizontal.Rules{Window: 5 * time.Minute, Policies: []horizontal.Limit{
			{Type: horizontal.Percent, Value: 25, Period: time.Minute}}},
	}
	var state horizontal.State
	now, replicas := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), int32(2)
	for _, queue := range []int64{20, 20, 20, 5, 5, 5, 5, 5, 5, 5} {
		decision := horizontal.Decide(policy, state, horizontal.Observation{
			Now: now, Replicas: replicas, StatusReplicas: replicas,
			Metrics: []horizontal.Metric{{Target: horizontal.AverageValue, Amount: 3_000, Values: []int64{queue * 1000}}},
		})
		state.Record(policy, decision)
		if decision.Replicas != replicas { // after the write succeeded
			state.Wrote(policy, decision)
			replicas = decision.Replicas
		}
		fmt.Print(replicas, " ", decision.Rule, "; ")
		now = now.Add(time.Minute)
	}
	// Output: 4 limited; 6 limited; 7 metrics; 7 stabilized; 7 stabilized; 7 stabilized; 7 stabilized; 5 limited; 3 limited; 2 metrics;
}
