package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/simulation"
)

// The verdict begins with the capacity, compares the policies and names the troubles
// that occurred.
func TestVerdict(t *testing.T) {
	for flags, want := range map[string][]string{
		"--metric all --compare default,accurate": {
			"Load: 18/m x 45s = 13.5 Jobs at work, 19.5 with startup; maximum ",
			"accurate creates too many Jobs: ", "Time in which Jobs do no work: default "},
		"--metric waiting --compare default,accurate": {"default starves: ", "Wait of 95 % of the items: accurate "},
		"--metric all --compare accurate,accurate":    {"accurate no difference"},
		"--metric all": {"95 % of the items wait at most "},
		"--metric all --arrivals poisson:30/s --duration 2m": {"only the triggers"},
	} {
		_, out, said := call(t, workload+flags, "")
		for _, text := range want {
			require.Contains(t, out+said, text, flags)
		}
	}
}

// A saturated workload is called saturated, first of all, by how much, and under which
// maximum it is not: with that maximum the queue does not grow.
func TestVerdictOfASaturatedWorkload(t *testing.T) {
	const flags = "simulate -f testdata/manifest.yaml --service 30s --arrivals poisson:2/s --duration 2h --startup 5s --compare default,accurate --seeds 2"
	_, out, said := call(t, flags, "")
	require.Empty(t, said)
	_, table, _ := strings.Cut(out, "\n\n")
	_, verdict, _ := strings.Cut(table, "\n\n")
	require.True(t, strings.HasPrefix(verdict, "Load: 2/s x 30s = 60 Jobs at work, 70 with startup; maximum "), verdict)
	require.Contains(t, verdict, "Saturated: the queue grows by ")
	require.NotContains(t, out, "no trouble")
}

// Policies are compared by confidence intervals, one line for each objective.
func TestDifferences(t *testing.T) {
	runs := func(policy string, waits ...float64) (all []simulation.Result) {
		for _, w := range waits {
			var r simulation.Result
			r.Summary.Policy, r.Summary.Wait.P95, r.Summary.Arrived, r.Summary.Done = policy, w, 100, 100
			all = append(all, r)
		}
		return all
	}
	a, b, c := runs("a", 10, 12, 11), runs("b", 20, 23, 21), runs("c", 9.9, 12.2, 11)
	lines := differences([][]simulation.Result{b, a, c})
	require.Equal(t, []string{
		"Wait of 95 % of the items: a 11.0s; b 10.3s more (8.9s to 11.8s); c no difference.",
		"Time in which Jobs do no work: b 0s; a no difference; c no difference.",
	}, lines)
	b[0].Summary.Done, b[1].Summary.Done, b[2].Summary.Done = 90, 91, 89
	require.Equal(t, "Items left undone: a 0; b 10 more (8 to 12).", differences([][]simulation.Result{a, b})[0])
	require.Equal(t, "Wait of 95 % of the items: a 10.0s; b 10.0s more.", differences([][]simulation.Result{runs("a", 10, 10), runs("b", 20, 20)})[0])
	require.Equal(t, "Wait of 95 % of the items: a 10.0s; b 10.0s more, under one seed.", differences([][]simulation.Result{a[:1], b[:1]})[1])
}

// An observer counts, from the events alone, what the troubles claim.
type observer struct {
	delivered                   map[int64]bool // Jobs that had an item
	succeeded                   []int64
	unfinished                  map[int64]bool
	most                        int
	arrived, done, lost, double int64
	rejected                    int64
}

func (o *observer) see(e simulation.Event) {
	switch e.Kind {
	case simulation.Arrived:
		o.arrived++
	case simulation.Delivered:
		o.delivered[e.Job] = true
	case simulation.Done:
		o.done++
	case simulation.Duplicated:
		o.double++
	case simulation.Lost:
		o.lost++
	case simulation.Created:
		o.unfinished[e.Job] = true
		o.most = max(o.most, len(o.unfinished))
	case simulation.Rejected:
		o.rejected += e.Number
	case simulation.Succeeded:
		o.succeeded = append(o.succeeded, e.Job)
		delete(o.unfinished, e.Job)
	case simulation.Failed:
		delete(o.unfinished, e.Job)
	}
}

