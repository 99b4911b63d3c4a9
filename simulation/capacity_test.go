package simulation_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/simulation"
)

// steady is a scenario with Poisson arrivals of so many items a minute.
func steady(perMinute float64, service, startup simulation.Duration, most int32) scenario {
	s := scenario{Scenario: simulation.Scenario{
		Duration: 4 * hour,
		Queues: []simulation.Queue{{
			Arrivals: simulation.Arrivals{Pattern: simulation.Poisson, Rates: []simulation.Rate{{Items: perMinute, Per: minute}}},
			Service:  simulation.Distribution{Mean: service},
			Metric:   simulation.WaitingItems,
		}},
		Jobs: simulation.JobBehavior{Startup: simulation.Distribution{Mean: startup}},
	}}
	s.Policy.Spec.MaxReplicaCount = &most
	s.Policy.Spec.ScalingStrategy.Strategy = "accurate"
	return s
}

func TestCapacityText(t *testing.T) {
	drains := func(s *scenario) { s.Jobs.DrainQueue = true }
	daily := func(s *scenario) {
		s.Duration = 24 * hour
		s.Queues[0].Arrivals = simulation.Arrivals{Pattern: simulation.Daily, Rates: []simulation.Rate{{Items: 1, Per: minute}, {Items: 5, Per: minute}}}
	}
	for _, tt := range []struct {
		perMinute        float64
		service, startup simulation.Duration
		most             int32
		change           func(*scenario)
		want             string
	}{
		{120, 30 * second, 0, 30, drains, "Load: 2/s x 30s = 60 Jobs at work, 60 with startup; maximum 30. Saturated: the queue grows by 3600 items an hour; a maximum of 67 is enough."},
		{60, 30 * second, 5 * second, 30, nil, "Load: 1/s x 30s = 30 Jobs at work, 35 with startup; maximum 30. A Job that ends is replaced at the next poll: 60 places. Saturated: the queue grows by 1800 items an hour; a maximum of 67 is enough."},
		{60, 30 * second, 0, 30, nil, "Load: 1/s x 30s = 30 Jobs at work, 30 with startup; maximum 30. Critical: 100 % of the maximum is used on average; a maximum of 34 leaves headroom."},
		{30, 30 * second, 0, 100, nil, "Load: 30/m x 30s = 15 Jobs at work, 15 with startup; maximum 100. Fine: 15 % of the maximum is used."},
		{30, 10 * second, 0, 10, nil, "Load: 30/m x 10s = 5 Jobs at work, 5 with startup; maximum 10. A Job that ends is replaced at the next poll: 15 places. Saturated: the queue grows by 600 items an hour; a maximum of 17 is enough."},
		{3, 60 * second, 0, 4, daily, "Load: 3/m x 60s = 3 Jobs at work, 3 with startup; maximum 4. Critical: 75 % of the maximum is used on average; a maximum of 5 leaves headroom."},
		{3, 60 * second, 0, 0, nil, "Load: 3/m x 60s = 3 Jobs at work, 3 with startup; maximum 0. Saturated: the queue grows by 180 items an hour; a maximum of 4 is enough."},
		{3, 60 * second, 0, 4, func(s *scenario) { s.Queues[0].Arrivals = simulation.Arrivals{} }, "No items arrive."},
		{3, 60 * second, 0, 4, func(s *scenario) { s.Clusters = []simulation.Cluster{{Capacity: new(int64(2))}} },
			"Load: 3/m x 60s = 3 Jobs at work, 3 with startup; maximum 2. Saturated: the queue grows by 60 items an hour; a maximum of 4 is enough."},
		{6, 600 * second, 0, 100, func(s *scenario) { s.Jobs.FailureProbability = 0.5 },
			"Load: 6/m x 15m = 90 Jobs at work, 90 with startup; maximum 100. A Job that ends is replaced at the next poll: 91.5 places. Critical: 92 % of the maximum is used on average; a maximum of 102 leaves headroom."},
		{6, 0, 0, 100, func(s *scenario) {
			s.Queues[0].Arrivals = simulation.Arrivals{}
			s.Queues[0].Trace = []simulation.Arrival{{Items: 60, Service: 2 * minute}, {At: 30 * minute, Items: 60, Service: 4 * minute}}
			s.Duration = hour
		}, "Load: 2/m x 3m = 6 Jobs at work, 6 with startup; maximum 100. Fine: 6 % of the maximum is used."},
		{6, 60 * second, 0, 10, func(s *scenario) { // all at once
			s.Queues[0].Arrivals, s.Duration = simulation.Arrivals{}, 0
			s.Queues[0].Trace = []simulation.Arrival{{Items: 6}}
		}, "Load: 12/m x 60s = 12 Jobs at work, 12 with startup; maximum 10. Saturated: the queue grows by 120 items an hour; a maximum of 14 is enough."},
		{6, 60 * second, 0, 10, func(s *scenario) { // a trace that the duration cuts
			s.Queues[0].Arrivals = simulation.Arrivals{}
			s.Queues[0].Trace = []simulation.Arrival{{Items: 60}, {At: 4 * hour, Items: 6000, Service: hour}}
		}, "Load: 15/h x 60s = 0.25 Jobs at work, 0.25 with startup; maximum 10. Fine: 2 % of the maximum is used."},
		{6, 60 * second, 0, 10, func(s *scenario) { // nearly all items are of the second row
			s.Queues[0].Arrivals, s.Duration = simulation.Arrivals{}, 10*hour
			s.Queues[0].Trace = []simulation.Arrival{{Service: 10 * hour}, {Items: 35999}}
		}, "Load: 1/s x 61s = 61 Jobs at work, 61 with startup; maximum 10. Saturated: the queue grows by 3010 items an hour; a maximum of 68 is enough."},
		{6, 60 * second, 0, 10, func(s *scenario) { daily(s); s.Duration = 6 * hour },
			"Load: 2/m x 60s = 2 Jobs at work, 2 with startup; maximum 10. Fine: 20 % of the maximum is used."},
		{6, 60 * second, 0, 3, func(s *scenario) { daily(s); s.Duration = 6 * hour },
			"Load: 2/m x 60s = 2 Jobs at work, 2 with startup; maximum 3. Fine: 67 % of the maximum is used."},
		{6, 60 * second, 0, 10, func(s *scenario) { daily(s); s.Duration = 60 * hour }, // two days of 3 a minute, and half a day
			"Load: 3/m x 60s = 3 Jobs at work, 3 with startup; maximum 10. Fine: 30 % of the maximum is used."},
		{6, 60 * second, 0, 10, func(s *scenario) { // a single burst
			s.Queues[0].Arrivals = simulation.Arrivals{Pattern: simulation.Bursts, Rates: []simulation.Rate{{Items: 240, Per: 24 * hour}}}
		}, "Load: 1/m x 60s = 1 Jobs at work, 1 with startup; maximum 10. Fine: 10 % of the maximum is used."},
	} {
		s := steady(tt.perMinute, tt.service, tt.startup, tt.most)
		if tt.change != nil {
			tt.change(&s)
		}
		b := s.built()
		require.NoError(t, b.Validate())
		require.Equal(t, tt.want, b.Capacity().String())
	}
}

