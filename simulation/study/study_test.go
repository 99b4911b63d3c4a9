package study_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

func marshal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// under are strategies as policies with a maximum.
func under(t *testing.T, most int64, names ...string) (all []simulation.Autoscaler) {
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
	require.False(t, of.Exact)
	for i := range of.Samples {
		sample := &of.Samples[i]
		require.Len(t, sample.Runs, 3)
		for seed, got := range sample.Runs {
			alone := s
			alone.Autoscaler, alone.Seed = policies[i], s.Seed+uint64(seed)
			r, err := simulation.Run(alone, simulation.Options{})
			require.NoError(t, err)
			require.Equal(t, r.Summary, got)
		}
		require.NotEmpty(t, sample.Queue.Mean)
	}
}

// A chart never leaves what happened in its runs: it is at least 0 and at most the highest count,
// and the area below its mean is that of the runs.
func TestBands(t *testing.T) {
	premise.CheckN(t, 60, propBands, premise.Least{"Jobs at the maximum": 0.1, "a step that ends between polls": 0.5, "a trace": 0.2})
}
func FuzzBands(f *testing.F) { premise.Fuzz(f, propBands) }

func propBands(t *rapid.T, c *premise.Counts) {
	s := steady(0.02+rapid.Float64Range(0, 0.5).Draw(t, "rate"), time.Duration(rapid.IntRange(1, 120).Draw(t, "service"))*time.Second)
	s.Duration = simulation.Duration(rapid.Int64Range(int64(10*time.Second), int64(3*time.Hour)).Draw(t, "duration"))
	most := rapid.Int64Range(1, 20).Draw(t, "maximum")
	of := simulation.NewScaling(strategy.Accurate{}, most)
	of.Interval = simulation.Duration(rapid.Int64Range(1, 90).Draw(t, "interval")) * simulation.Duration(time.Second)
	o := study.Options{Seeds: rapid.IntRange(1, 3).Draw(t, "seeds")}
	if trace := rapid.IntRange(0, 2).Draw(t, "trace") == 0; trace {
		c.Note("a trace", true)
		s.Queues[0].Arrivals = simulation.Arrivals{}
		for at := simulation.Duration(0); at < s.Duration; at += s.Duration/97 + 1 {
			s.Queues[0].Trace = append(s.Queues[0].Trace, simulation.Arrival{At: at, Items: rapid.Int64Range(0, 9).Draw(t, "items")})
		}
		o.Resample = s.Duration > 10*20*of.Interval+simulation.Duration(time.Minute)
	}
	r, err := study.Replicate(s, []simulation.Autoscaler{of}, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	sample := &r.Samples[0]
	var queue, jobs, queueArea, jobArea float64
	for _, run := range append(slices.Clone(sample.Resampled), sample.Runs...) {
		queue, jobs = max(queue, float64(run.PeakQueue)), max(jobs, float64(run.PeakJobs))
	}
	for s.Autoscaler = of; s.Seed < 7+uint64(r.Seeds); s.Seed++ { // with another step
		run, err := simulation.Run(s, simulation.Options{SummaryOnly: true, Step: simulation.Duration(time.Second)})
		if err != nil {
			t.Fatalf("%v", err)
		}
		for i := range run.Curves.Queue {
			queueArea += run.Curves.Queue[i] / float64(r.Seeds)
			jobArea += run.Curves.Jobs[i] / float64(r.Seeds)
		}
	}
	c.Note("Jobs at the maximum", jobs == float64(most))
	c.Note("a step that ends between polls", math.Mod(sample.Step, time.Duration(of.Interval).Seconds()) != 0)
	for _, band := range []struct {
		study.Band
		highest, area float64
	}{{sample.Queue, queue, queueArea}, {sample.Jobs, jobs, jobArea}} {
		area := 0.0
		for i := range band.Mean {
			area += band.Mean[i] * sample.Step
			if band.Low[i] < 0 || band.Low[i] > band.Mean[i] || band.Mean[i] > band.High[i] || band.High[i] > band.highest+1e-6 {
				t.Fatalf("step %d: %g to %g, mean %g, and at most %g happened", i, band.Low[i], band.High[i], band.Mean[i], band.highest)
			}
		}
		if math.Abs(area-band.area) > 1e-6*(1+band.area) {
			t.Fatalf("the area is %g, and that of the runs %g", area, band.area)
		}
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
	require.Equal(t, study.Equal, of.Difference(2, 0, wait).Word)
	require.Equal(t, study.Different, of.Difference(1, 0, wait).Word, "the metric leaves out the items in progress")
	require.Negative(t, of.Difference(0, 1, wait).High)
	// Samples with a true difference of 241 and a spread far above it.
	wide := study.Study{Seeds: 3, Samples: make([]study.Sample, 2)}
	for i, waits := range [][]float64{{38, 38, 38}, {10, 800, 27}} {
		for _, w := range waits {
			var r simulation.Summary
			r.Wait.P95 = w
			wide.Samples[i].Runs = append(wide.Samples[i].Runs, r)
		}
	}
	d := wide.Difference(1, 0, wait)
	require.Equal(t, study.TooClose, d.Word)
	require.Greater(t, d.Needed, 3)
	// A single seed has no interval, and needs as many as a study begins with.
	one, err := study.Replicate(s, under(t, 40, "accurate", "default"), study.Options{Seeds: 1})
	require.NoError(t, err)
	d = one.Difference(1, 0, wait)
	require.Equal(t, study.TooClose, d.Word)
	require.False(t, d.Interval)
	require.Equal(t, 10, d.Needed)
	// Nothing random: one run, which is exact.
	s.Queues[0].Arrivals, s.Queues[0].Service = simulation.Constant(0.2), simulation.Fixed(time.Minute)
	of, err = study.Replicate(s, under(t, 40, "accurate", "default"), study.Options{})
	require.NoError(t, err)
	require.True(t, of.Exact)
	require.Equal(t, 1, of.Seeds)
	require.Equal(t, study.Different, of.Difference(1, 0, wait).Word)
}

// A trace is played as it was in each run. Shuffled copies are an option, which widens the interval.
func TestTraces(t *testing.T) {
	s := steady(0.2, time.Minute)
	s.Duration, s.Queues[0].Arrivals = 0, simulation.Arrivals{}
	at := simulation.Duration(0)
	for i := range 3000 {
		at += simulation.Duration(time.Duration(2+(i*7919)%9) * time.Second)
		if at > simulation.Duration(time.Hour) && at < simulation.Duration(75*time.Minute) {
			at += simulation.Duration(20 * time.Second) // a lull
		}
		s.Queues[0].Trace = append(s.Queues[0].Trace, simulation.Arrival{At: at})
	}
	policies := under(t, 40, "accurate", "default")
	for _, random := range []bool{true, false} {
		if !random {
			s.Queues[0].Service = simulation.Fixed(time.Minute)
		}
		of, err := study.Replicate(s, policies, study.Options{})
		require.NoError(t, err)
		require.True(t, of.Recorded)
		require.Equal(t, !random, of.Exact)
		for _, run := range of.Samples[0].Runs {
			require.EqualValues(t, 3000, run.Arrived)
		}
		require.Equal(t, study.Different, of.Difference(1, 0, wait).Word)

		shuffled, err := study.Replicate(s, policies, study.Options{Resample: true})
		require.NoError(t, err)
		require.Len(t, shuffled.Samples[1].Resampled, 40)
		narrow, wide := of.Estimate(1, wait), shuffled.Estimate(1, wait)
		require.Equal(t, narrow.Mean, wide.Mean, "judged on the recording")
		require.Less(t, wide.Low, narrow.Low)
		require.Less(t, narrow.High, wide.High)
		require.Contains(t, shuffled.String(), "the recorded arrivals as they were")
		require.Contains(t, shuffled.String(), "40 shuffled copies")
	}
	s.Duration = simulation.Duration(30 * time.Minute)
	_, err := study.Replicate(s, policies, study.Options{Resample: true})
	require.EqualError(t, err, "the recording has 3 blocks of 20 polls, and a shuffle needs 10; use a longer recording, or do not shuffle it")
}

// The search finds the policy that an exhaustive search of all policies finds.
func TestSearchIsExhaustive(t *testing.T) {
	s := steady(0.2, 40*time.Second)
	s.Duration = simulation.Duration(30 * time.Minute)
	var policies []simulation.Autoscaler
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
		conditions := []study.Condition{{Value: wait, Limit: bound, Below: true}, {Value: study.Undone}}
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
		require.Equal(t, best >= 0, found.Met)
		if found.Met {
			require.Equal(t, best, found.Policy, "p95 < %g s", bound)
		}
		chosen[best] = true
	}
	require.Greater(t, len(chosen), 3, "the objective selects")
	found, err := study.Search(s, policies[:6], []study.Condition{{Value: wait, Limit: 0.001, Below: true}}, study.Options{})
	require.NoError(t, err)
	require.False(t, found.Met)
	require.GreaterOrEqual(t, found.Policy, 0, "the closest")
}

func TestErrors(t *testing.T) {
	s := steady(0.1, time.Minute)
	s.Jobs.Wait = -1
	_, err := study.Replicate(s, []simulation.Autoscaler{simulation.Scaling{}, simulation.Scaling{Name: "mine", Interval: -1}, nil}, study.Options{})
	require.EqualError(t, err, `jobs.wait: found -1ns; use 0s or more, and less than 20 years
mine: policy.interval: found -1ns; use 0s or more, where 0s means 30s
policies[2]: policy: found nothing; use Scaling, KEDA, Placement or a type of your own`)
	require.Len(t, field.All(err), 3)

	_, err = study.Replicate(s, nil, study.Options{})
	require.EqualError(t, err, "policies: found none; use at least one autoscaler")
	s.Jobs.Wait = 0
	_, err = study.Search(s, under(t, 10, "default"), []study.Condition{{Limit: 3}}, study.Options{})
	require.EqualError(t, err, "conditions[0].Value: found nothing; use a number of a Summary")
	var runs atomic.Int64
	of, err := study.Replicate(s, under(t, 10, "default", "accurate"), study.Options{Ran: func() { runs.Add(1) }})
	require.NoError(t, err)
	require.EqualValues(t, 2*of.Seeds, runs.Load())
	enough := errors.New("enough")
	_, err = study.Replicate(s, under(t, 10, "default"), study.Options{Stop: func() error { return enough }})
	require.ErrorIs(t, err, enough)
}
