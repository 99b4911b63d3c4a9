package study_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
	"github.com/scaledjob/scaledjob/strategy"
)

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// under are strategies as policies with a maximum.
func under(t *testing.T, most int64, names ...string) (all []simulation.Policy) {
	for _, name := range names {
		of, err := strategy.FromSpec(name, strategy.Parameters{})
		require.NoError(t, err)
		p := simulation.NewScaling(of, most)
		p.Name = name
		all = append(all, p)
	}
	return all
}

// steady is a queue of a Poisson process of waiting items.
func steady(perSecond float64, service time.Duration) simulation.Scenario {
	return simulation.Scenario{
		Seed: 7, Duration: simulation.Duration(20 * time.Minute),
		Queues: []simulation.Queue{{Arrivals: simulation.Poisson(perSecond), Service: simulation.Exp(service), Metric: "waiting"}},
		Jobs:   simulation.JobBehavior{Startup: simulation.Fixed(10 * time.Second)},
	}
}

func wait(s *simulation.Summary) float64 { return s.Wait.P95 }
func idle(s *simulation.Summary) float64 { return s.IdleSeconds }

// Each replication is a run of its own, and equal to it.
func TestReplicate(t *testing.T) {
	s := steady(0.1, time.Minute)
	policies := under(t, 20, "default", "accurate")
	of, err := study.Replicate(s, policies, study.Options{Seeds: 3})
	require.NoError(t, err)
	require.Equal(t, "seeds", of.Sampling)
	for i := range of.Samples {
		sample := &of.Samples[i]
		require.Len(t, sample.Runs, 3)
		for seed, got := range sample.Runs {
			alone := s
			alone.Policy, alone.Seed = policies[i], s.Seed+uint64(seed)
			r, err := simulation.Run(alone, simulation.Options{})
			require.NoError(t, err)
			require.Equal(t, r.Summary, got)
			if seed == 0 {
				require.Equal(t, r.Ticks, sample.First.Ticks)
				require.Equal(t, r.Waits, sample.First.Waits)
			}
		}
		require.Len(t, sample.Waits.Mean, 101)
		require.NotEmpty(t, sample.Queue.Mean)
		mean := 0.0 // the area below the band is that of the runs
		for _, v := range sample.Jobs.Mean {
			mean += v * sample.Step
		}
		work := 0.0
		for _, r := range sample.Runs {
			work += (r.BusySeconds + r.IdleSeconds) / 3
		}
		require.InEpsilon(t, work, mean, 0.3, "Jobs are seen at polls only")
	}
}

// There are at least 10 seeds, at most 200, and no more than the intervals need.
func TestNumberOfSeeds(t *testing.T) {
	narrow := func(of *study.Study) bool {
		e, cost := of.Estimate(0, wait), of.Estimate(0, (*simulation.Summary).Cost).Mean
		i := of.Estimate(0, idle)
		return (e.High-e.Low)/2 <= max(1, e.Mean/20) && (i.High-i.Low)/2 <= max(cost/100, i.Mean/20)
	}
	for _, c := range []struct {
		load float64
		most int64
	}{{0.05, 20}, {0.1, 8}, {0.2, 8}} {
		of, err := study.Replicate(steady(c.load, time.Minute), under(t, c.most, "accurate"), study.Options{SummaryOnly: true})
		require.NoError(t, err)
		require.True(t, of.Seeds >= 10 && of.Seeds <= 200)
		require.True(t, narrow(of) || of.Seeds == 200, "%d", of.Seeds)
		t.Log(c, of.Seeds)
	}
}

// Two policies are the same, differ, or nobody can tell.
func TestThreeWords(t *testing.T) {
	s := steady(0.2, time.Minute)
	of, err := study.Replicate(s, under(t, 40, "accurate", "default", "accurate"), study.Options{Seeds: 10})
	require.NoError(t, err)
	require.Equal(t, study.Same, of.Difference(2, 0, wait).Word)
	require.Equal(t, study.Differs, of.Difference(1, 0, wait).Word, "the metric leaves out the items in progress")
	require.Negative(t, of.Difference(0, 1, wait).High)
	// Samples with a true difference of 241 and a spread far above it.
	wide := study.Study{Sampling: "seeds", Seeds: 3, Samples: make([]study.Sample, 2)}
	for i, waits := range [][]float64{{38, 38, 38}, {10, 800, 27}} {
		for _, w := range waits {
			var r simulation.Summary
			r.Wait.P95 = w
			wide.Samples[i].Runs = append(wide.Samples[i].Runs, r)
		}
	}
	d := wide.Difference(1, 0, wait)
	require.Equal(t, study.CannotTell, d.Word)
	require.Greater(t, d.Needed, 3)
	// A single seed has no interval, and needs as many as a study begins with.
	one, err := study.Replicate(s, under(t, 40, "accurate", "default"), study.Options{Seeds: 1})
	require.NoError(t, err)
	d = one.Difference(1, 0, wait)
	require.Equal(t, study.CannotTell, d.Word)
	require.False(t, d.Interval)
	require.Equal(t, 10, d.Needed)
	// Nothing random: one run, which is exact.
	s.Queues[0].Arrivals, s.Queues[0].Service = simulation.Constant(0.2), simulation.Fixed(time.Minute)
	of, err = study.Replicate(s, under(t, 40, "accurate", "default"), study.Options{})
	require.NoError(t, err)
	require.Equal(t, "exact", of.Sampling)
	require.Equal(t, 1, of.Seeds)
	require.Equal(t, study.Differs, of.Difference(1, 0, wait).Word)
}

