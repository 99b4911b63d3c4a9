package study_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
	"github.com/scaledjob/scaledjob/strategy"
)

var long = flag.Int("long", 0, "`number` of workloads and studies to check, such as 200, which takes minutes")

// workload is a random one, with a minimum, failures, slow starts, limited pods, releases of
// KEDA and custom.
func workload(random *rand.Rand) simulation.Scenario {
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	s := simulation.Scenario{Seed: random.Uint64(), Duration: simulation.Duration(4 * time.Hour)}
	service := time.Duration(5+random.IntN(60)) * time.Second
	q := simulation.Queue{Metric: pick("all", "waiting"), Arrivals: simulation.Poisson(0.05 + random.Float64()), Service: simulation.Exp(service)}
	if random.IntN(2) == 0 {
		q.Service = simulation.Fixed(service)
	}
	s.Queues = []simulation.Queue{q}
	s.Jobs.Startup = simulation.Fixed(time.Duration(random.IntN(90)) * time.Second)
	if random.IntN(4) == 0 {
		s.Jobs.FailureProbability, s.Jobs.Backoff = 0.3, simulation.Duration(time.Minute)
	}
	if random.IntN(4) == 0 {
		s.Clusters = []simulation.Cluster{{Capacity: new(int64(3 + random.IntN(20)))}}
	}
	least, most := int32(random.IntN(2)*random.IntN(6)), int32(6+random.IntN(40))
	if random.IntN(2) == 0 {
		of := keda.ScalingStrategy{Strategy: pick("default", "accurate", "eager", "custom")}
		if of.Strategy == "custom" {
			of.CustomScalingRunningJobPercentage, of.CustomScalingQueueLengthDeduction = "0.5", new(int32(1))
		}
		release, _ := keda.Release(pick("2.4", "2.18", "2.21"))
		s.Autoscaler = simulation.KEDA{Profile: release, Spec: keda.Spec{MinReplicaCount: &least, MaxReplicaCount: &most, ScalingStrategy: of}}
		return s
	}
	of, _ := strategy.FromSpec(pick("default", "accurate", "eager", "pendingAware"), strategy.Parameters{})
	p := simulation.NewScaling(of, int64(most))
	p.Policy.Bounds.Min = int64(least)
	s.Autoscaler = p
	return s
}

// rises reports whether the unfinished items of a run that is several times as long as a
// probe rise from its first half to its second by a share of the items that arrive. It reads
// events alone.
func rises(t *testing.T, s simulation.Scenario, load float64) (share float64) {
	const items = 150_000
	s, _, _ = s.Repeated(load, items)
	var quarter, last float64
	var sums [4]float64
	var n [4]float64
	end := time.Duration(s.Duration).Seconds()
	r, err := simulation.Run(s, simulation.Options{SummaryOnly: true, EachPoll: func(tick simulation.Tick) error {
		k := min(3, int(4*tick.Seconds/end))
		sums[k] += float64(tick.Queued + tick.InProgress)
		n[k]++
		return nil
	}})
	require.NoError(t, err)
	quarter, last = sums[1]/n[1], sums[3]/n[3]
	return (last - quarter) / (float64(r.Summary.Arrived) / 2)
}

// The queue grows in long runs where a probe says so, and is flat elsewhere. With -long it
// is more workloads, and all loads; a few percent of the loads are so near to a change that nobody can tell.
func TestProbesAgreeWithLongRuns(t *testing.T) {
	workloads := 3
	if *long > 0 {
		workloads = *long
	}
	random := rand.New(rand.NewPCG(5, 6))
	checked, wrong, grow := 0, 0, 0
	for n := range workloads {
		if n > 0 && n%10 == 0 {
			t.Logf("%d workloads: of %d loads %d grow, and %d differ", n, checked, grow, wrong)
		}
		s := workload(random)
		c := capacity(t, s)
		require.NoError(t, c.Measure(study.Options{}))
		for i := range c.Probes {
			p := &c.Probes[i]
			if *long == 0 && i%5 != 0 {
				continue
			}
			checked++
			share := rises(t, s, p.Load/c.Load.Arrivals)
			if p.Empty.Grows {
				grow++
			}
			if p.Empty.Grows && share < 0.001 || !p.Empty.Grows && share > 0.02 {
				wrong++
				t.Logf("%s at %.4g/s: grows %v by %.4g, long run %.4f", c.Policy, p.Load, p.Empty.Grows, p.Empty.Growth, share)
			}
		}
	}
	t.Logf("of %d loads of %d workloads %d grow, and %d differ", checked, workloads, grow, wrong)
	require.LessOrEqual(t, wrong*50, checked, "2 %%")
	require.Greater(t, grow*10, checked)
}

// The 95 % intervals of ten seeds cover the mean of many runs. With -long it is more studies.
func TestCoverage(t *testing.T) {
	studies, runs, least := 40, 400, 88
	if *long > 0 {
		studies, runs, least = *long, 2000, 90
	}
	s := steady(0.15, 40*time.Second)
	s.Duration, s.Drain = simulation.Duration(10*time.Minute), new(simulation.Duration(0))
	policies := under(t, 7, "accurate", "default")
	s.Seed = 1_000_000
	many, err := study.Replicate(s, policies, study.Options{Seeds: runs, SummaryOnly: true})
	require.NoError(t, err)
	values := map[string]func(*simulation.Summary) float64{"p95": wait, "idle": idle, "undone": study.Undone}
	covered, cannot, right := map[string]int{}, 0, 0
	for k := range studies {
		s.Seed = uint64(1 + 1000*k)
		of, err := study.Replicate(s, policies, study.Options{Seeds: 10, SummaryOnly: true})
		require.NoError(t, err)
		for name, value := range values {
			e, truth := of.Estimate(0, value), many.Estimate(0, value)
			half := (truth.High - truth.Low) / 2
			if e.Low-half <= truth.Mean && truth.Mean <= e.High+half {
				covered[name]++
			}
			if d := of.Difference(1, 0, value); d.Word == study.TooClose {
				cannot++
				if d.Low <= many.Difference(1, 0, value).Mean && many.Difference(1, 0, value).Mean <= d.High {
					right++
				}
			}
		}
	}
	t.Logf("of %d studies: %v; cannot tell %d times, and the difference of %d runs was inside %d times", studies, covered, cannot, runs, right)
	for name, n := range covered {
		require.GreaterOrEqual(t, n*100, studies*least, name)
	}
}
