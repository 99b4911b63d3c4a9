package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/testdata"
)

// spec is a ScaledJob of a strategy and a maximum, with a poll every 30 s.
func spec(strategy string, most int32) keda.Spec {
	return keda.Spec{MaxReplicaCount: &most, ScalingStrategy: keda.ScalingStrategy{Strategy: strategy}}
}

// story is a queue of a trace, whose items take so long.
func story(service simulation.Duration, trace ...simulation.Arrival) scenario {
	return scenario{Scenario: simulation.Scenario{
		Duration: 10 * minute, Drain: new(simulation.Duration(0)),
		Queues: []simulation.Queue{{Trace: trace, Service: simulation.Fixed(time.Duration(service))}},
	}}
}

// items are that many at a time.
func items(at simulation.Duration, n int64) simulation.Arrival {
	return simulation.Arrival{At: at, Items: n}
}

// failover is the default, with a treatment of duplicates.
func failover(d jobs.Duplication) *jobs.Failover {
	f := jobs.DefaultPolicy().Failover
	f.Duplication = d
	return &f
}

func play[S played](t *testing.T, s S) *simulation.Result {
	t.Helper()
	return run(t, s, simulation.Options{})
}

// created is what the first n polls created.
func created(r *simulation.Result, n int) (all []int64) {
	for _, tick := range r.Ticks[:min(n, len(r.Ticks))] {
		all = append(all, tick.Created)
	}
	return all
}

// createdIn counts the Jobs that each poll created in each cluster.
func createdIn(t *testing.T, s scenario) map[string][]int64 {
	created := map[string][]int64{}
	run(t, s, simulation.Options{Observe: func(e simulation.Event) {
		if at := simulation.Duration(e.At).String(); e.Kind == "created" {
			if created[at] == nil {
				created[at] = make([]int64, len(s.Clusters))
			}
			created[at][e.Cluster]++
		}
	}})
	return created
}

// "If there are 3 messages on the queue and 0 jobs running, then 3 jobs are created. On
// the next poll [...] no new jobs are created. If 3 more jobs are submitted [...] then 3
// more jobs are created. Once the first 3 jobs finish [...] A poll now will create no
// new jobs."
func TestStoryOfDefault(t *testing.T) {
	for _, as := range []string{"spec", "2.16"} {
		s := story(80*second, items(0, 3), items(45*second, 3))
		s.Policy = manifest{As: as, Spec: spec("default", 100)}
		r := play(t, s)
		require.Equal(t, []int64{3, 0, 3, 0}, created(r, 4))
		at90 := r.Ticks[3]
		require.Equal(t, int64(3), at90.Done)
		require.Equal(t, 3.0, at90.Metric)
		require.Equal(t, int64(3), at90.Running)
		require.Equal(t, int64(6), r.Summary.JobsCreated)
		require.Zero(t, r.Summary.IdleJobs)
	}
}

// "If one sets minReplicaCount to 2 then there will be 2 jobs running permanently. Using
// a targetValue of 1, if 3 new messages are sent, 2 of those messages will be processed
// on the already running jobs but another 3 jobs will be created."
func TestStoryOfMin(t *testing.T) {
	s := story(10*minute, items(45*second, 3))
	s.Jobs.Wait = hour
	for _, as := range []string{"spec", "2.16"} {
		s.Policy = manifest{As: as, Spec: spec("", 100)}
		s.Policy.Spec.MinReplicaCount = new(int32(2))
		var takers []int64
		r := run(t, s, simulation.Options{Observe: func(e simulation.Event) {
			if e.Kind == "delivered" {
				takers = append(takers, e.Job)
			}
		}})
		require.Equal(t, []int64{2, 0, 3, 0}, created(r, 4))
		require.Equal(t, []int64{1, 2, 3}, takers)
	}
}

// Fifteen of at most twenty Jobs are pending, and the items that they will take are still
// in the queue. Before 2.19 five more are created.
func TestStoryOfAccurateNearTheMaximum(t *testing.T) {
	for as, want := range map[string][]int64{"2.18": {15, 5}, "2.19": {15, 0}} {
		s := story(hour, items(0, 15))
		s.Queues[0].Metric = "waiting"
		s.Jobs.Startup = simulation.Fixed(40 * time.Second)
		s.Policy = manifest{As: as, Spec: spec("accurate", 20)}
		require.Equal(t, want, created(play(t, s), 2), as)
	}
}

