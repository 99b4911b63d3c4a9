package simulation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

// constantly is a policy of one's own: so many Jobs in each poll, until it has created the
// limit, and then it deletes the first.
type constantly struct{ each, limit int64 }

func (c constantly) Settings() simulation.Settings {
	return simulation.Settings{Name: "constantly", Interval: 10 * second, Max: c.limit, Clusters: true}
}

func (c constantly) Decide(p simulation.Observation) simulation.Decision {
	before, _ := p.Checkpoint.(int64)
	d := simulation.Decision{Create: min(c.each, c.limit-before), Checkpoint: before + c.each, Rule: "always"}
	if d.Create <= 0 && len(p.Clusters[0].Jobs) > 0 {
		d.Delete = []jobs.JobRef{{Cluster: p.Clusters[0].Name, UID: p.Clusters[0].Jobs[0].UID}, {Cluster: "none", UID: "1"}, {UID: "7"}}
	}
	return d
}

func TestOwnPolicy(t *testing.T) {
	s := story(hour, items(0, 9))
	s.Duration = minute
	of := s.built()
	of.Autoscaler = constantly{2, 4}
	require.NoError(t, of.Validate())
	r := play(t, of)
	require.Equal(t, []int64{2, 2, 0, 0, 0, 0, 0}, created(r, 9))
	require.Equal(t, "constantly", r.Summary.Policy)
	require.Equal(t, []simulation.RuleCount{{Rule: "always", Polls: 7, Starved: 6}}, r.Summary.Rules)
	require.Len(t, r.Ticks, 7)
	require.Zero(t, r.Ticks[6].Running, "one is deleted in each poll, until there is none")
	require.Zero(t, r.Summary.ExcessOverMax)
}

// delayed is a scenario whose list of Jobs is 40 s old, and in which Jobs are pending all
// the time.
func delayed(as string) scenario {
	s := story(hour, items(0, 5))
	s.Jobs.Startup = simulation.Fixed(time.Hour)
	s.Policy = manifest{As: as, Spec: spec("default", 100)}
	s.Clusters = []simulation.Cluster{{ListAge: 40 * second}}
	return s
}

// Package scaling and placement know which Jobs were created since the list; KEDA does
// not, and creates them again.
func TestListAge(t *testing.T) {
	require.Equal(t, []int64{5, 0, 0, 0}, created(play(t, delayed("spec")), 4))
	require.Equal(t, []int64{5, 0, 0, 0}, created(play(t, delayed("placement")), 4))
	require.Equal(t, []int64{5, 5, 0, 0}, created(play(t, delayed("2.21")), 4), "at 30s the list is of before the start, at 60s of 20s")
	s := delayed("2.21")
	s.Clusters[0].ListAge = 0
	require.Equal(t, []int64{5, 0, 0, 0}, created(play(t, s), 4))
	s.Clusters[0].ListAge = 60 * second // of just before a poll
	require.Equal(t, []int64{5, 5, 5, 0}, created(play(t, s), 4))
}

// A Job that ended since the list counts as running.
func TestListAgeOfEndedJobs(t *testing.T) {
	s := story(10*second, items(0, 1), items(20*second, 1))
	s.Policy.Spec = spec("default", 1)
	s.Clusters = []simulation.Cluster{{ListAge: 25 * second}}
	require.Equal(t, []int64{1, 0, 1}, created(play(t, s), 3), "the list of 5s has the Job that ended at 10s")
}

// Each policy may have metrics of its own: the same queue is then shorter for some.
func TestMetricsOfPolicies(t *testing.T) {
	s := load("all", "default")
	p := simulation.KEDA{}
	s.Autoscaler = p
	whole := play(t, s)
	p.Metrics = []string{"waiting"}
	s.Autoscaler = p
	fewer := play(t, s)
	s.Queues[0].Metric, p.Metrics = "waiting", []string{""}
	s.Autoscaler = p
	require.Equal(t, fewer, play(t, s), "the queue's own")
	require.Greater(t, fewer.Summary.Wait.P95, whole.Summary.Wait.P95)
	p.Metrics = []string{"x"}
	s.Autoscaler = p
	require.ErrorContains(t, s.Validate(), `policy.metrics[0]: found "x"; use all, waiting or active`)
}

// While a metric cannot be read, nothing is created for it.
func TestMetricOutage(t *testing.T) {
	for _, as := range []string{"spec", "placement", "2.21"} {
		s := story(hour, items(0, 4))
		s.Policy.As = as
		s.Queues[0].Outages = []simulation.Outage{{From: 0, Until: 60 * second}}
		r := play(t, s)
		require.Equal(t, []int64{0, 0, 4, 0}, created(r, 4), as)
		require.Zero(t, r.Ticks[1].Metric)
		require.Equal(t, 4.0, r.Ticks[2].Metric)
	}
	s := story(hour, items(0, 4))
	s.Queues[0].Outages = []simulation.Outage{{Until: hour}}
	require.Equal(t, "no metric could be read, so the minimum only", play(t, s).Summary.Rules[0].Rule)
}

