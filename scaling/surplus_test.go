package scaling_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

// Machines for the agents of a CI: one for two jobs, at least 1, at most 10. A machine serves
// many jobs, so that idle machines are drained.
func ExampleDecision_surplus() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 10, Mode: scaling.Floor}, Strategy: strategy.Default{}}
	machines := int64(0)
	for _, jobs := range []float64{7, 30, 4, 0} { // waiting and running CI jobs
		d := scaling.Decide(policy, scaling.Observation{
			Metrics: []scaling.Metric{{Name: "CI jobs", Value: jobs, Target: 2}},
			Jobs:    &scaling.JobCounts{Running: machines},
		})
		machines += d.Create - d.Surplus.Jobs
		fmt.Printf("%2g jobs: start %d, drain %d (%s): %d machines\n", jobs, d.Create, d.Surplus.Jobs, d.Surplus.Reason.Text(), machines)
	}
	// Output:
	//  7 jobs: start 4, drain 0 (Jobs are created): 4 machines
	// 30 jobs: start 6, drain 0 (Jobs are created): 10 machines
	//  4 jobs: start 0, drain 8 (more Jobs run than are desired): 2 machines
	//  0 jobs: start 0, drain 1 (more Jobs run than are desired): 1 machines
}

// drawSurplus draws a poll with pending and stuck workers, and metrics that can all be read.
func drawSurplus(t *rapid.T) poll {
	count := rapid.Int64Range(0, 30)
	p := poll{Policy: scaling.Policy{
		Bounds: scaling.Bounds{Min: count.Draw(t, "min"), Max: pick(t, "max", count.Draw(t, "most"), 40, scaling.NoMax),
			Mode: pick(t, "mode", scaling.Additive, scaling.Floor)},
		Aggregation: pick(t, "aggregation", scaling.Max, scaling.Min, scaling.Avg, scaling.Sum),
		Strategy: pick[strategy.Strategy](t, "strategy", strategy.PendingAware{}, strategy.Default{}, nil, strategy.Total{Strategy: halving},
			strategy.Accurate{}, strategy.Eager{}),
	}}
	for range pick(t, "metrics", 1, 2, 3) {
		p.Metrics = append(p.Metrics, scaling.Metric{Value: float64(count.Draw(t, "queue")), Target: 2})
	}
	p.Jobs = &scaling.JobCounts{Running: count.Draw(t, "running"), InFlight: pick[int64](t, "in flight", 0, 1), Terminating: pick[int64](t, "terminating", 0, 2)}
	p.Jobs.Pending = min(p.Jobs.Running, pick[int64](t, "pending", 0, 3, 9))
	p.Jobs.Stuck = min(p.Jobs.Pending, pick[int64](t, "stuck", 0, 2, 9))
	return p
}

// halving creates half of the missing Jobs in each poll, rounded up.
var halving = strategy.Func(func(l strategy.Load) int64 { return (max(0, l.Target-l.Running) + 1) / 2 })

// While the metrics stay, no worker that was drained is created again, also while it is
// terminating, and nothing more is drained.
func propSurplus(t *rapid.T, c *premise.Counts) {
	p := drawSurplus(t)
	d := p.decide()
	n := d.Surplus.Jobs
	c.Note("drains", n > 0)
	c.Note("drains beside stuck Jobs", n > 0 && d.Trace.Jobs.Stuck > 0)
	if n == 0 {
		return
	}
	if n > p.Jobs.Running+p.Jobs.InFlight || d.Create > 0 || !d.Surplus.Known {
		t.Fatalf("drains %d: %s", n, d)
	}
	inFlight := min(n, p.Jobs.InFlight) // none of these is stuck
	p.Jobs.InFlight -= inFlight
	p.Jobs.Running -= n - inFlight
	for _, terminating := range []int64{n, 0} {
		p.Jobs.Terminating += terminating
		after := p.decide()
		if after.Create > 0 || after.Surplus.Jobs > 0 {
			t.Fatalf("drained %d, then creates %d and drains %d\n%s", n, after.Create, after.Surplus.Jobs, d)
		}
		p.Jobs.Terminating -= terminating
	}
}

func TestSurplus(t *testing.T) {
	premise.Check(t, propSurplus, premise.Least{"drains": 0.1, "drains beside stuck Jobs": 0.02})
}
func FuzzSurplus(f *testing.F) { premise.Fuzz(f, propSurplus) }

// With one metric and one item per Job, at most the workers without an item are drained.
func TestSurplusLeavesBusyWorkers(t *testing.T) {
	for _, mode := range []scaling.MinMode{scaling.Additive, scaling.Floor} {
		for running := range int64(9) {
			for busy := range running + 1 {
				for waiting := range int64(4) {
					for least := range int64(4) {
						d := scaling.Decide(scaling.Policy{Bounds: scaling.Bounds{Min: least, Max: 20, Mode: mode}}, scaling.Observation{
							Metrics: []scaling.Metric{{Value: float64(busy + waiting), Target: 1}}, Jobs: &scaling.JobCounts{Running: running},
						})
						require.LessOrEqual(t, d.Surplus.Jobs, running-busy, "%s", d)
					}
				}
			}
		}
	}
}