// Items that arrive for less than a polling interval count once, and their mean is over the
// interval. All patterns give the same numbers as a trace of the same items.
func TestCapacityOfShortArrivals(t *testing.T) {
	at := func(pattern simulation.Pattern, items float64, per simulation.Duration) simulation.Arrivals {
		return simulation.Arrivals{Pattern: pattern, Rates: []simulation.Rate{{Items: items, Per: per}}}
	}
	for _, arrivals := range []simulation.Arrivals{{}, at(simulation.Bursts, 100, 10*second), at(simulation.Constant, 10, second),
		at(simulation.Poisson, 10, second), at(simulation.Daily, 10, second)} {
		s := steady(6, 60*second, 0, 1000)
		s.Policy.Spec.PollingInterval = new(int32(30))
		s.Duration = 10 * second
		if s.Queues[0].Arrivals = arrivals; arrivals.Pattern == "" {
			s.Queues[0].Trace = []simulation.Arrival{{Items: 100}}
		}
		b := s.built()
		require.InDelta(t, 100.0/30, b.Capacity().Arrivals, 1e-9, "%s", arrivals)
	}
}

// A run confirms the capacity: if a workload is saturated, the queue grows as fast as
// the capacity says, and if the maximum leaves headroom, the queue does not grow.
func TestCapacityAgreesWithRuns(t *testing.T) {
	saturated, headroom, draws := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := steady(float64(rapid.IntRange(1, 40).Draw(t, "items per minute")), drawDuration(t, 2*minute, "service"),
			drawDuration(t, minute, "startup"), rapid.Int32Range(1, 60).Draw(t, "max"))
		s.Seed = rapid.Uint64().Draw(t, "seed")
		s.Queues[0].Service.Shape = rapid.SampledFrom([]simulation.Shape{simulation.Fixed, simulation.Exponential}).Draw(t, "shape")
		s.Jobs.ItemsPerJob = rapid.Int64Range(1, 3).Draw(t, "items per Job")
		s.Jobs.Wait = hour
		s.Policy.Spec.PollingInterval = new(rapid.Int32Range(5, 60).Draw(t, "interval"))
		draws++
		b := s.built()
		of := b.Capacity()
		grown, length := 0.0, 14400.0
		r, err := simulation.Run(b, simulation.Options{})
		require.NoError(t, err)
		for _, tick := range r.Ticks {
			if tick.Seconds < length {
				grown = float64(tick.Queued)
			}
		}
		grown /= length
		said := fmt.Sprintf("%s: grows by %g items a second, not %g", of, grown, of.Growth)
		switch {
		case of.Utilization > 1.2:
			saturated++
			require.InDelta(t, of.Growth, grown, 0.15*of.Arrivals+0.01, said)
		case of.Utilization < 0.8:
			headroom++
			require.Less(t, grown, 0.1*of.Arrivals+0.01, said)
		}
	})
	t.Logf("of %d draws %d are saturated, %d have headroom", draws, saturated, headroom)
	require.Greater(t, saturated, draws/10)
	require.Greater(t, headroom, draws/10)
}

// Jobs whose times vary little are replaced at the same poll, nearly all of them.
func TestCapacityOfSmallVariation(t *testing.T) {
	s := steady(6, second/10, 25*second, 5)
	s.Queues[0].Service.Shape = simulation.Exponential
	b := s.built()
	require.Equal(t, "Load: 6/m x 0.1s = 0.01 Jobs at work, 2.51 with startup; maximum 5. A Job that ends is replaced at the next poll: 3 places. Fine: 60 % of the maximum is used.", b.Capacity().String())
	s.Jobs.ItemsPerJob = 1e15
	b = s.built()
	require.Equal(t, simulation.Fine, b.Capacity().Level, "at once")
}
