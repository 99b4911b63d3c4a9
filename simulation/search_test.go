package simulation_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/internal/premise"
	"github.com/scaledjob/scaledjob/simulation"
)

func TestFront(t *testing.T) {
	premise.CheckN(t, 200, propFront, premise.Least{"a better point": 0.08, "an undone item": 0.1, "an optimal point": 0.2})
}
func FuzzFront(f *testing.F) { premise.Fuzz(f, propFront) }

// better reports whether policy a leaves no item undone, waits no longer than b, costs no
// more, and one of the two is less.
func better(a, b *simulation.Summary) bool {
	return undone(a) == 0 && a.Wait.P95 <= b.Wait.P95 && a.Cost() <= b.Cost() && (a.Wait.P95 < b.Wait.P95 || a.Cost() < b.Cost())
}

func undone(s *simulation.Summary) int64 { return s.Arrived - s.Done - s.Lost }

// A point is optimal if no other is better, pair by pair, and if no item is undone.
func propFront(t *rapid.T, c *premise.Counts) {
	s := drawScenario(t)
	var policies []simulation.Policy
	for _, name := range []string{"default", "accurate", "pendingAware"} {
		for _, interval := range []int32{5, 30} {
			for _, most := range []int32{2, 8} {
				m := manifest{Spec: spec(name, most)}
				m.Spec.PollingInterval = &interval
				policies = append(policies, m.policy(len(s.Clusters)))
			}
		}
	}
	points, err := simulation.Search(s.built(), policies, simulation.Options{Parallel: 2})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(points) != 3*2*2 {
		t.Fatalf("%d points", len(points))
	}
	somewhere := func(what string, holds func(simulation.Point) bool) { c.Note(what, slices.ContainsFunc(points, holds)) }
	somewhere("a better point", func(p simulation.Point) bool {
		return slices.ContainsFunc(points, func(o simulation.Point) bool { return better(&o.Summary, &p.Summary) })
	})
	somewhere("an undone item", func(p simulation.Point) bool { return undone(&p.Summary) > 0 })
	somewhere("an optimal point", func(p simulation.Point) bool { return p.ParetoOptimal })
	for i, p := range points {
		dominated := slices.ContainsFunc(points, func(o simulation.Point) bool { return better(&o.Summary, &p.Summary) })
		if p.ParetoOptimal != (!dominated && undone(&p.Summary) == 0) {
			t.Fatalf("point %d, %v: front %v", i, p.Summary, p.ParetoOptimal)
		}
	}
}

// Policies under which as many Jobs work for as long cost the same, to the last digit, so
// that only the shortest wait is optimal.
func TestEqualCosts(t *testing.T) {
	s := load(simulation.WaitingItems, "")
	s.Queues[0].Arrivals = simulation.Arrivals{Pattern: simulation.Poisson, Rates: []simulation.Rate{{Items: 10, Per: minute}}}
	s.Queues[0].Service = simulation.Distribution{Mean: 30*second + 123456789}
	s.Jobs.Startup.Mean = 5*second + 7
	var policies []simulation.Policy
	for _, name := range []string{"default", "accurate", "eager"} {
		for _, most := range []int32{6, 10, 20} {
			for _, interval := range []int32{10, 30, 60} {
				m := manifest{Spec: spec(name, most)}
				m.Spec.PollingInterval = &interval
				policies = append(policies, m.policy(1))
			}
		}
	}
	points, err := simulation.Search(s, policies, simulation.Options{})
	require.NoError(t, err)
	waits, equal := map[float64]bool{}, 0
	for _, p := range points {
		if p.Summary.JobsCreated == p.Summary.Arrived {
			equal++
			require.Equal(t, points[0].Summary.Cost(), p.Summary.Cost(), p.Summary.Policy)
		}
		if p.ParetoOptimal {
			waits[p.Summary.Wait.P95] = true
		}
	}
	require.Greater(t, equal, 20)
	require.Len(t, waits, 1)
}

// However many run at once, the results are those of runs one by one.
func TestCompareEqualsRuns(t *testing.T) {
	s := load(simulation.AllItems, "")
	s.Queues[0].Arrivals.Pattern = simulation.Poisson
	policies := under(7, "default", "accurate", "eager", "custom", "pendingAware")
	for _, parallel := range []int{0, 1, 2, 7, 100} {
		results, err := simulation.Compare(s, policies, simulation.Options{Parallel: parallel})
		require.NoError(t, err)
		for i, p := range policies {
			s.Policy = p
			require.Equal(t, *play(t, s), results[i])
		}
	}
}

func TestCompareNamesThePolicy(t *testing.T) {
	s := load("", "")
	s.Jobs.Wait = -second
	_, err := simulation.Compare(s, []simulation.Policy{
		simulation.Scaling{}, simulation.Scaling{Name: "mine", Interval: -second}, nil,
	}, simulation.Options{})
	require.EqualError(t, err, `jobs.wait: found -1s; use 0s or more, and less than 20 years
mine: policy.interval: found -1s; use 0s or more, where 0s means 30s
policies[2]: policy: found nothing; use Scaling, KEDA, Placement or a type of your own`)
	require.Len(t, field.All(err), 3)
}

func TestProgress(t *testing.T) {
	s := load("", "")
	policies := under(40, "default", "accurate", "eager")
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
