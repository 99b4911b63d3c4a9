package study_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
	"github.com/scaledjob/scaledjob/strategy"
)

// minimum is KEDA 2.21 with the default strategy, a minimum and a maximum.
func minimum(least, most int32, arrivals simulation.Arrivals, service time.Duration) simulation.Scenario {
	return simulation.Scenario{
		Seed: 1, Duration: simulation.Duration(4 * time.Hour),
		Autoscaler: simulation.KEDA{Profile: keda.Newest(), Spec: keda.Spec{MinReplicaCount: &least, MaxReplicaCount: &most}},
		Queues:     []simulation.Queue{{Arrivals: arrivals, Service: simulation.Fixed(service)}},
		Jobs:       simulation.JobBehavior{Startup: simulation.Fixed(20 * time.Second)},
	}
}

func capacity(t *testing.T, s simulation.Scenario) *study.Capacity {
	t.Helper()
	require.NoError(t, s.Validate())
	all, err := study.Capacities(s, []simulation.Autoscaler{s.Autoscaler}, study.Options{})
	require.NoError(t, err)
	return &all[0]
}

// Workloads that the maximum alone calls fine grow without bound, and the other way round.
func TestPresentLoad(t *testing.T) {
	scaled := func(name string, most int64) simulation.Scaling {
		of, err := strategy.FromSpec(name, strategy.Parameters{})
		require.NoError(t, err)
		return simulation.NewScaling(of, most)
	}
	for name, c := range map[string]struct {
		change func(*simulation.Scenario)
		grows  bool
	}{
		"KEDA ignores the queue below the minimum": {func(s *simulation.Scenario) { *s = minimum(2, 100, simulation.Poisson(0.5), 5*time.Second) }, true},
		"no minimum": {func(s *simulation.Scenario) { *s = minimum(0, 100, simulation.Poisson(0.5), 5*time.Second) }, false},
		"eager with slow starts": {func(s *simulation.Scenario) {
			s.Autoscaler, s.Jobs.Startup = scaled("eager", 20), simulation.Fixed(time.Minute)
		}, true},
		"as many pods as the load needs not": {func(s *simulation.Scenario) {
			s.Autoscaler, s.Clusters = scaled("accurate", 30), []simulation.Cluster{{Capacity: new(int64(7))}}
		}, true},
		"failures with backoff": {func(s *simulation.Scenario) {
			s.Autoscaler, s.Jobs.FailureProbability = scaled("accurate", 30), 0.5
			s.Jobs.Backoff = simulation.Duration(2 * time.Minute)
		}, true},
		"the same without failures": {func(s *simulation.Scenario) { s.Autoscaler = scaled("accurate", 30) }, false},
		"custom above its maximum": {func(s *simulation.Scenario) {
			s.Autoscaler = simulation.KEDA{Profile: keda.Newest(), Spec: keda.Spec{MaxReplicaCount: new(int32(8)), ScalingStrategy: keda.ScalingStrategy{
				Strategy: "custom", Parameters: strategy.Parameters{CustomScalingRunningJobPercentage: "0", CustomScalingQueueLengthDeduction: new(int32(0))},
			}}}
		}, false},
		"a day whose peak is above the maximum": {func(s *simulation.Scenario) {
			s.Duration, s.Autoscaler = simulation.Duration(48*time.Hour), scaled("accurate", 20)
			s.Queues[0].Arrivals = simulation.Daily(0.05, 0.8, 0.05, 0.05)
		}, false},
		"a day that is too much": {func(s *simulation.Scenario) {
			s.Duration, s.Autoscaler = simulation.Duration(48*time.Hour), scaled("accurate", 20)
			s.Queues[0].Arrivals = simulation.Daily(0.3, 1.2, 0.3, 0.3)
		}, true},
		"90 items a second for 100 Jobs that empty the queue": {func(s *simulation.Scenario) {
			s.Duration, s.Autoscaler, s.Jobs.DrainQueue = simulation.Duration(24*time.Hour), scaled("accurate", 100), true
			s.Queues[0].Arrivals, s.Queues[0].Service = simulation.Poisson(90), simulation.Fixed(time.Second)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := minimum(0, 30, simulation.Poisson(0.25), 30*time.Second)
			s.Queues[0].Metric = "waiting"
			c.change(&s)
			of := capacity(t, s)
			require.Empty(t, of.Reason)
			require.Equal(t, c.grows, of.Present.Grows(), "%+v", of.Present)
			require.LessOrEqual(t, of.Present.Empty.Summary.Arrived, int64(51_000))
		})
	}
}

// The queue of KEDA 2.21 with the default strategy, min 5, max 30 and 40 s of work grows at
// low loads, is flat in between, and grows again.
func TestGrowthIsNotMonotone(t *testing.T) {
	c := capacity(t, minimum(5, 30, simulation.Poisson(0.3), 40*time.Second))
	require.True(t, c.Present.Grows())
	require.NoError(t, c.Measure(study.Options{}))
	require.GreaterOrEqual(t, len(c.Probes), 20)
	require.InEpsilon(t, 5.0/60, c.Sustained, 0.02, "five Jobs in each two polls of 30 s")
	for load, want := range map[float64]bool{0.05: false, 0.1: true, 0.2: true, 0.3: true, 0.5: false, 0.7: true, 0.8: true} {
		of := capacity(t, minimum(5, 30, simulation.Poisson(load), 40*time.Second))
		require.Equal(t, want, of.Present.Grows(), "%g/s: %+v", load, of.Present)
	}
	require.Greater(t, len(c.Growing), 1, "%v", c.Growing)
}

