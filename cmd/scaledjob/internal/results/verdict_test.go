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
	s := &study.Study{}
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

// findingsOf are the findings of a study, of policies that keep up.
func findingsOf(s *study.Study) *Findings {
	r := &Findings{Study: s, Capacities: make([]study.Capacity, len(s.Samples)), Policies: make([]scenario.Policy, len(s.Samples))}
	for i := range r.Capacities {
		r.Capacities[i].Policy = s.Samples[i].Policy
		r.Capacities[i].Load = simulation.Load{Arrivals: 0.5, Max: 20}
	}
	r.units = newUnits(s, r.Capacities[0].Load)
	return r
}

// Policies are compared by confidence intervals, in words that need no statistics.
func TestDifferences(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10, 12, 11}, "b": {20, 23, 21}, "c": {9.9, 12.2, 11}})
	r := findingsOf(s)
	require.Equal(t, "95 % wait at most: a 11 s (95 % interval: 8.5 to 13 s); b +10 s (95 % interval: +8.9 to +12 s); "+
		"c +0 s, but too close to call (95 % interval: -0.3 to +0.4 s) (--seeds 389 would decide).", r.differences(columnOf("p95")))
	require.Empty(t, r.differences(columnOf("idle")))
	require.Equal(t, "a and c are too close to call: 95 % of the items wait at most 11 s (b: 21 s, c: 11 s).", r.answer(r.Best()))
	for i, done := range []int64{90, 91, 89} {
		s.Samples[1].Runs[i].Done = done
	}
	require.Equal(t, "Not done: a 0; b +10 (95 % interval: +7.5 to +12); c the same.", r.differences(columnOf("undone")))
	require.Equal(t, "a and c are too close to call: 95 % of the items wait at most 11 s (b: 21 s, 10 items not done, c: 11 s).", r.answer(r.Best()))
	r = findingsOf(studyOf(map[string][]float64{"a": {20, 20}, "b": {10, 10}}))
	require.Equal(t, "Use b: 95 % of the items wait at most 10 s (a: 20 s).", r.answer(r.Best()))
	r = findingsOf(studyOf(map[string][]float64{"a": {10.5, 10.5}, "b": {10, 10}}))
	for i := range r.Study.Samples[1].Runs {
		r.Study.Samples[1].Runs[i].BusySeconds = 60
	}
	require.Equal(t, "Use a: 95 % of the items wait at most 10 s (b: 10 s for 1 pod-min).", r.answer(r.Best()), "half a second is not worth a pod")
	r = findingsOf(studyOf(map[string][]float64{"a": {10, 10}, "b": {10, 10}}))
	require.Equal(t, "a and b do the same: 95 % of the items wait at most 10 s.", r.answer(r.Best()))
	r = findingsOf(studyOf(map[string][]float64{"a": {10}, "b": {20}}))
	require.Equal(t, "95 % wait at most: a 10 s; b +10 s, but too close to call (an interval needs --seeds 10).", r.differences(columnOf("p95")))
	r.Capacities[0].Present.Empty.Grows, r.Capacities[0].Present.Long.Grows = true, true
	require.Equal(t, "Use b: 95 % of the items wait at most 20 s (a: does not keep up).", r.answer(r.Best()))
}

// A quantity has one unit in an output: rates below one a second are given for a minute or an hour.
func TestUnits(t *testing.T) {
	s := studyOf(map[string][]float64{"a": {10}})
	for perSecond, want := range map[float64]string{2: "2 items/s", 0.125: "7.5 items/min", 0.0186: "1.12 items/min", 0.001: "3.6 items/h"} {
		u := newUnits(s, simulation.Load{Arrivals: perSecond})
		require.Equal(t, want, u.text(perSecond, rate))
	}
	for seconds, want := range map[float64]string{0.04: "40 ms", 33: "33 s", 170: "170 s", 900: "15 min", 4 * 3600: "4 h"} {
		u := newUnits(studyOf(map[string][]float64{"a": {seconds}}), simulation.Load{})
		require.Equal(t, want, u.text(seconds, wait))
	}
}

