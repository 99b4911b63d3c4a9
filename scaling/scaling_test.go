package scaling_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func TestZeroValuesCreateNothing(t *testing.T) {
	queue := []scaling.Metric{{Value: 9, Target: 1}}
	require.Equal(t, scaling.ReasonJobsUnknown, scaling.Decide(scaling.DefaultPolicy(), scaling.Observation{Metrics: queue}).Reason)
	require.Zero(t, scaling.Decide(scaling.Policy{}, scaling.Observation{Metrics: queue, Jobs: &scaling.JobCounts{}}).Create)
	require.Zero(t, scaling.Decide(scaling.DefaultPolicy(), scaling.Observation{Metrics: make([]scaling.Metric, 1), Jobs: &scaling.JobCounts{}}).Create)
	require.Equal(t, "nothing was decided", scaling.Decision{}.Reason.Text())
}

// A quotient is rounded up, unless it is within one part in 10^9 of a whole number. A
// queue that is not empty asks for a Job, and a sum of 2^63 and above is infinite.
func TestRounding(t *testing.T) {
	const huge, tiny = 1 << 63, math.SmallestNonzeroFloat64
	most := int64(math.MaxInt64)
	for _, tt := range []struct {
		values []float64
		target float64
		jobs   int64
		queue  float64 // of their sum
	}{
		{[]float64{0}, 1, 0, 0},
		{[]float64{tiny}, 1, 1, tiny},
		{[]float64{tiny}, math.MaxFloat64, 1, tiny},
		{[]float64{1}, 1, 1, 1},
		{[]float64{1.1}, 1, 2, 1.1},
		{[]float64{2.1}, 0.3, 7, 2.1},
		{[]float64{250_000_000.25}, 1, 250_000_000, 250_000_000.25},
		{[]float64{249_999_999.25}, 1, 250_000_000, 249_999_999.25},
		{[]float64{1e9 + 0.5}, 1, 1e9 + 1, 1e9 + 0.5},
		{[]float64{2e9 + 0.75}, 1, 2e9 + 1, 2e9 + 0.75},
		{[]float64{huge}, 1, most, math.Inf(1)},
		{[]float64{huge / 2}, 1, 1 << 62, huge / 2},
		{[]float64{huge / 2, huge / 2}, 1, most, math.Inf(1)},
		{[]float64{huge / 2, huge / 2, huge / 2, huge / 2, 1}, 1, most, math.Inf(1)},
		{[]float64{huge / 2, huge/2 - 1024}, 1, math.MaxInt64 - 1023, huge - 1024},
		{[]float64{0.75, 0.75, 0.5}, 1, 2, 2},
	} {
		var metrics []scaling.Metric
		for _, value := range tt.values {
			metrics = append(metrics, scaling.Metric{Value: value, Target: tt.target, Activity: scaling.Active})
		}
		d := scaling.Aggregate(scaling.Sum, metrics, false)
		require.Equal(t, tt.jobs, d.Jobs, "%+v", tt)
		require.Equal(t, tt.queue, d.Queue, "%+v", tt)
		if len(metrics) == 1 {
			for _, a := range []scaling.Aggregation{scaling.Max, scaling.Min, scaling.Avg} {
				require.Equal(t, tt.jobs, scaling.Aggregate(a, metrics, false).Jobs, "%s %+v", a, tt)
			}
		}
	}
}