// Desired and Surplus have a reason if they are not known.
func TestDesired(t *testing.T) {
	metric := scaling.Metric{Value: 5, Target: 1}
	decide := func(change func(*poll)) scaling.Decision {
		p := poll{scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 6}}, scaling.Observation{Metrics: []scaling.Metric{metric}, Jobs: &scaling.JobCounts{Running: 9}}}
		change(&p)
		return p.decide()
	}
	for name, c := range map[string]struct {
		change           func(*poll)
		desired, surplus scaling.Count
	}{
		"the maximum": {func(*poll) {}, scaling.Count{Jobs: 6, Known: true, Reason: scaling.ReasonMax}, scaling.Count{Jobs: 3, Known: true, Reason: scaling.ReasonAboveDesired}},
		"the queue": {func(p *poll) { p.Bounds.Max, p.Jobs.Stuck, p.Jobs.Pending = 20, 2, 2 },
			scaling.Count{Jobs: 7, Known: true, Reason: scaling.ReasonDemand}, scaling.Count{Known: true, Reason: scaling.ReasonNeeded}},
		"a floor": {func(p *poll) { p.Bounds.Mode, p.Metrics[0].Value = scaling.Floor, 1 },
			scaling.Count{Jobs: 2, Known: true, Reason: scaling.ReasonMin}, scaling.Count{Jobs: 7, Known: true, Reason: scaling.ReasonAboveDesired}},
		"no demand": {func(p *poll) { p.Metrics[0].Value = 0 },
			scaling.Count{Jobs: 2, Known: true, Reason: scaling.ReasonInactive}, scaling.Count{Jobs: 7, Known: true, Reason: scaling.ReasonAboveDesired}},
		"creates":      {func(p *poll) { p.Jobs.Running = 1 }, scaling.Count{Jobs: 6, Known: true, Reason: scaling.ReasonMax}, scaling.Count{Known: true, Reason: scaling.ReasonCreating}},
		"unknown Jobs": {func(p *poll) { p.Jobs = nil }, scaling.Count{Jobs: 6, Known: true, Reason: scaling.ReasonMax}, scaling.Count{Reason: scaling.ReasonJobsUnknown}},
		"paused":       {func(p *poll) { p.Paused = true }, scaling.Count{Reason: scaling.ReasonPaused}, scaling.Count{Reason: scaling.ReasonPaused}},
		"a failure": {func(p *poll) { p.Metrics = append(p.Metrics, scaling.Metric{Failed: true}) },
			scaling.Count{Reason: scaling.ReasonPartlyRead}, scaling.Count{Reason: scaling.ReasonPartlyRead}},
		"no metric": {func(p *poll) { p.Metrics = nil }, scaling.Count{Reason: scaling.ReasonPartlyRead}, scaling.Count{Reason: scaling.ReasonPartlyRead}},
		"waiting items only": {func(p *poll) { p.Metrics[0].WaitingOnly = true },
			scaling.Count{Reason: scaling.ReasonWaitingOnly}, scaling.Count{Reason: scaling.ReasonWaitingOnly}},
		"accurate": {func(p *poll) { p.Strategy = strategy.Accurate{} }, scaling.Count{Reason: scaling.ReasonPartialTarget}, scaling.Count{Reason: scaling.ReasonPartialTarget}},
	} {
		d := decide(c.change)
		require.Equal(t, c.desired, d.Desired, name)
		require.Equal(t, c.surplus, d.Surplus, name)
		require.NotEmpty(t, d.Desired.Reason.Text(), name)
	}
}

// Half a minute of cooldown: what was never needed in it is drained.
func TestCooldown(t *testing.T) {
	start, c, last := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), scaling.Cooldown{Period: 30 * time.Second}, scaling.CooldownCheckpoint{}
	for _, step := range []struct {
		second         int
		surplus, drain int64
		next           int // seconds; 0 is none
	}{
		{0, 5, 0, 30}, {10, 3, 0, 30}, {20, 4, 0, 30}, {30, 4, 3, 60}, {45, 1, 0, 60}, {60, 2, 1, 90},
		{70, 0, 0, 0}, {80, 6, 0, 110}, {75, 6, 0, 105}, {105, 6, 6, 0},
	} {
		now := start.Add(time.Duration(step.second) * time.Second)
		d := c.Decide(scaling.CooldownObservation{Now: now, Surplus: scaling.Count{Jobs: step.surplus, Known: true}}, last)
		require.Equal(t, step.drain, d.Jobs, "%+v", step)
		require.Equal(t, step.next != 0, !d.NextCheck.IsZero(), "%+v", step)
		if step.next != 0 {
			require.Equal(t, start.Add(time.Duration(step.next)*time.Second), d.NextCheck, "%+v", step)
		}
		last = roundTrip(t, d).Checkpoint
	}
	require.Zero(t, c.Decide(scaling.CooldownObservation{Now: start, Surplus: scaling.Count{Jobs: 9}}, last), "not known")
	require.Equal(t, int64(4), scaling.Cooldown{}.Decide(scaling.CooldownObservation{Surplus: scaling.Count{Jobs: 4, Known: true}}, scaling.CooldownCheckpoint{}).Jobs)
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"period":"30s"}`, string(data))
	require.Equal(t, c, roundTrip(t, c))
}