// The loads that a policy sustains are ranges that it keeps up with.
func TestSustained(t *testing.T) {
	r := findingsOf(studyOf(map[string][]float64{"a": {10}}))
	probes := []study.Probe{{Load: 0.01}, {Load: 2}}
	for want, c := range map[string]study.Capacity{
		"up to at least 120 items/min":                           {Probes: probes, Sustained: 2},
		"below 7.5 items/min, and again from 30 to 75 items/min": {Probes: probes, Sustained: 0.125, Growing: []study.Interval{{Low: 0.125, High: 0.5}, {Low: 1.25, High: 2}}},
		"from 30 to 120 items/min":                               {Probes: probes, Growing: []study.Interval{{High: 0.5}}},
		"at no load from 0.6 items/min on":                       {Probes: probes, Growing: []study.Interval{{High: 2}}},
		"below 60 items/min":                                     {Probes: probes, Sustained: 1, Growing: []study.Interval{{Low: 1, High: 2}}},
	} {
		require.Equal(t, want, r.sustained(&c))
	}
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
		"a has Jobs that stay pending for up to 1h.",
		"a cannot read a metric in 7 of 100 polls.",
		"a cannot list Jobs in 4 of 100 polls: an API server does not answer (in 1 of 2 runs).",
	}, troubles(s, 0, 5))
}

// The cause of a growing queue is in most of its polls, or is long.
func TestCauseOfGrowth(t *testing.T) {
	rule := func(rule string, starved int64) []simulation.RuleCount {
		return []simulation.RuleCount{{Rule: rule, Polls: starved + 1, Starved: starved}, {Rule: "other", Polls: 99 - starved}}
	}
	for want, r := range map[string]simulation.Summary{
		", because the maximum is reached in 51 of 100 polls":                                       {Polls: 100, FullPolls: 51, Rules: rule("r", 60)},
		", because in 61 of 100 polls KEDA ignores the queue while fewer Jobs run than the minimum": {Polls: 100, FullPolls: 50, Rules: rule("the minimum; the queue is ignored", 60), LongestPending: 100},
		", because in 61 of 100 polls the strategy asks for fewer Jobs than the queue needs":        {Polls: 100, Rules: rule("the strategy's answer", 60)},
		", because Jobs stay pending for up to 1m40s":                                               {Polls: 100, Rules: rule("r", 50), LongestPending: 100},
		", because items have no Job in 50 of 100 polls; the rule is mostly: the strategy's answer": {Polls: 100, Rules: rule("the strategy's answer", 50), StarvedPolls: 50, LongestPending: 60},
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
		s.Autoscaler, err = p.Build(1)
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
		claim(o.lost > 0, "loses %d of %d items.", o.lost, o.arrived)
		claim(o.arrived > o.done+o.lost, "leaves %d of %d items undone.", o.arrived-o.done-o.lost, o.arrived)
		claim(o.most > int(*p.Spec.MaxReplicaCount), "runs up to %d Jobs more than the maximum.", o.most-int(*p.Spec.MaxReplicaCount))
		claim(idle > 1 && idle*20 > r.Summary.JobsCreated, "creates too many Jobs: %d of %d find no item.", idle, r.Summary.JobsCreated)
		claim(o.double > 0, "does work twice: %d times.", o.double)
		claim(o.rejected > 0, "is rejected: the API server does not create %d Jobs.", o.rejected)
		var got []string
		one := &study.Study{Exact: true, Seeds: 1, Samples: []study.Sample{{Policy: "it", Runs: []simulation.Summary{r.Summary}}}}
		for _, line := range troubles(one, 0, s.Jobs.Startup.Mean().Seconds()) {
			said[strings.Fields(line)[1]]++
			if !strings.Contains(line, "starts") && !strings.Contains(line, "stay pending") && !strings.Contains(line, "reaches its maximum") {
				got = append(got, line)
			}
		}
		require.Equal(t, want, got)
	}
	t.Log(said)
	for _, verb := range []string{"starts", "creates", "is", "does", "runs", "loses", "leaves"} {
		require.GreaterOrEqual(t, said[verb], 10, "the workloads rarely have this trouble: %s", verb)
	}
}
