package scaling_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func TestInfiniteQueue(t *testing.T) {
	s := scaling.State{Metrics: []scaling.Metric{{Value: math.Inf(1), Target: 2}}, Jobs: &scaling.JobCounts{}}
	for _, a := range []scaling.Aggregation{scaling.Max, scaling.Min, scaling.Avg, scaling.Sum} {
		p := scaling.Policy{Bounds: scaling.Bounds{Max: 7}, Aggregation: a}
		require.Equal(t, int64(7), scaling.Decide(p, s).Create, "%s", a)
		p.Bounds.Max = scaling.NoMax
		require.Equal(t, scaling.RuleUnreadable, scaling.Decide(p, s).Rule, "%s", a)
	}
}

func TestZeroValuesCreateNothing(t *testing.T) {
	queue := []scaling.Metric{{Value: 9, Target: 1}}
	require.Equal(t, scaling.RuleJobsUnknown, scaling.Decide(scaling.DefaultPolicy(), scaling.State{Metrics: queue}).Rule)
	require.Zero(t, scaling.Decide(scaling.Policy{}, scaling.State{Metrics: queue, Jobs: &scaling.JobCounts{}}).Create)
	require.Zero(t, scaling.Decide(scaling.DefaultPolicy(), scaling.State{Metrics: make([]scaling.Metric, 1), Jobs: &scaling.JobCounts{}}).Create)
	require.Equal(t, "nothing was decided", scaling.Decision{}.Rule.String())
}

func TestNoMaximum(t *testing.T) {
	p := scaling.Policy{Bounds: scaling.Bounds{Max: scaling.NoMax}}
	s := scaling.State{Metrics: []scaling.Metric{{Value: 1e6, Target: 1}}, Jobs: &scaling.JobCounts{Running: 10}}
	require.Equal(t, int64(999_990), scaling.Decide(p, s).Create)
}

// The sum of a million thirds is the same in any order, and exact but for the
// last digit of each third.
func TestSumOfManyFractions(t *testing.T) {
	metrics := make([]scaling.Metric, 999_999)
	for i := range metrics {
		metrics[i] = scaling.Metric{Value: 1, Target: 3}
	}
	d := scaling.Aggregate(scaling.Sum, metrics, false)
	require.Equal(t, int64(333_333), d.Jobs)
	require.Equal(t, 999_999.0, d.Queue)
}

func TestHealth(t *testing.T) {
	read, failed := scaling.Metric{Target: 1}, scaling.Metric{Failed: true}
	for want, metrics := range map[scaling.Health][]scaling.Metric{
		scaling.AllRead: {read, read}, scaling.SomeRead: {failed, read}, scaling.NoneRead: {failed, {Value: -1, Target: 1}},
	} {
		require.Equal(t, want, scaling.Aggregate(scaling.Max, metrics, false).Health())
	}
	require.Equal(t, scaling.AllRead, scaling.Demand{}.Health())
	require.Equal(t, "some metrics read", scaling.SomeRead.String())
}

func TestValidate(t *testing.T) {
	require.NoError(t, scaling.Validate(scaling.DefaultPolicy(), scaling.Metric{Target: 1}))
	require.NoError(t, scaling.Validate(scaling.Policy{}))
	err := scaling.Validate(
		scaling.Policy{Bounds: scaling.Bounds{Min: -1, Max: -2, Mode: 5}, Aggregation: 9},
		scaling.Metric{Target: 1}, scaling.Metric{Target: math.NaN(), ActivationThreshold: -1, Activity: 8},
	)
	require.EqualError(t, err, `Bounds.Min: found -1; use 0 or more
Bounds.Max: found -2; use 0 or more
Bounds.Mode: found MinMode(5); use Additive or Floor
Aggregation: found Aggregation(9); use Max, Min, Avg or Sum
Metrics[1].Target: found NaN; use a positive, finite number
Metrics[1].ActivationThreshold: found -1; use a finite number of 0 or more
Metrics[1].Activity: found Activity(8); use ByThreshold, Active or Inactive`)
	var first *field.Error
	require.ErrorAs(t, err, &first)
	require.Equal(t, "Bounds.Min", first.Path)
}

func TestParseAggregation(t *testing.T) {
	for _, a := range []scaling.Aggregation{scaling.Max, scaling.Min, scaling.Avg, scaling.Sum} {
		got, err := scaling.ParseAggregation(a.String())
		require.NoError(t, err)
		require.Equal(t, a, got)
	}
	_, err := scaling.ParseAggregation("mean")
	require.EqualError(t, err, `unknown Aggregation "mean"; use max, min, avg or sum`)
}

// Custom allocates, since it multiplies exactly.
func TestDecideAllocatesNothing(t *testing.T) {
	for _, s := range strategies {
		if _, custom := s.(*strategy.Custom); custom {
			continue
		}
		p := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 30}, Strategy: s, Aggregation: scaling.Avg}
		state := scaling.State{Metrics: []scaling.Metric{{Value: 3, Target: 2}, {Value: 4, Target: 1}}, Jobs: &scaling.JobCounts{Running: 2}}
		require.Zero(t, testing.AllocsPerRun(100, func() { scaling.Decide(p, state) }), "%v", s)
	}
}

func ExampleDecide() {
	policy := scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 6}} // strategy default
	decision := scaling.Decide(policy, scaling.State{
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
	d := scaling.Decide(scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: 10}, Strategy: strategy.Accurate{}}, scaling.State{
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
