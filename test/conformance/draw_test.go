package conformance

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// small are the bounds under which a poll creates few Jobs.
var small = []*int32{nil, new(int32(-3)), new(int32(0)), new(int32(1)), new(int32(2)), new(int32(5)), new(int32(12))}

func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func drawScaledJob(t *rapid.T) *keda.ScaledJob {
	return &keda.ScaledJob{
		Name: "orders", Namespace: "shop", Generation: 7,
		Spec: keda.Spec{
			MinReplicaCount: oneOf(t, "min", small...),
			MaxReplicaCount: oneOf(t, "max", small...),
			ScalingStrategy: keda.ScalingStrategy{
				Strategy: oneOf(t, "strategy", "", "default", "accurate", "eager", "custom", "custom", "other"),
				Parameters: strategy.Parameters{
					CustomScalingQueueLengthDeduction: oneOf(t, "deduction", nil, new(int32(0)), new(int32(2)), new(int32(-4))),
					CustomScalingRunningJobPercentage: oneOf(t, "percentage", percentages...),
				},
				MultipleScalersCalculation: oneOf(t, "calculation", "", "max", "min", "avg", "sum", "median"),
			},
		},
	}
}

// activity says that a scaler is active, or that it is not.
func activity(active bool) scaling.Activity {
	if active {
		return scaling.Active
	}
	return scaling.Inactive
}

// drawScalers draws scalers of one metric, and of several.
func drawScalers(t *rapid.T) []keda.Scaler {
	value := rapid.Map(rapid.OneOf(rapid.IntRange(0, 20_000), rapid.Map(rapid.IntRange(0, 20), func(n int) int { return n * 1000 }),
		rapid.IntRange(-3000, 0)), func(thousandths int) float64 { return asRead(float64(thousandths) / 1000) })
	scalers := make([]keda.Scaler, rapid.IntRange(0, 3).Draw(t, "scalers"))
	for i := range scalers {
		s := keda.Scaler{Activity: activity(rapid.IntRange(0, 4).Draw(t, "active") > 0), Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0}
		for range oneOf(t, "metrics", 1, 1, 1, 2, 3) {
			m := keda.Metric{
				Name: oneOf(t, "name", "a", "a", "b"), Value: value.Draw(t, "value"), AverageValue: value.Draw(t, "target"),
				Failed: rapid.IntRange(0, 9).Draw(t, "metric failed") == 0,
			}
			if rapid.IntRange(0, 4).Draw(t, "metric active") == 0 {
				m.Activity = scaling.Active
			}
			switch rapid.IntRange(0, 39).Draw(t, "odd") {
			case 0:
				m = keda.Metric{Resource: true}
			case 1:
				m.Value = asRead(oneOf(t, "huge", 1<<62, 9.2e18, -9.2e18))
			}
			s.Metrics = append(s.Metrics, m)
		}
		scalers[i] = s
	}
	return scalers
}

// drawJobs draws Jobs in each state, with names in the order in which they are
// listed.
func drawJobs(t *rapid.T, most int) []keda.Job {
	jobs := make([]keda.Job, rapid.IntRange(0, most).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i].Name = fmt.Sprintf("orders-%02d", i)
		for range oneOf(t, "conditions", 0, 0, 1, 1, 2) {
			jobs[i].Conditions = append(jobs[i].Conditions, keda.Condition{
				Type:   oneOf(t, "condition", "Complete", "Failed", "Suspended", "FailureTarget"),
				Status: oneOf(t, "status", "True", "True", "False", "Unknown"),
			})
		}
		if n := rapid.IntRange(0, 5).Draw(t, "completed"); n > 0 {
			jobs[i].CompletionTime = minute(n)
		}
		jobs[i].Pods = drawPods(t)
	}
	return jobs
}

func drawPods(t *rapid.T) []keda.Pod {
	pods := make([]keda.Pod, oneOf(t, "pods", 0, 1, 1, 2, 3))
	for i := range pods {
		pods[i].Phase = oneOf(t, "phase", "Pending", "Running", "Succeeded", "Failed", "Unknown", "")
		for range oneOf(t, "pod conditions", 0, 1, 2, 2) {
			pods[i].Conditions = append(pods[i].Conditions, keda.Condition{
				Type: oneOf(t, "type", "Ready", "PodScheduled", "Initialized"), Status: oneOf(t, "is", "True", "True", "False"),
			})
		}
	}
	return pods
}