// Every claim about a run is one of its events', and no trouble that occurred is
// left out. StarvedPolls is checked by package simulation, in TestAudit.
func TestTroublesAreEvidence(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	said := map[string]int{}
	for range 600 {
		s := simulation.Scenario{Seed: random.Uint64(), Duration: simulation.Duration(20 * time.Minute), Drain: new(simulation.Duration(10 * time.Minute))}
		q := simulation.Queue{Metric: simulation.Metric(pick("all", "waiting"))}
		require.NoError(t, q.Arrivals.UnmarshalText([]byte(pick("poisson:3/m", "constant:12/m", "bursts:30/5m"))))
		require.NoError(t, q.Service.UnmarshalText([]byte(pick("10s", "exp:1m", "2m"))))
		if random.IntN(4) == 0 {
			q.VisibilityTimeout = simulation.Duration(time.Minute)
		}
		s.Queues = []simulation.Queue{q}
		s.Jobs.Startup.Mean = simulation.Duration(time.Duration(random.IntN(60)) * time.Second)
		if random.IntN(4) == 0 {
			s.Jobs.FailureProbability, s.Jobs.Acknowledge = 0.2, simulation.Acknowledge(pick("start", "end"))
			s.Jobs.BackoffLimit = new(int64(0))
		}
		p := policy{Name: "it"}
		p.Spec.MaxReplicaCount = new(int32(2 + random.IntN(40)))
		of, err := parseRelease(pick(spec, "2.4", "2.18", "2.21"))
		require.NoError(t, err)
		p.Release = of
		p.Spec.ScalingStrategy.Strategy = pick("default", "accurate", "eager", "custom")
		p.Spec.MinReplicaCount = new(int32(random.IntN(2) * random.IntN(20)))
		s.Policy, err = p.build(1)
		require.NoError(t, err)
		if random.IntN(4) == 0 {
			s.Clusters = []simulation.Cluster{{ListAge: simulation.Duration(20 * time.Second), Outages: []simulation.Outage{
				{From: simulation.Duration(2 * time.Minute), Until: simulation.Duration(6 * time.Minute), Kind: simulation.OutageKind(pick("rejects", "noStart"))},
			}}}
		}
		o := &observer{delivered: map[int64]bool{}, unfinished: map[int64]bool{}}
		r, err := simulation.Run(s, simulation.Options{SummaryOnly: true, Observe: o.see})
		require.NoError(t, err)
		var want []string
		idle := int64(0)
		for _, j := range o.succeeded {
			if !o.delivered[j] {
				idle++
			}
		}
		claim := func(holds bool, format string, args ...any) {
			if holds {
				want = append(want, fmt.Sprintf("it "+format, args...))
			}
		}
		claim(idle > 1 && idle*20 > r.Summary.JobsCreated, "creates too many Jobs: %d of %d found no item.", idle, r.Summary.JobsCreated)
		claim(o.double > 0, "does work twice: %d times.", o.double)
		claim(o.most > int(*p.Spec.MaxReplicaCount), "runs up to %d Jobs more than the maximum.", o.most-int(*p.Spec.MaxReplicaCount))
		claim(o.rejected > 0, "is rejected: the API server did not create %d Jobs.", o.rejected)
		claim(o.lost > 0, "loses %d of %d items.", o.lost, o.arrived)
		claim(o.arrived > o.done+o.lost, "leaves %d of %d items undone.", o.arrived-o.done-o.lost, o.arrived)
		var got []string
		for _, line := range troubles([]simulation.Result{*r}) {
			said[strings.Fields(line)[1]]++
			if !strings.Contains(line, "starves") {
				got = append(got, line)
			}
		}
		require.Equal(t, want, got)
	}
	t.Log(said)
	for _, verb := range []string{"starves:", "creates", "is", "does", "runs", "loses", "leaves"} {
		require.GreaterOrEqual(t, said[verb], 10, "the workloads rarely have this trouble: %s", verb)
	}
}