// The rule names the first reason in the order of Rule's comment.
func TestRules(t *testing.T) {
	asks := func(n float64) []scaling.Metric { return []scaling.Metric{{Value: n, Target: 1}} }
	failed := append(asks(3), scaling.Metric{Failed: true})
	for _, tt := range []struct {
		name    string
		policy  scaling.Policy
		metrics []scaling.Metric
		jobs    scaling.JobCounts
		create  int64
		rule    scaling.Reason
	}{
		{"the strategy", scaling.Policy{Bounds: scaling.Bounds{Max: 9}}, asks(3), scaling.JobCounts{}, 3, scaling.ReasonStrategy},
		{"no more than the maximum, of its own accord", scaling.Policy{Bounds: scaling.Bounds{Max: 3}}, asks(3), scaling.JobCounts{}, 3, scaling.ReasonStrategy},
		{"nothing to do, without a minimum", scaling.Policy{Bounds: scaling.Bounds{Max: 9}}, asks(3), scaling.JobCounts{Running: 3}, 0, scaling.ReasonStrategy},
		{"more than the maximum", scaling.Policy{Bounds: scaling.Bounds{Max: 3}}, asks(4), scaling.JobCounts{}, 3, scaling.ReasonMax},
		{"more than is left beside the minimum", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 4}}, asks(3), scaling.JobCounts{}, 4, scaling.ReasonMax},
		{"terminating Jobs", scaling.Policy{Bounds: scaling.Bounds{Max: 4}}, asks(3), scaling.JobCounts{Terminating: 2}, 2, scaling.ReasonMax},
		{"the minimum", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9, Mode: scaling.Floor}}, asks(1), scaling.JobCounts{}, 2, scaling.ReasonMin},
		{"a single Job of the minimum", scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 9, Mode: scaling.Floor}}, asks(1), scaling.JobCounts{}, 1, scaling.ReasonMin},
		{"the minimum and the queue", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9}}, asks(1), scaling.JobCounts{}, 3, scaling.ReasonStrategy},
		{"the minimum, as terminating Jobs leave it", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 4}}, asks(0), scaling.JobCounts{Terminating: 3}, 1, scaling.ReasonMax},
		{"inactive", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9}}, asks(0), scaling.JobCounts{Running: 1}, 1, scaling.ReasonInactive},
		{"some unreadable", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9}}, failed, scaling.JobCounts{}, 5, scaling.ReasonStrategy},
		{"held", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9}, HoldOnFailure: true}, failed, scaling.JobCounts{}, 2, scaling.ReasonHeld},
		{"all readable", scaling.Policy{Bounds: scaling.Bounds{Max: 9}, HoldOnFailure: true}, asks(3), scaling.JobCounts{}, 3, scaling.ReasonStrategy},
		{"unreadable", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9}}, failed[1:], scaling.JobCounts{}, 2, scaling.ReasonUnreadable},
		{"no metrics", scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 9}}, nil, scaling.JobCounts{}, 2, scaling.ReasonInactive},
	} {
		d := scaling.Decide(tt.policy, scaling.Observation{Metrics: tt.metrics, Jobs: &tt.jobs})
		require.Equal(t, tt.create, d.Create, "%s\n%s", tt.name, d)
		require.Equal(t, tt.rule, d.Reason, "%s\n%s", tt.name, d)
	}
}

// Each line says what was read, and leaves out what there is none of.
func TestTraceText(t *testing.T) {
	queues := []scaling.Metric{{Name: "b", Value: 3, Target: 2}, {Name: "a", Value: 1, Target: 2}, {Name: "c", Failed: true}}
	for _, tt := range []struct {
		policy scaling.Policy
		state  scaling.Observation
		want   string
	}{
		{scaling.Policy{Bounds: scaling.Bounds{Min: 5, Max: 5, Mode: scaling.Floor}, Aggregation: scaling.Sum},
			scaling.Observation{Metrics: queues, Jobs: &scaling.JobCounts{Running: 3, Pending: 2, Suspended: 1, Stuck: 1, Terminating: 4, InFlight: 1}},
			`metrics   2 of 3 read, 2 active; sum: queue length 4 asks for 2 Jobs, rounded up to 2
jobs      R=4 running, P=3 of them pending, S=1 of them stuck; 1 suspended; 1 in flight; 4 terminating, not part of R
bounds    min 5 (floor), max 5: T=5 of 2 Jobs asked for
strategy  default: T - R; at T=5 R=4 P=3 S=1 M=5 it proposes 1
limits    min needs 1 more Job, max allows 0 more
create    0: the maximum`},
		{scaling.Policy{Bounds: scaling.Bounds{Min: 6, Max: 5}, Aggregation: scaling.Min},
			scaling.Observation{Metrics: queues, Jobs: &scaling.JobCounts{Running: 7}},
			`metrics   2 of 3 read, 2 active; min is a: queue length 1 asks for 0.5 Jobs, rounded up to 1
jobs      R=7 running, P=0 of them pending, S=0 of them stuck
bounds    min 5 (additive), max 5 (min 6 exceeds max and counts as max): T=0 of 1 Job asked for, R=2 of 7 running
strategy  default: T - R; at T=0 R=2 P=0 S=0 M=0 it proposes -2
limits    min needs 0 more Jobs, max allows 0 more
create    0: the maximum`},
		{scaling.Policy{Bounds: scaling.Bounds{Max: scaling.NoMax}},
			scaling.Observation{Metrics: []scaling.Metric{{Value: 3, Target: 2}}, Jobs: &scaling.JobCounts{}},
			`metrics   1 of 1 read, 1 active; max: queue length 3 asks for 1.5 Jobs, rounded up to 2
jobs      R=0 running, P=0 of them pending, S=0 of them stuck
bounds    min 0 (additive), max unlimited: T=2 of 2 Jobs asked for
strategy  default: T - R; at T=2 R=0 P=0 S=0 M=unlimited it proposes 2
limits    min needs 0 more Jobs, no maximum
create    2: the strategy's proposal`},
		{scaling.Policy{Bounds: scaling.Bounds{Max: 3}}, scaling.Observation{Metrics: queues[2:]},
			"metrics   0 of 1 read, 0 active\njobs      not known\ncreate    0: the Jobs are not known"},
	} {
		require.Equal(t, tt.want, scaling.Decide(tt.policy, tt.state).String())
	}
}

