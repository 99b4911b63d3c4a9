package simulation_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
)

func TestFront(t *testing.T) { rapid.Check(t, propFront) }
func FuzzFront(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propFront)) }

// better reports whether policy a leaves no item undone, waits no longer than b, costs no
// more, and one of the two is less.
func better(a, b *simulation.Summary) bool {
	return undone(a) == 0 && a.Wait.P95 <= b.Wait.P95 && a.Cost() <= b.Cost() && (a.Wait.P95 < b.Wait.P95 || a.Cost() < b.Cost())
}

func undone(s *simulation.Summary) int64 { return s.Arrived - s.Done - s.Lost }

// A point is optimal if no other is better, pair by pair, and if no item is undone.
func propFront(t *rapid.T) {
	s := drawScenario(t)
	grid := simulation.Grid{
		Strategies:       []string{"default", "accurate", "custom"},
		PollingIntervals: []simulation.Duration{5 * second, 30 * second},
		MaxReplicaCounts: []int32{2, 8},
		Deductions:       []int32{0, 2},
		Percentages:      []string{"0.5"},
	}
	points, err := simulation.Search(s, grid, simulation.Options{Parallel: 2})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(points) != (2+2)*2*2 {
		t.Fatalf("%d points", len(points))
	}
	for i, p := range points {
		dominated := slices.ContainsFunc(points, func(o simulation.Point) bool { return better(&o.Summary, &p.Summary) })
		if p.ParetoOptimal != (!dominated && undone(&p.Summary) == 0) {
			t.Fatalf("point %d, %v: front %v", i, p.Summary, p.ParetoOptimal)
		}
	}
}

// However many run at once, the results are those of runs one by one.
func TestCompareEqualsRuns(t *testing.T) {
	s := load(simulation.AllItems, "")
	s.Queues[0].Arrivals.Pattern = simulation.Poisson
	policies := simulation.Grid{
		Strategies:       []string{"default", "accurate", "eager", "custom", "pendingAware"},
		MinReplicaCounts: []int32{0, 3},
	}.Policies(s.Policy)
	for _, parallel := range []int{0, 1, 2, 7, 100} {
		results, err := simulation.Compare(s, policies, simulation.Options{Parallel: parallel})
		require.NoError(t, err)
		for i, p := range policies {
			s.Policy = p
			require.Equal(t, *play(t, s), results[i])
		}
	}
}

func TestGrid(t *testing.T) {
	base := simulation.Policy{Name: "mine", Spec: spec("eager", 7)}
	require.Equal(t, []simulation.Policy{{Spec: spec("eager", 7)}}, simulation.Grid{}.Policies(base))
	names := []string{}
	for _, p := range (simulation.Grid{
		Strategies: []string{"default", "custom"}, Deductions: []int32{1, 2}, Percentages: []string{"0.5"}, MaxReplicaCounts: []int32{1, 2},
	}).Policies(base) {
		names = append(names, p.String())
	}
	require.Equal(t, []string{
		"default, max 1", "default, max 2",
		"custom, 1 0.5, max 1", "custom, 2 0.5, max 1", "custom, 1 0.5, max 2", "custom, 2 0.5, max 2",
	}, names)
	require.Equal(t, int32(7), *base.Spec.MaxReplicaCount)

	names = nil
	for _, p := range (simulation.Grid{As: []string{"core", "keda@2.18"}, MinReplicaCounts: []int32{1}}).Policies(base) {
		names = append(names, p.String())
	}
	require.Equal(t, []string{"eager, min 1, max 7", "keda@2.18 eager, min 1, max 7"}, names)

	_, err := simulation.Search(load("", ""), simulation.Grid{PollingIntervals: []simulation.Duration{second / 2}}, simulation.Options{})
	require.EqualError(t, err, "pollingIntervals[0]: found 500ms; use whole seconds")
}

func TestCompareNamesThePolicy(t *testing.T) {
	s := load("", "")
	s.Jobs.Wait = -second
	_, err := simulation.Compare(s, []simulation.Policy{{}, {Name: "mine", As: "x"}, {As: "y"}}, simulation.Options{})
	var of *simulation.PolicyError
	require.ErrorAs(t, err, &of)
	require.Equal(t, 1, of.Index)
	require.EqualError(t, err, `jobs.wait: found -1s; use 0s or more, and less than 20 years
mine: policy.as: found "x"; use core, placement, or a release such as keda@2.21
y default: policy.as: found "y"; use core, placement, or a release such as keda@2.21`)
	require.Len(t, field.All(err), 3)
}

func TestProgress(t *testing.T) {
	s := load("", "")
	policies := simulation.Grid{Strategies: []string{"default", "accurate", "eager"}}.Policies(s.Policy)
	var told []float64
	progress := func(part float64) error {
		told = append(told, part)
		return nil
	}
	_, err := simulation.Compare(s, policies, simulation.Options{Progress: progress})
	require.NoError(t, err)
	require.Greater(t, len(told), 10)
	require.IsIncreasing(t, told)
	require.Equal(t, 1.0, told[len(told)-1])

	told = nil
	_, err = simulation.Run(s, simulation.Options{Progress: progress})
	require.NoError(t, err)
	require.IsIncreasing(t, told)
	require.Equal(t, 1.0, told[len(told)-1])

	enough := errors.New("enough")
	calls := 0
	stop := func(float64) error {
		calls++
		return enough
	}
	_, err = simulation.Run(s, simulation.Options{Progress: stop})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 1, calls)
	_, err = simulation.Compare(s, policies, simulation.Options{Progress: stop})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 2, calls)
}
