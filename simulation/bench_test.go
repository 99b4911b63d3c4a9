package simulation_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// month is 30 days with about that many items, under the defaults of a ScaledJob.
func month(items float64) simulation.Scenario {
	days := 30 * 24 * hour
	s := simulation.Scenario{
		Seed: 1, Duration: days, Autoscaler: manifest{}.policy(1),
		Queues: []simulation.Queue{{
			Arrivals: simulation.Poisson(items / time.Duration(days).Seconds()),
			Service:  simulation.Exp(30 * time.Second),
		}},
	}
	s.Jobs.Startup = simulation.Fixed(20 * time.Second)
	return s
}

func BenchmarkRun(b *testing.B) {
	for _, as := range []string{"spec", "2.21", "placement"} {
		for _, n := range []float64{10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/month/n=%g", as, n), func(b *testing.B) {
				s := month(n)
				s.Autoscaler = manifest{As: as}.policy(1)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := simulation.Run(s, simulation.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A month with a million items takes no more than 100 MB, even if nothing were ever freed.
func TestMonth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, as := range []string{"spec", "2.21"} {
		s := month(1_000_000)
		s.Autoscaler = manifest{As: as}.policy(1)
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := simulation.Run(s, simulation.Options{})
		require.NoError(t, err)
		runtime.ReadMemStats(&now)
		allocated := (now.TotalAlloc - before.TotalAlloc) / 1_000_000
		t.Logf("%d items, %d MB allocated", r.Summary.Arrived, allocated)
		require.InDelta(t, 1_000_000, r.Summary.Arrived, 5_000)
		require.Equal(t, r.Summary.Arrived, r.Summary.Done)
		require.LessOrEqual(t, allocated, uint64(100))
	}
}