// The loads at which the queue grows agree with the answer for the present load, also close to
// saturation, where probes of other lengths may disagree.
func TestPresentAgrees(t *testing.T) {
	for _, load := range []float64{0.385, 0.39} {
		s := minimum(2, 30, simulation.Poisson(load), 0)
		s.Queues[0].Service, s.Jobs.Startup = simulation.LogNormal(30*time.Second, time.Minute), simulation.Fixed(30*time.Second)
		c := capacity(t, s)
		require.NoError(t, c.Measure(study.Options{}))
		inside := slices.ContainsFunc(c.Growing, func(g study.Interval) bool { return g.Low < load && load < g.High })
		require.Equal(t, c.Present.Grows(), inside, "%g/s: %v", load, c.Growing)
	}
}

func TestNoCapacity(t *testing.T) {
	s := minimum(0, 30, simulation.Arrivals{}, time.Second)
	require.Equal(t, "no items arrive", capacity(t, s).Reason)
	s.Queues[0].Arrivals = simulation.Bursts(10, 5*time.Hour)
	require.Equal(t, "there is a single burst", capacity(t, s).Reason)
	s.Queues[0].Arrivals, s.Queues[0].Trace, s.Duration = simulation.Arrivals{}, []simulation.Arrival{{Items: 6}}, 0
	c := capacity(t, s)
	require.Equal(t, "a recording is played as it was", c.Reason)
	require.NoError(t, c.Measure(study.Options{}))
	require.Empty(t, c.Probes)
}

// Results are the same to the byte, whatever the number of processors.
func TestSameBytes(t *testing.T) {
	s := minimum(0, 30, simulation.Poisson(0.2), 30*time.Second)
	s.Duration = simulation.Duration(20 * time.Minute)
	var all []string
	for _, parallel := range []int{1, 2, 7} {
		o := study.Options{Parallel: parallel}
		c, err := study.Capacities(s, []simulation.Autoscaler{s.Autoscaler}, o)
		require.NoError(t, err)
		require.NoError(t, c[0].Measure(o))
		of, err := study.Replicate(s, []simulation.Autoscaler{s.Autoscaler, s.Autoscaler}, o)
		require.NoError(t, err)
		all = append(all, marshal(t, c)+marshal(t, of))
	}
	require.Equal(t, all[0], all[1])
	require.Equal(t, all[0], all[2])
}

// servers is a system of c servers that never stop: Jobs of the minimum, which wait for
// items as long as the run goes on. Items take a second on average.
func servers(c int64, arrivals float64, service simulation.Distribution) simulation.Scenario {
	p := simulation.NewScaling(strategy.Default{}, c)
	p.Policy.Bounds.Min, p.Interval = c, simulation.Duration(30*time.Second)
	return simulation.Scenario{
		Seed: 1, Autoscaler: p, Duration: simulation.Duration(10_000 / arrivals * float64(time.Second)), Drain: new(simulation.Duration(0)),
		Queues: []simulation.Queue{{Arrivals: simulation.Poisson(arrivals), Service: service}},
		Jobs:   simulation.JobBehavior{DrainQueue: true, Wait: simulation.Duration(1e6 * time.Second)},
	}
}

// erlangC is the probability that an item has to wait, when c servers are offered a load of a.
func erlangC(c int64, a float64) float64 {
	b := 1.0 // Erlang's B, by its recursion
	for k := 1.0; k <= float64(c); k++ {
		b = a * b / (k + a*b)
	}
	return b / (1 - (1-b)*a/float64(c))
}

// The sustained load of M/M/c and M/D/1 is c times the rate of a server, and the mean wait
// is that of Erlang, and of Pollaczek and Khinchine.
func TestErlang(t *testing.T) {
	meanWait := func(s *simulation.Summary) float64 { return s.Wait.Mean }
	for _, q := range []struct {
		c       int64
		loads   []float64 // share of the servers that are busy
		service simulation.Distribution
		wait    func(c int64, a float64) float64
	}{
		{1, []float64{0.3, 0.6, 0.8}, simulation.Exp(time.Second), func(c int64, a float64) float64 { return erlangC(c, a) / (float64(c) - a) }},
		{3, []float64{0.5, 0.75}, simulation.Exp(time.Second), func(c int64, a float64) float64 { return erlangC(c, a) / (float64(c) - a) }},
		{10, []float64{0.6, 0.8}, simulation.Exp(time.Second), func(c int64, a float64) float64 { return erlangC(c, a) / (float64(c) - a) }},
		{1, []float64{0.3, 0.6, 0.8}, simulation.Fixed(time.Second), func(_ int64, a float64) float64 { return a / (2 * (1 - a)) }},
	} {
		t.Run(fmt.Sprintf("c=%d %s", q.c, q.service), func(t *testing.T) {
			c := capacity(t, servers(q.c, float64(q.c)/2, q.service))
			require.NoError(t, c.Measure(study.Options{}))
			require.InEpsilon(t, float64(q.c), c.Sustained, 0.02)
			require.Len(t, c.Growing, 1)
			for _, share := range q.loads {
				a := share * float64(q.c)
				s := servers(q.c, a, q.service)
				of, err := study.Replicate(s, []simulation.Autoscaler{s.Autoscaler}, study.Options{Seeds: 20, SummaryOnly: true})
				require.NoError(t, err)
				e, want := of.Estimate(0, meanWait), q.wait(q.c, a)
				half := (e.High - e.Low) / 2
				require.InDelta(t, want, e.Mean, half, "load %g", a)
				require.Less(t, half, want/8, "too wide to tell anything")
			}
		})
	}
}
