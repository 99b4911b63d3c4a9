package simulation_test

import (
	"fmt"
	"hash/fnv"
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
		Seed: 1, Duration: days, Policy: manifest{}.policy(1),
		Queues: []simulation.Queue{{
			Arrivals: simulation.Arrivals{Pattern: simulation.Poisson, Rates: []simulation.Rate{{Items: items, Per: days}}},
			Service:  simulation.Distribution{Shape: simulation.Exponential, Mean: 30 * second},
		}},
	}
	s.Jobs.Startup.Mean = 20 * second
	return s
}

func BenchmarkRun(b *testing.B) {
	for _, as := range []string{"spec", "2.21", "placement"} {
		for _, n := range []float64{10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/month/n=%g", as, n), func(b *testing.B) {
				s := month(n)
				s.Policy = manifest{As: as}.policy(1)
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

// A month with a million items: the same to the byte on two runs, and no more than
// 150 MB, even if nothing were ever freed.
func TestMonth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	var before, after runtime.MemStats
	var prints []uint64
	for range 2 {
		runtime.ReadMemStats(&before)
		from := time.Now()
		r, err := simulation.Run(month(1_000_000), simulation.Options{})
		took := time.Since(from)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		allocated := (after.TotalAlloc - before.TotalAlloc) / 1_000_000
		t.Logf("%d items, %v, %d MB", r.Summary.Arrived, took.Round(time.Millisecond), allocated)
		require.InDelta(t, 1_000_000, r.Summary.Arrived, 5_000)
		require.Equal(t, r.Summary.Arrived, r.Summary.Done)
		require.LessOrEqual(t, allocated, uint64(150))
		h := fnv.New64a()
		_, _ = h.Write([]byte(marshal(t, r)))
		prints = append(prints, h.Sum64())
	}
	require.Equal(t, prints[0], prints[1])
}
