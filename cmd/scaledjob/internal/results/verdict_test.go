package results

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// studyOf is a study of policies whose waits are these.
func studyOf(policies map[string][]float64) *study.Study {
	s := &study.Study{Sampling: "seeds"}
	for _, policy := range slices.Sorted(maps.Keys(policies)) {
		of := study.Sample{Policy: policy}
		for _, w := range policies[policy] {
			var r simulation.Summary
			r.Policy, r.Wait.P95, r.Arrived, r.Done = policy, w, 100, 100
			of.Runs = append(of.Runs, r)
		}
		s.Seeds, s.Samples = len(of.Runs), append(s.Samples, of)
	}
	return s
}

// Policies are compared by confidence intervals, one line for each objective, in three words.
func TestDifferences(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10, 12, 11}, "b": {20, 23, 21}, "c": {9.9, 12.2, 11}})
	require.Equal(t, []string{
		"Wait of 95 % of the items: a 11.0s; b differs by +10.3s (+8.9s to +11.8s); c cannot tell +30ms (-350ms to +410ms), 389 seeds would.",
		"Time in which Jobs do no work: a 0s; b same; c same.",
	}, differences(s))
	for i, done := range []int64{90, 91, 89} {
		s.Samples[1].Runs[i].Done = done
	}
	require.Equal(t, "Items left undone: a 0; b differs by +10 (+7.5 to +12); c same.", differences(s)[0])
	require.Equal(t, "Wait of 95 % of the items: a 10.0s; b differs by +10.0s.", differences(studyOf(map[string][]float64{"a": {10, 10}, "b": {20, 20}}))[0])
	s = studyOf(map[string][]float64{"a": {10}, "b": {20}})
	s.Sampling, s.Blocks = "fewBlocks", 4
	require.Equal(t, "Wait of 95 % of the items: a 10.0s; b cannot tell +10.0s, an interval needs 10 blocks of a trace.", differences(s)[0])
}

// The table and the verdict have the mean of the same runs.
func TestTableAndVerdict(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10, 12, 11}})
	require.Equal(t, "11.0s ±2.5s", columnOf("p95").cell(s, 0))
	require.Contains(t, alone(s), "95 % of the items wait at most 11.0s (8.5s to 13.5s); ")
}

// Causes that are not of the strategy are named, with the number of runs in which they occurred.
func TestCauses(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {1, 1}})
	for i := range s.Samples[0].Runs {
		r := &s.Samples[0].Runs[i]
		r.Polls, r.UnreadablePolls, r.LongestPending = 100, 7, 3600
	}
	s.Samples[0].Runs[0].UnknownPolls = 8
	require.Equal(t, []string{
		"a cannot read a metric in 7 of 100 polls.",
		"a cannot list Jobs in 4 of 100 polls: an API server does not answer (in 1 of 2 runs).",
		"a has Jobs that stay pending for up to 1h.",
	}, troubles(s, 0, 5))
}

// The cause of a growing queue is in most of its polls, or is long.
func TestCauseOfGrowth(t *testing.T) {
	rule := func(rule string, starved int64) []simulation.RuleCount {
		return []simulation.RuleCount{{Rule: rule, Polls: starved + 1, Starved: starved}, {Rule: "other", Polls: 99 - starved}}
	}
	for want, r := range map[string]simulation.Summary{
		"; as many Jobs as the maximum exist after 51 of 100 polls":                              {Polls: 100, FullPolls: 51, Rules: rule("r", 60)},
		"; in 61 of 100 polls, R < min: the queue is ignored":                                    {Polls: 100, FullPolls: 50, Rules: rule("the minimum; the queue is ignored", 60), LongestPending: 100},
		"; in 61 of 100 polls, the strategy asks for fewer Jobs than the queue needs":            {Polls: 100, Rules: rule("the strategy's answer", 60)},
		"; Jobs stay pending for up to 1m40s":                                                    {Polls: 100, Rules: rule("r", 50), LongestPending: 100},
		"; 50 of 100 polls leave items without a Job, mostly by the rule: the strategy's answer": {Polls: 100, Rules: rule("the strategy's answer", 50), StarvedPolls: 50, LongestPending: 60},
		"": {Polls: 100, Rules: rule("r", 10)},
	} {
		require.Equal(t, want, cause(&study.Trend{Summary: r}, &simulation.Scenario{}))
	}
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
	case "arrived":
		o.arrived++
	case "delivered":
		o.delivered[e.Job] = true
	case "done":
		o.done++
	case "duplicated":
		o.double++
	case "lost":
		o.lost++
	case "created":
		o.unfinished[e.Job] = true
		o.most = max(o.most, len(o.unfinished))
	case "rejected":
		o.rejected += e.Number
	case "succeeded":
		o.succeeded = append(o.succeeded, e.Job)
		delete(o.unfinished, e.Job)
	case "failed":
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
		q := simulation.Queue{Metric: pick("all", "waiting")}
		require.NoError(t, q.Arrivals.UnmarshalText([]byte(pick("poisson:3/m", "constant:12/m", "bursts:30/5m"))))
		require.NoError(t, q.Service.UnmarshalText([]byte(pick("10s", "exp:1m", "2m"))))
		if random.IntN(4) == 0 {
			q.VisibilityTimeout = simulation.Duration(time.Minute)
		}
		s.Queues = []simulation.Queue{q}
		s.Jobs.Startup = simulation.Fixed(time.Duration(random.IntN(60)) * time.Second)
		if random.IntN(4) == 0 {
			s.Jobs.FailureProbability, s.Jobs.Acknowledge = 0.2, pick("start", "end")
			s.Jobs.BackoffLimit = new(int64(0))
		}
		p := scenario.Policy{Name: "it"}
		p.Spec.MaxReplicaCount = new(int32(2 + random.IntN(40)))
		of, err := input.ParseRelease(pick(input.Spec, "2.4", "2.18", "2.21"))
		require.NoError(t, err)
		p.Release = of
		p.Spec.ScalingStrategy.Strategy = pick("default", "accurate", "eager", "custom")
		p.Spec.MinReplicaCount = new(int32(random.IntN(2) * random.IntN(20)))
		s.Policy, err = p.Build(1)
		require.NoError(t, err)
		if random.IntN(4) == 0 {
			s.Clusters = []simulation.Cluster{{ListAge: simulation.Duration(20 * time.Second), Outages: []simulation.Outage{
				{From: simulation.Duration(2 * time.Minute), Until: simulation.Duration(6 * time.Minute), Kind: pick("rejects", "noStart")},
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
		one := &study.Study{Sampling: "exact", Seeds: 1, Samples: []study.Sample{{Policy: "it", Runs: []simulation.Summary{r.Summary}}}}
		for _, line := range troubles(one, 0, s.Jobs.Startup.Mean().Seconds()) {
			said[strings.Fields(line)[1]]++
			if !strings.Contains(line, "starves") && !strings.Contains(line, "stay pending") {
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
