package simulation_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// servers is a system of c servers that never stop: Jobs of the minimum, which wait for
// items as long as the run goes on. Items take a second on average, and there are some
// 20,000 of them.
func servers(c int32, arrivals float64, seed uint64) scenario {
	s := scenario{Scenario: simulation.Scenario{
		Seed: seed, Duration: simulation.Duration(20_000 / arrivals * float64(second)), Drain: new(simulation.Duration(0)),
		Queues: []simulation.Queue{{
			Arrivals: simulation.Poisson(arrivals),
			Service:  simulation.Exp(time.Second),
		}},
		Jobs: simulation.JobBehavior{DrainQueue: true, Wait: 1000 * hour},
	}}
	s.Policy.Spec.MinReplicaCount, s.Policy.Spec.MaxReplicaCount = &c, &c
	s.Policy.Spec.PollingInterval = new(int32(1 << 30))
	return s
}

// interval is the mean of the measurements, and half of its 99 % confidence interval by
// Student's t with 19 degrees of freedom.
func interval(t *testing.T, measure func(seed uint64) float64) (mean, half float64) {
	const n, t99 = 20, 2.861
	sum, squares := 0.0, 0.0
	for seed := range uint64(n) {
		x := measure(seed)
		sum += x
		squares += x * x
	}
	mean = sum / n
	return mean, t99 * math.Sqrt((squares-sum*mean)/(n-1)/n)
}

// erlangC is the probability that an item has to wait, when c servers are offered a
// load of a.
func erlangC(c int32, a float64) float64 {
	b := 1.0 // Erlang's B, by its recursion
	for k := 1.0; k <= float64(c); k++ {
		b = a * b / (k + a*b)
	}
	return b / (1 - (1-b)*a/float64(c))
}

// The mean wait of M/M/c is C(c, a) / (c - a), in mean times of service.
func TestWaitsOfMMc(t *testing.T) {
	for _, p := range []struct {
		c int32
		a float64 // offered load
	}{{1, 0.6}, {2, 1.5}, {3, 2.2}, {5, 4}, {10, 8}} {
		t.Run(fmt.Sprintf("c=%d/a=%g", p.c, p.a), func(t *testing.T) {
			t.Parallel()
			mean, half := interval(t, func(seed uint64) float64 {
				r, err := simulation.Run(servers(p.c, p.a, seed).built(), simulation.Options{SummaryOnly: true})
				require.NoError(t, err)
				return r.Summary.Wait.Mean
			})
			want := erlangC(p.c, p.a) / (float64(p.c) - p.a)
			t.Logf("want %.4f s, got %.4f s +- %.4f s", want, mean, half)
			require.InDelta(t, want, mean, half)
			require.Less(t, half, want/8, "too wide to tell anything")
		})
	}
}

// The mean number that wait in M/M/1 is rho^2 / (1 - rho), and rho are in work.
func TestQueueLengthsOfMM1(t *testing.T) {
	for _, rho := range []float64{0.3, 0.5, 0.6, 0.7, 0.8} {
		t.Run(fmt.Sprintf("rho=%g", rho), func(t *testing.T) {
			t.Parallel()
			var inProgress []float64
			mean, half := interval(t, func(seed uint64) float64 {
				r, err := simulation.Run(servers(1, rho, 100+seed).built(), simulation.Options{SummaryOnly: true})
				require.NoError(t, err)
				inProgress = append(inProgress, r.Summary.MeanInProgress)
				return r.Summary.MeanQueue
			})
			want := rho * rho / (1 - rho)
			t.Logf("want %.4f, got %.4f +- %.4f", want, mean, half)
			require.InDelta(t, want, mean, half)
			require.Less(t, half, want/8, "too wide to tell anything")

			mean, half = interval(t, func(seed uint64) float64 { return inProgress[seed] })
			require.InDelta(t, rho, mean, half)
		})
	}
}
