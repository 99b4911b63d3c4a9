package scaling_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

// Machines for the agents of a CI: one for two jobs, at least 1, at most 10. A machine serves
// many jobs, so that idle machines are drained.
func ExampleDecision_Surplus() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 10, Mode: scaling.Floor}, Strategy: strategy.Default{}}
	machines := int64(0)
	for _, jobs := range []float64{7, 30, 4, 0} { // waiting and running CI jobs
		d := scaling.Decide(policy, scaling.Observation{
			Metrics: []scaling.Metric{{Name: "CI jobs", Value: jobs, Target: 2}},
			Jobs:    &scaling.JobCounts{Running: machines},
		})
		drain := d.Surplus(policy)
		machines += d.Create - drain.Workers
		fmt.Printf("%2g jobs: start %d, drain %d (%s): %d machines\n", jobs, d.Create, drain.Workers, drain.Reason, machines)
	}
	// Output:
	//  7 jobs: start 4, drain 0 (more workers are needed): 4 machines
	// 30 jobs: start 6, drain 0 (more workers are needed): 10 machines
	//  4 jobs: start 0, drain 8 (above the strategy's target and the minimum): 2 machines
	//  0 jobs: start 0, drain 1 (above the strategy's target and the minimum): 1 machines
}

// After the surplus is drained, no poll of the same demand creates or drains a worker.
func propSurplus(t *rapid.T, c *premise.Counts) {
	count := rapid.Int64Range(0, 30)
	policy := scaling.Policy{
		Bounds:   scaling.Bounds{Min: count.Draw(t, "min"), Max: count.Draw(t, "max"), Mode: rapid.SampledFrom([]scaling.MinMode{scaling.Additive, scaling.Floor}).Draw(t, "mode")},
		Strategy: rapid.SampledFrom([]strategy.Strategy{strategy.Default{}, strategy.PendingAware{}, strategy.Accurate{}, strategy.Eager{}}).Draw(t, "strategy"),
	}
	s := scaling.Observation{
		Metrics: []scaling.Metric{{Name: "queue", Value: float64(count.Draw(t, "queue")), Target: 2}},
		Jobs:    &scaling.JobCounts{Running: count.Draw(t, "running")},
	}
	n := scaling.Decide(policy, s).Surplus(policy).Workers
	c.Note("drains", n > 0)
	if n == 0 {
		return
	}
	if n > s.Jobs.Running {
		t.Fatalf("drains %d of %d", n, s.Jobs.Running)
	}
	s.Jobs.Running -= n
	after := scaling.Decide(policy, s)
	if again := after.Surplus(policy).Workers; after.Create != 0 || again != 0 {
		t.Fatalf("creates %d and drains %d after %d were drained", after.Create, again, n)
	}
}

func TestSurplus(t *testing.T) { premise.Check(t, propSurplus, premise.Least{"drains": 0.15}) }
func FuzzSurplus(f *testing.F) { premise.Fuzz(f, propSurplus) }
