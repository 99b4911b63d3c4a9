package conformance

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/strategy"
)

// samePoll compares a whole poll: how many Jobs are created, as what, which
// finished ones are deleted, and whether KEDA panics.
func samePoll(t tb, j *keda.ScaledJob, s keda.State, jobs []keda.Job) {
	if !s.JobsUnknown {
		counts := profile.Count(j, jobs)
		s.Running, s.Pending = counts.Running, counts.Pending
	}
	c := clusterOf(j, jobs)
	c.broken = s.JobsUnknown
	panicked := panics(func() {
		operator := operatorOf(j)
		d := demand(operator, s.Scalers)
		newOperator(c)(operator, d.active, d.queueLength, d.maxScale)
	})
	d := profile.Decide(j, s)
	of := func() string { return fmt.Sprintf("%+v\n%+v\n%+v\n%s", j, s, jobs, d) }
	same(t, [2]any{min(d.Create, endless), d.Fault.Panics() || d.Create >= endless}, [2]any{int64(len(c.created)), panicked}, of)
	if panicked || s.JobsUnknown {
		same(t, 0, len(c.deleted), of)
		return
	}
	same(t, fmt.Sprint(deleted(j, jobs)), fmt.Sprint(c.deleted), of)
}

// deleted names the Jobs that the model deletes.
func deleted(j *keda.ScaledJob, jobs []keda.Job) []string {
	var names []string
	for _, i := range profile.History(j, jobs).Deleted {
		names = append(names, jobs[i].Name)
	}
	return names
}

// Every strategy, queue length, target, minimum and maximum that make a
// difference, with up to five Jobs of which up to all are pending.
func TestPolls(t *testing.T) {
	strategies := []keda.ScalingStrategy{{}, {Strategy: "accurate"}, {Strategy: "eager"},
		{Strategy: "custom", Parameters: strategy.Parameters{CustomScalingRunningJobPercentage: "0.5"}},
		{Strategy: "custom", Parameters: strategy.Parameters{CustomScalingRunningJobPercentage: "0.5", CustomScalingQueueLengthDeduction: new(int32(1))}},
	}
	for running := range 6 {
		for pending := range running + 1 {
			jobs := atWork(running, pending)
			for _, strategy := range strategies {
				for i := range 6 * 3 * len(small) * len(small) {
					j := &keda.ScaledJob{Name: "orders", Namespace: "shop"}
					j.Spec.ScalingStrategy = strategy
					j.Spec.MinReplicaCount, j.Spec.MaxReplicaCount = small[i/18%len(small)], small[i/18/len(small)]
					m := keda.Metric{Name: "a", Value: []float64{0, 1, 3, 4.5, 9, 20}[i%6], AverageValue: []float64{0, 0.5, 2}[i/6%3]}
					samePoll(t, j, keda.State{Scalers: []keda.Scaler{{Metrics: []keda.Metric{m}, Activity: activity(i%5 > 0)}}}, jobs)
				}
			}
		}
	}
}

// atWork returns unfinished Jobs, some of which are pending.
func atWork(running, pending int) []keda.Job {
	jobs := make([]keda.Job, running)
	for i := range jobs {
		jobs[i].Name = fmt.Sprint("orders-", i)
		if i >= pending {
			jobs[i].Pods = []keda.Pod{{Phase: "Running"}}
		}
	}
	return jobs
}

func TestRandomPolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawScaledJob(t)
		j.Spec.SuccessfulJobsHistoryLimit = oneOf(t, "succeeded", nil, new(int32(0)), new(int32(1)), new(int32(3)))
		j.Spec.FailedJobsHistoryLimit = oneOf(t, "failed", nil, new(int32(0)), new(int32(1)), new(int32(3)))
		j.Spec.ScalingStrategy.PendingPodConditions = drawConditions(t)
		s := keda.State{Scalers: drawScalers(t), JobsUnknown: rapid.IntRange(0, 19).Draw(t, "broken") == 0}
		samePoll(t, j, s, drawJobs(t, 8))
	})
}

func drawConditions(t *rapid.T) []string {
	return oneOf(t, "pendingPodConditions", nil, nil, []string{"Ready"}, []string{"Ready", "PodScheduled"},
		[]string{"Ready", "Ready"}, []string{"PodScheduled", "Initialized", "Ready"})
}

// Running and pending Jobs, told apart by what default and accurate create.
func TestRandomCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := &keda.ScaledJob{Name: "orders", Namespace: "shop"}
		j.Spec.MaxReplicaCount = new(int32(1000))
		j.Spec.ScalingStrategy.PendingPodConditions = drawConditions(t)
		jobs := drawJobs(t, 15)
		counts := profile.Count(j, jobs)
		created := func(strategy string) int64 {
			j.Spec.ScalingStrategy.Strategy = strategy
			c := clusterOf(j, jobs)
			newOperator(c)(operatorOf(j), true, 20, 20)
			return int64(len(c.created))
		}
		same(t, counts, keda.JobCounts{Running: 20 - created("default"), Pending: 20 - created("accurate")},
			func() string { return fmt.Sprintf("%+v of %+v", j.Spec.ScalingStrategy, jobs) })
	})
}

// More Jobs than insertion sort takes, so that ties are broken as KEDA's sort
// does, and limits below 0.
func TestRandomHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Map(rapid.Int32Range(-2, 30), func(n int32) *int32 { return &n })
		j := &keda.ScaledJob{Name: "orders", Namespace: "shop"}
		j.Spec.SuccessfulJobsHistoryLimit, j.Spec.FailedJobsHistoryLimit = limit.Draw(t, "succeeded"), limit.Draw(t, "failed")
		jobs := drawFinished(t)
		c := clusterOf(j, jobs)
		panicked := panics(func() { newOperator(c)(operatorOf(j), false, 0, 0) })
		model := profile.History(j, jobs)
		of := func() string { return fmt.Sprintf("%+v of %+v", j.Spec, jobs) }
		if model.Fault == keda.NoFault {
			same(t, fmt.Sprint(deleted(j, jobs), false), fmt.Sprint(c.deleted, panicked), of)
			return
		}
		// Whether KEDA panics or stops at a Job without a name depends on its memory.
		before := deleted(j, jobs)
		same(t, true, len(c.deleted) >= len(before) && slices.Equal(before, c.deleted[:len(before)]), of)
		if !panicked {
			all := len(before) + outcomes(jobs, len(before) == 0 && *j.Spec.SuccessfulJobsHistoryLimit < 0)
			same(t, all, len(c.deleted), of)
		}
	})
}

// outcomes counts the Jobs that succeeded, or those that failed.
func outcomes(jobs []keda.Job, succeeded bool) int {
	n := 0
	for _, j := range jobs {
		if j.Conditions[0].Type == "Complete" == succeeded {
			n++
		}
	}
	return n
}

// drawFinished draws finished Jobs that have a time, have none, or differ in it.
func drawFinished(t *rapid.T) []keda.Job {
	jobs := make([]keda.Job, rapid.IntRange(0, 40).Draw(t, "jobs"))
	latest := oneOf(t, "latest", 0, 2, 9, 59)
	for i := range jobs {
		jobs[i].Name = fmt.Sprintf("orders-%02d", i)
		jobs[i].Conditions = []keda.Condition{{Type: oneOf(t, "outcome", "Complete", "Failed"), Status: "True"}}
		if n := rapid.IntRange(0, latest).Draw(t, "completed"); n > 0 {
			jobs[i].CompletionTime = minute(n)
		}
	}
	return jobs
}
