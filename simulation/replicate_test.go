package simulation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

func wait(s *simulation.Summary) float64 { return s.Wait.Mean }

// Each seed is a run of its own, and only the first seed has ticks.
func TestReplicate(t *testing.T) {
	s := steady(6, minute, 0, 20)
	s.Duration, s.Seed = 10*minute, 7
	policies := under(20, "default", "accurate")
	all, err := simulation.Replicate(s.built(), policies, 3, simulation.Options{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	for i := range all {
		require.Len(t, all[i], 3)
		for seed := range all[i] {
			of := s.built()
			of.Policy, of.Seed = policies[i], s.Seed+uint64(seed)
			alone, err := simulation.Run(of, simulation.Options{SummaryOnly: seed > 0})
			require.NoError(t, err)
			require.Equal(t, *alone, all[i][seed])
		}
		require.NotEmpty(t, all[i][0].Ticks)
		require.NotEqual(t, all[i][0].Summary.Wait, all[i][1].Summary.Wait)
	}
	require.Equal(t, simulation.Estimate{}, simulation.Difference(nil, nil, wait))
	require.Zero(t, simulation.Difference(all[0], all[0], wait))
	fewer, err := simulation.Replicate(s.built(), policies, 0, simulation.Options{})
	require.NoError(t, err)
	require.Len(t, fewer[1], 1)
	one := fewer[1][0].Summary.Wait.Mean
	require.Equal(t, simulation.Estimate{Mean: one, Low: one, High: one}, simulation.Difference(fewer[1], nil, wait))
}

// The interval covers the mean in 95 % of the samples, whatever their size.
func TestEstimateCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 5, 10, 11, 30} {
		covered := 0
		const samples = 20_000
		for range samples {
			sample := make([]simulation.Result, n)
			for i := range sample {
				sample[i].Summary.Wait.Mean = 3 + 2*random.NormFloat64()
			}
			e := simulation.Difference(sample, nil, wait)
			if e.Low <= 3 && 3 <= e.High {
				covered++
			}
		}
		require.InDelta(t, 0.95, float64(covered)/samples, 0.006, fmt.Sprint(n, " values"))
	}
}

// A difference is found where there is one, and nowhere else.
func TestDiffers(t *testing.T) {
	s := steady(12, minute, 10*second, 40)
	s.Duration = hour
	policies := under(40, "accurate", "default", "accurate")
	all, err := simulation.Replicate(s.built(), policies, 5, simulation.Options{SummaryOnly: true})
	require.NoError(t, err)
	e := simulation.Difference(all[1], all[0], wait)
	require.True(t, e.Differs(), "the metric leaves out the items in progress")
	require.Greater(t, e.Low, 0.0)
	require.True(t, simulation.Difference(all[0], all[1], wait).Differs())
	require.False(t, simulation.Difference(all[2], all[0], wait).Differs())
}