// While creates are rejected, Jobs are asked for in each poll and do not exist.
func TestRejects(t *testing.T) {
	for _, as := range []string{"spec", "2.21"} {
		s := story(hour, items(0, 4))
		s.Policy.As = as
		s.Clusters = []simulation.Cluster{{Outages: []simulation.Outage{{Until: 60 * second, Kind: "rejects"}}}}
		r := play(t, s)
		require.Equal(t, []int64{0, 0, 4, 0}, created(r, 4), as)
		require.Equal(t, int64(8), r.Summary.JobsRejected)
		require.Equal(t, []string{"0s rejected: 4", "30s rejected: 4"}, happens(t, s, 2*minute, "rejected"))
	}
	// Placement goes to another cluster.
	s := story(hour, items(0, 4))
	s.Policy.Spec = spec("pendingAware", 10)
	s.Clusters = []simulation.Cluster{{Name: "a", Outages: []simulation.Outage{{Until: hour, Kind: "rejects"}}}, {Name: "b"}}
	r := play(t, s)
	require.Equal(t, int64(4), r.Summary.JobsCreated)
	require.Len(t, happens(t, s, 2*minute, "delivered"), 4)
	require.Equal(t, int64(2), r.Summary.JobsRejected)
}

// Names say what differs from the defaults.
func TestPolicyNames(t *testing.T) {
	for want, m := range map[string]manifest{
		"default":                         {},
		"accurate, max 7":                 {Spec: spec("accurate", 7)},
		"accurate, subtracting pending":   {Spec: spec("accurate", 100), SubtractPending: true},
		"mine":                            {Name: "mine", Spec: spec("eager", 7)},
		"KEDA 2.18.3 default":             {As: "2.18"},
		"KEDA 2.21.0 custom 1 0.5, min 2": {As: "2.21", Spec: keda.Spec{MinReplicaCount: new(int32(2)), ScalingStrategy: keda.ScalingStrategy{Strategy: "custom", Parameters: strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(1)), CustomScalingRunningJobPercentage: "0.5"}}}},
		"placement pendingAware":          {As: "placement"},
		"eager, every 10s":                {Spec: keda.Spec{PollingInterval: new(int32(10)), ScalingStrategy: keda.ScalingStrategy{Strategy: "eager"}}},
	} {
		require.Equal(t, want, m.policy(1).Settings().Name)
	}
	s := manifest{Spec: keda.Spec{ScalingStrategy: keda.ScalingStrategy{Strategy: "custom", Parameters: strategy.Parameters{CustomScalingRunningJobPercentage: "0.5"}}}}.policy(1).Settings()
	require.True(t, strings.HasPrefix(s.Name, "custom: "), s.Name)
}

// whole reads every Job, and decides as package scaling does without reading them.
type whole struct{ simulation.Scaling }

func (w whole) Settings() simulation.Settings {
	s := w.Scaling.Settings()
	s.Clusters = true
	return s
}

func (w whole) Decide(p simulation.Observation) simulation.Decision {
	running, pending := int64(0), int64(0)
	for _, c := range p.Clusters {
		for _, j := range c.Jobs {
			switch {
			case j.Deleting || j.Phase >= jobs.Succeeded:
			case j.Phase == jobs.Pending:
				pending++
				running++
			default:
				running++
			}
		}
	}
	if p.Jobs != nil && (running != p.Jobs.Running+p.Jobs.InFlight || pending != p.Jobs.Pending+p.Jobs.InFlight) {
		panic("the counts are not those of the list")
	}
	return w.Scaling.Decide(p)
}

func TestListEqualsCounts(t *testing.T) {
	premise.CheckN(t, 2000, propListEqualsCounts, premise.Least{"Jobs": 0.3, "an old list": 0.05})
}
func FuzzListEqualsCounts(f *testing.F) { premise.Fuzz(f, propListEqualsCounts) }

// The list of Jobs and their counts agree, also if the list is old; and a policy that asks
// for the list decides on the same numbers.
func propListEqualsCounts(t *rapid.T, c *premise.Counts) {
	s := drawScenario(t)
	s.Clusters = s.Clusters[:min(1, len(s.Clusters))]
	s.Policy = drawPolicy(t, 1)
	s.Policy.As = "spec"
	counts := s.built()
	list := counts
	list.Autoscaler = whole{counts.Autoscaler.(simulation.Scaling)}
	a, b := run(t, counts, simulation.Options{}), run(t, list, simulation.Options{})
	c.Note("Jobs", a.Summary.JobsCreated > 0)
	c.Note("an old list", a.Summary.JobsCreated > 0 && len(s.Clusters) > 0 && s.Clusters[0].ListAge > 0)
	equal := slices.EqualFunc(a.Ticks, b.Ticks, func(x, y simulation.Tick) bool {
		return x.Created == y.Created && x.Running == y.Running && x.Queued == y.Queued
	})
	if !equal {
		t.Fatalf("%v\n\n%v", a.Summary, b.Summary)
	}
}