// A trace without anything random is resampled in blocks, or has no interval.
func TestTraces(t *testing.T) {
	s := steady(0.2, time.Minute)
	s.Queues[0].Service = simulation.Fixed(time.Minute)
	r, err := simulation.Run(withPolicy(s, under(t, 40, "default")[0]), simulation.Options{})
	require.NoError(t, err)
	require.NotEmpty(t, r.Ticks)
	long := s
	long.Queues = slices.Clone(s.Queues)
	long.Duration = 0
	long.Queues[0].Arrivals = simulation.Arrivals{}
	at := simulation.Duration(0)
	for i := range 3000 {
		at += simulation.Duration(time.Duration(2+(i*7919)%9) * time.Second)
		long.Queues[0].Trace = append(long.Queues[0].Trace, simulation.Arrival{At: at})
	}
	policies := under(t, 40, "accurate", "default")
	of, err := study.Replicate(long, policies, study.Options{})
	require.NoError(t, err)
	require.Equal(t, "blocks", of.Sampling)
	require.GreaterOrEqual(t, of.Blocks, 10)
	e := of.Estimate(1, wait)
	require.True(t, e.Interval)
	require.Less(t, e.Low, e.High)
	require.Equal(t, study.Differs, of.Difference(1, 0, wait).Word)
	require.EqualValues(t, 3000, of.Samples[0].First.Summary.Arrived, "the recorded trace")
	for _, run := range of.Samples[0].Runs {
		require.InEpsilon(t, 3000, run.Arrived, 0.1)
	}
	short := long
	short.Duration = simulation.Duration(30 * time.Minute)
	of, err = study.Replicate(short, policies, study.Options{})
	require.NoError(t, err)
	require.Equal(t, "fewBlocks", of.Sampling)
	require.Equal(t, 3, of.Blocks)
	d := of.Difference(1, 0, wait)
	require.False(t, d.Interval)
	require.Equal(t, study.CannotTell, d.Word)
	require.Equal(t, 10, d.Needed)
	require.Equal(t, "without intervals: the trace has 3 blocks of 20 polls, and 10 are needed", of.String())
}

func withPolicy(s simulation.Scenario, p simulation.Policy) simulation.Scenario {
	s.Policy = p
	return s
}

// The search finds the policy that an exhaustive search of all policies finds.
func TestSearchIsExhaustive(t *testing.T) {
	s := steady(0.2, 40*time.Second)
	s.Duration = simulation.Duration(30 * time.Minute)
	var policies []simulation.Policy
	for _, most := range []int64{14, 20, 9, 10, 11, 12, 13, 26} {
		for _, interval := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute} {
			for _, name := range []string{"accurate", "default"} {
				p := under(t, most, name)[0].(simulation.Scaling)
				p.Name, p.Interval = fmt.Sprint(name, most, interval), simulation.Duration(interval)
				policies = append(policies, p)
			}
		}
	}
	all, err := study.Replicate(s, policies, study.Options{Seeds: 200, SummaryOnly: true})
	require.NoError(t, err)
	chosen := map[int]bool{}
	for _, bound := range []float64{20, 60, 120, 600, 3600} {
		conditions := []study.Condition{{Value: wait, Most: bound, Below: true}, {Value: study.Undone}}
		best, least := -1, math.Inf(1)
		for i := range policies {
			met := true
			for _, c := range conditions {
				met = met && c.Meets(all.Estimate(i, c.Value).High)
			}
			if !met {
				continue
			}
			order := func(i int) (int64, simulation.Duration) {
				of := policies[i].Settings()
				return of.Max, -of.Interval
			}
			sum := all.Estimate(i, idle).Mean
			if best < 0 {
				best, least = i, sum
				continue
			}
			m, v := order(i)
			n, w := order(best)
			if m < n || m == n && v < w || m == n && v == w && sum < least {
				best, least = i, sum
			}
		}
		found, err := study.Search(s, policies, conditions, study.Options{})
		require.NoError(t, err)
		require.Equal(t, best, found.Policy, "p95 < %g s", bound)
		chosen[best] = true
	}
	require.Greater(t, len(chosen), 3, "the objective selects")
	found, err := study.Search(s, policies[:6], []study.Condition{{Value: wait, Most: 0.001, Below: true}}, study.Options{})
	require.NoError(t, err)
	require.Equal(t, -1, found.Policy)
	require.NotNil(t, found.Study)
}

func TestErrors(t *testing.T) {
	s := steady(0.1, time.Minute)
	s.Jobs.Wait = -1
	_, err := study.Replicate(s, []simulation.Policy{simulation.Scaling{}, simulation.Scaling{Name: "mine", Interval: -1}, nil}, study.Options{})
	require.EqualError(t, err, `jobs.wait: found -1ns; use 0s or more, and less than 20 years
mine: policy.interval: found -1ns; use 0s or more, where 0s means 30s
policies[2]: policy: found nothing; use Scaling, KEDA, Placement or a type of your own`)
	require.Len(t, field.All(err), 3)

	s.Jobs.Wait = 0
	var told []float64
	o := study.Options{Progress: func(part float64) error {
		told = append(told, part)
		return nil
	}}
	_, err = study.Replicate(s, under(t, 10, "default", "accurate"), o)
	require.NoError(t, err)
	require.Greater(t, len(told), 10)
	require.IsNonDecreasing(t, told)
	enough := errors.New("enough")
	_, err = study.Replicate(s, under(t, 10, "default"), study.Options{Stop: func() error { return enough }})
	require.ErrorIs(t, err, enough)
	_, err = study.Replicate(s, under(t, 10, "default"), study.Options{Progress: func(float64) error { return enough }})
	require.ErrorIs(t, err, enough)
}