// Ten Jobs that take four minutes to start: what happens if every pending one counts as
// stuck, and if only those do that have been pending for a minute. The numbers are those
// of testdata/multicluster.json.
func TestStoryOfTheRunaway(t *testing.T) {
	type run struct {
		Mode                       string
		Desired, Max               int64
		JobStartDelay, Grace, Poll int64
		Ticks                      []struct{ T, Running, Pending, Stuck, Create int64 }
	}
	runs, err := testdata.Multicluster[[]run]("pending_runaway")
	require.NoError(t, err)
	require.Len(t, runs, 2)
	for _, c := range runs {
		s := story(hour, items(0, c.Desired))
		s.Jobs.Startup = simulation.Fixed(time.Duration(seconds(c.JobStartDelay)))
		s.Policy.Spec = spec("pendingAware", int32(c.Max))
		s.Policy.Spec.PollingInterval = new(int32(c.Poll))
		s.Policy.StuckAfter = new(seconds(c.Grace))
		if c.Mode == "literalPending" {
			s.Policy.StuckAfter = new(seconds(0))
		}
		r := play(t, s)
		for i, want := range c.Ticks {
			tick := r.Ticks[i]
			require.Equal(t, float64(want.T), tick.Seconds)
			require.Equal(t, want.Create, tick.Created, "%s at %d", c.Mode, want.T)
			require.Equal(t, want.Running+want.Create, tick.Running)
			require.Equal(t, want.Pending+want.Create, tick.Pending)
		}
	}
}

// The Jobs of a queue are split between two clusters in a ratio of 2:3.
func TestStoryOfTwoClusters(t *testing.T) {
	s := story(hour, items(0, 100))
	s.Clusters = []simulation.Cluster{{Name: "member-cluster-1"}, {Name: "member-cluster-2"}}
	s.Policy.Members = []jobs.Member{{Name: "member-cluster-1", Weight: 2}, {Name: "member-cluster-2", Weight: 3}}
	s.Policy.Spec = spec("pendingAware", 20)
	r := play(t, s)
	require.Equal(t, map[string][]int64{"0s": {8, 12}}, createdIn(t, s))
	require.Equal(t, int64(20), r.Summary.PeakJobs)
}

// Jobs go to the primary until one has been pending there for a minute. Then it is
// avoided for five minutes, and after that a single Job probes it.
func TestStoryOfPriorityFailover(t *testing.T) {
	s := story(20*second, items(0, 4), items(100*second, 4), items(361*second, 4))
	s.Clusters = []simulation.Cluster{
		{Name: "member-primary", Outages: []simulation.Outage{{Until: 5 * minute, Kind: "noStart"}}},
		{Name: "member-failover"},
	}
	s.Policy.Spec = spec("pendingAware", 100)
	s.Policy.Scheduling, s.Policy.Class, s.Policy.Size = jobs.PriorityFailover, "team-a", 4
	s.Policy.Members = []jobs.Member{
		{Name: "member-primary", Weight: 1, Priority: new(int32(100))}, {Name: "member-failover", Weight: 1, Priority: new(int32(0))},
	}
	s.Policy.Failover = failover(jobs.PreferFailover)
	r := play(t, s)
	created := createdIn(t, s)
	require.Equal(t, []int64{4, 0}, created["0s"])
	require.Equal(t, []int64{0, 4}, created["1m"], "the grace period is over")
	require.Equal(t, []int64{0, 4}, created["2m"], "the taint holds")
	require.Equal(t, []int64{1, 3}, created["6m30s"], "the taint is over")
	require.Equal(t, int64(12), r.Summary.Done)
	require.Equal(t, int64(12+4), r.Summary.JobsCreated)
}

// When all slots are taken up by Jobs that are stuck in a dead cluster, none can be
// replaced, unless failover may exceed the maximum.
func TestStoryOfTheDeadCluster(t *testing.T) {
	s := story(20*second, items(0, 20))
	s.Clusters = []simulation.Cluster{
		{Name: "a", Outages: []simulation.Outage{{Until: hour, Kind: "noStart"}}},
		{Name: "b", Outages: []simulation.Outage{{Until: minute, Kind: "unreachable"}}},
	}
	s.Policy.Spec = spec("pendingAware", 20)
	s.Policy.Failover = failover("")
	s.Policy.Failover.SoftTaint = 0 // b is known to fail at once
	r := play(t, s)
	require.Zero(t, r.Summary.Done)
	require.Contains(t, r.Summary.Rules[0].Rule, string(jobs.ReasonHeldByStuck))

	s.Policy.FailoverOverMax = true
	s.Policy.Failover.Duplication = jobs.ImmediateSourceCleanup
	s.Duration = 20 * minute
	r = play(t, s)
	require.Equal(t, int64(20), r.Summary.Done)
	require.Equal(t, int64(20), r.Summary.ExcessOverMax)
}

// Jobs that take several items starve a queue as those that take one do.
func TestStarvedWithSeveralItems(t *testing.T) {
	for items := range int64(3) {
		s := load("waiting", "default")
		s.Jobs.ItemsPerJob = items + 1
		r := mustRun(s)
		require.Greater(t, r.Summary.StarvedPolls, r.Summary.Polls/2, "%d items a Job", items+1)
	}
}