// The trace has each part at most as large as its whole, and the Jobs in flight in both.
func TestJobsInTheTrace(t *testing.T) {
	jobs := scaling.JobCounts{Running: 5, Pending: 9, Suspended: 2, Stuck: 1, Terminating: -1, InFlight: 3, AgesUnknown: true}
	d := scaling.Decide(scaling.Policy{}, scaling.Observation{Jobs: &jobs})
	require.Equal(t, scaling.JobCounts{Running: 8, Pending: 8, Suspended: 2, Stuck: 3, InFlight: 3, AgesUnknown: true}, d.Trace.Jobs)
}

func TestValidate(t *testing.T) {
	require.NoError(t, scaling.DefaultPolicy().Validate())
	require.NoError(t, scaling.Policy{}.Validate())
	require.NoError(t, scaling.Policy{Bounds: scaling.Bounds{Mode: scaling.Floor}, Aggregation: scaling.Sum}.Validate(), "the last of each")
	require.NoError(t, scaling.Metric{Target: math.MaxFloat64, ActivationThreshold: math.MaxFloat64, Activity: scaling.Inactive}.Validate())
	require.EqualError(t, scaling.Policy{Bounds: scaling.Bounds{Min: -1, Max: -2, Mode: 5}, Aggregation: 9}.Validate(), `Bounds.Min: found -1; use 0 or more
Bounds.Max: found -2; use 0 or more
Bounds.Mode: found MinMode(5); use Additive or Floor
Aggregation: found Aggregation(9); use one of max, min, avg, sum`)
	require.EqualError(t, scaling.Metric{Target: math.NaN(), ActivationThreshold: -1, Activity: 8}.Validate(), `Target: found NaN; use a positive, finite number
ActivationThreshold: found -1; use a finite number of 0 or more
Activity: found Activity(8); use ByThreshold, Active or Inactive`)
}

func TestWarnings(t *testing.T) {
	waiting := scaling.Metric{Target: 1, WaitingOnly: true}
	require.NoError(t, scaling.Policy{Strategy: strategy.Accurate{}}.Warnings(waiting))
	require.NoError(t, scaling.DefaultPolicy().Warnings(scaling.Metric{Target: 1}))
	require.ErrorContains(t, scaling.DefaultPolicy().Warnings(scaling.Metric{}, waiting), "Metrics[1].WaitingOnly: found true; use a metric that counts items in progress")
	require.ErrorContains(t, scaling.Policy{Strategy: strategy.PendingAware{}}.Warnings(waiting), "Metrics[0].WaitingOnly")
	require.ErrorContains(t, scaling.Policy{Bounds: scaling.Bounds{Min: 9, Max: 2}}.Warnings(), "Bounds.Min: found 9; use at most Max, 2")
}

// Custom allocates, since it multiplies exactly.
func TestDecideAllocatesNothing(t *testing.T) {
	for _, s := range strategies {
		if _, custom := s.(*strategy.Custom); custom {
			continue
		}
		p := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 30}, Strategy: s, Aggregation: scaling.Avg}
		state := scaling.Observation{Metrics: []scaling.Metric{{Value: 3, Target: 2}, {Value: 4, Target: 1}}, Jobs: &scaling.JobCounts{Running: 2}}
		require.Zero(t, testing.AllocsPerRun(100, func() { scaling.Decide(p, state) }), "%v", s)
	}
}

func ExampleDecide() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 6}} // strategy default
	decision := scaling.Decide(policy, scaling.Observation{
		Metrics: []scaling.Metric{{Name: "orders", Value: 47, Target: 5}}, // 47 items, 5 per Job
		Jobs:    &scaling.JobCounts{Running: 4, Pending: 1},               // nil: unknown, so create nothing
	})
	fmt.Println(decision) // decision.Create is 2
	// Output:
	// metrics   1 of 1 read, 1 active; max is orders: queue length 47 asks for 9.4 Jobs, rounded up to 10
	// jobs      R=4 running, P=1 of them pending, S=0 of them stuck
	// bounds    min 1 (additive), max 6: T=5 of 10 Jobs asked for, R=3 of 4 running
	// strategy  default: T - R; at T=5 R=3 P=1 S=0 M=5 it proposes 2
	// limits    min needs 0 more Jobs, max allows 2 more
	// create    2: the maximum
}

func ExampleDecide_unreadable() {
	d := scaling.Decide(scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 10}, Strategy: strategy.Accurate{}}, scaling.Observation{
		Metrics: []scaling.Metric{{Name: "orders", Failed: true}},
		Jobs:    &scaling.JobCounts{},
	})
	fmt.Println(d)
	// Output:
	// metrics   0 of 1 read, 0 active
	// jobs      R=0 running, P=0 of them pending, S=0 of them stuck
	// bounds    min 2 (additive), max 10
	// limits    min needs 2 more Jobs, max allows 10 more
	// create    2: no metric could be read, so the minimum only
}
