package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

func seconds(n int64) simulation.Duration { return simulation.Duration(n) * second }

// Two items, a poll every 10 s, pods that take 2 s to start and 5 s for an item. The
// second item arrives when the first Job is starting: 2 items, 1 Job running, one more
// at the next poll.
func TestTimeline(t *testing.T) {
	s := scenario{Scenario: simulation.Scenario{
		Queues: []simulation.Queue{{
			Trace:   []simulation.Arrival{{At: seconds(1)}, {At: seconds(11)}},
			Service: simulation.Fixed(5 * time.Second),
		}},
		Jobs: simulation.JobBehavior{Startup: simulation.Fixed(2 * time.Second)},
	}}
	s.Policy.Spec.PollingInterval = new(int32(10))
	var got []string
	r, err := simulation.Run(s.built(), simulation.Options{Observe: func(e simulation.Event) { got = append(got, e.String()) }})
	require.NoError(t, err)
	require.Equal(t, []string{
		"0s polled: 0",
		"1s item 1 arrived",
		"10s Job 1 created", // T=1, R=0
		"10s Job 1 scheduled",
		"10s polled: 1",
		"11s item 2 arrived",
		"12s Job 1 started",
		"12s item 1 delivered to Job 1",
		"17s item 1 done by Job 1",
		"17s Job 1 succeeded",
		"20s Job 2 created", // T=1, R=0
		"20s Job 2 scheduled",
		"20s polled: 1",
		"22s Job 2 started",
		"22s item 2 delivered to Job 2",
		"27s item 2 done by Job 2",
		"27s Job 2 succeeded",
		"30s polled: 0",
	}, got)

	require.Equal(t, simulation.Summary{
		Policy: "default, every 10s", Seconds: 30,
		Arrived: 2, Done: 2,
		Wait:        simulation.Times{Mean: 11, P50: 11, P95: 11, P99: 11, Max: 11}, // 1 to 12 s, 11 to 22 s
		PeakQueue:   2,
		JobsCreated: 2, PeakJobs: 1,
		BusySeconds: 10, IdleSeconds: 4, Polls: 4, LongestPending: 2,
		Rules: []simulation.RuleCount{
			{Rule: "no metric is active, so the minimum only", Polls: 2},
			{Rule: "the strategy's proposal", Polls: 2},
		},
	}, r.Summary)
	require.Equal(t, simulation.Tick{
		Seconds: 20, Metric: 1, Created: 1, Rule: "the strategy's proposal", Queued: 1, Done: 1, Running: 1, Pending: 1, Work: 5, Offered: 10,
	}, r.Ticks[2])
}
