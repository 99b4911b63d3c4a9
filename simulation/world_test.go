package simulation_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/simulation"
)

// happens plays a scenario for so long, and returns the events of some kinds, a line
// each.
func happens(t *testing.T, s scenario, duration simulation.Duration, kinds ...string) (lines []string) {
	t.Helper()
	s.Duration, s.Drain = duration, new(simulation.Duration(0))
	run(t, s, simulation.Options{Observe: func(e simulation.Event) {
		for _, k := range kinds {
			if e.Kind == k {
				lines = append(lines, e.String())
			}
		}
	}})
	return lines
}

var ofWork = []string{"delivered", "done", "duplicated", "redelivered", "lost",
	"retried", "succeeded", "failed"}

func TestItemsPerJob(t *testing.T) {
	s := story(5*second, items(0, 5))
	s.Policy.Spec = spec("", 1)
	s.Jobs.ItemsPerJob = 2
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "5s item 1 done by Job 1", "5s item 2 delivered to Job 1", "10s item 2 done by Job 1", "10s Job 1 succeeded",
		"30s item 3 delivered to Job 2", "35s item 3 done by Job 2", "35s item 4 delivered to Job 2", "40s item 4 done by Job 2", "40s Job 2 succeeded",
	}, happens(t, s, 55*second, ofWork...))
}

func TestDrainAndWait(t *testing.T) {
	s := story(5*second, items(0, 2), items(15*second, 1), items(26*second, 1))
	s.Policy.Spec = spec("", 1)
	s.Jobs.DrainQueue = true
	s.Jobs.Wait = 5 * second
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "5s item 1 done by Job 1", "5s item 2 delivered to Job 1", "10s item 2 done by Job 1",
		"15s item 3 delivered to Job 1", // the last moment
		"20s item 3 done by Job 1", "25s Job 1 succeeded",
		"30s item 4 delivered to Job 2",
	}, happens(t, s, 31*second, ofWork...))
}

// Each distribution that varies makes the runs random.
func TestRandom(t *testing.T) {
	s := story(second)
	require.False(t, s.Load().Random)
	found := 0
	for _, of := range []reflect.Value{reflect.ValueOf(&s.Jobs).Elem(), reflect.ValueOf(&s.Queues[0]).Elem()} {
		for i := range of.NumField() {
			if field := of.Field(i); field.Type() == reflect.TypeFor[simulation.Distribution]() {
				found++
				before := field.Interface()
				field.Set(reflect.ValueOf(simulation.Exp(time.Second)))
				require.True(t, s.Load().Random, of.Type().Field(i).Name)
				field.Set(reflect.ValueOf(before))
			}
		}
	}
	require.Equal(t, 4, found)
}

// Job 1 completes from 10 s to 30 s. Until then it counts as running; nothing else does its item, so the
// second one starves if the maximum has room.
func TestCompletion(t *testing.T) {
	s := story(10*second, items(0, 1), items(15*second, 1))
	s.Policy.Spec = spec("", 2)
	s.Policy.Spec.PollingInterval = new(int32(20))
	s.Jobs.Completion = simulation.Fixed(20 * time.Second)
	require.Equal(t, []string{"0s Job 1 created", "10s item 1 done by Job 1", "30s Job 1 succeeded", "40s Job 2 created"},
		happens(t, s, 45*second, "created", "done", "succeeded"), "at 20s one item and one Job")
	require.EqualValues(t, 1, run(t, s, simulation.Options{}).Summary.StarvedPolls)

	// A pod that has ended holds no room: the next one starts at once.
	s.Clusters = []simulation.Cluster{{Capacity: new(int64(1))}}
	s.Queues[0].Trace = []simulation.Arrival{items(0, 2)}
	require.Equal(t, []string{"0s Job 1 scheduled", "10s Job 1 completing", "10s Job 2 scheduled", "20s Job 2 completing", "30s Job 1 succeeded", "40s Job 2 succeeded"},
		happens(t, s, 45*second, "scheduled", "completing", "succeeded"))
	require.Zero(t, run(t, s, simulation.Options{}).Summary.IdleSeconds)
}

// The pod fails each time: the item waits again, or is lost.
func TestFailures(t *testing.T) {
	s := story(0, items(0, 1))
	s.Jobs = simulation.JobBehavior{FailureProbability: 1, BackoffLimit: new(int64(2)), Backoff: 10 * second}
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "0s item 1 redelivered", "0s Job 1 retried",
		"10s item 1 delivered to Job 1", "10s item 1 redelivered", "10s Job 1 retried",
		"30s item 1 delivered to Job 1", "30s item 1 redelivered", "30s Job 1 failed",
	}, happens(t, s, 30*second, ofWork...)[:9])

	s.Queues[0].MaxDeliveries = 2
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "0s item 1 redelivered", "0s Job 1 retried",
		"10s item 1 delivered to Job 1", "10s item 1 lost", "10s Job 1 retried",
		"30s Job 1 succeeded", // there is nothing left
	}, happens(t, s, 40*second, ofWork...))

	s.Jobs.Acknowledge = "start"
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "0s item 1 lost", "0s Job 1 retried", "10s Job 1 succeeded",
	}, happens(t, s, 40*second, ofWork...))
}

// An item that takes longer than the visibility timeout is done twice.
func TestVisibilityTimeout(t *testing.T) {
	s := story(40*second, items(0, 1))
	s.Queues[0].VisibilityTimeout = 25 * second
	s.Queues[0].Metric = "waiting"
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "25s item 1 redelivered",
		"40s item 1 done by Job 1", "40s Job 1 succeeded",
	}, happens(t, s, 50*second, ofWork...), "default sees one item and one Job")

	s.Policy.Spec = spec("accurate", 10)
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "25s item 1 redelivered", "30s item 1 delivered to Job 2",
		"40s item 1 done by Job 1", "40s Job 1 succeeded",
		"1m10s item 1 duplicated by Job 2", "1m10s Job 2 succeeded",
	}, happens(t, s, 80*second, ofWork...))
	s.Duration = 80 * second
	require.Equal(t, int64(1), play(t, s).Summary.Duplicated)
}

// What a Job that fails leaves behind is hidden until the timeout.
func TestVisibilityTimeoutAfterAFailure(t *testing.T) {
	s := story(0, items(0, 1))
	s.Queues[0].VisibilityTimeout = 20 * second
	s.Jobs = simulation.JobBehavior{FailureProbability: 1, BackoffLimit: new(int64(0))}
	require.Equal(t, []string{
		"0s item 1 delivered to Job 1", "0s Job 1 failed", "20s item 1 redelivered", "30s item 1 delivered to Job 2", "30s Job 2 failed",
	}, happens(t, s, 31*second, ofWork...))
}

// Of several queues the item that arrived first is taken.
func TestSeveralQueues(t *testing.T) {
	s := story(second, items(2*second, 1), items(4*second, 1))
	s.Queues = append(s.Queues, simulation.Queue{
		Trace: []simulation.Arrival{{At: 3 * second, Service: 7 * second}, {At: 5 * second}}, Service: s.Queues[0].Service,
	})
	s.Policy.Spec = spec("", 1)
	s.Jobs.DrainQueue = true
	require.Equal(t, []string{
		"30s item 1 delivered to Job 1", "31s item 2 delivered to Job 1", "38s item 3 delivered to Job 1", "39s item 4 delivered to Job 1",
	}, happens(t, s, minute, "delivered"))
}

// Jobs without room are pending, and get it in their order.
func TestCapacity(t *testing.T) {
	s := story(40*second, items(0, 3))
	s.Jobs.Startup = simulation.Fixed(5 * time.Second)
	s.Clusters = []simulation.Cluster{{Capacity: new(int64(1))}}
	require.Equal(t, []string{
		"0s Job 1 scheduled", "5s item 1 delivered to Job 1", "45s Job 2 scheduled", "50s item 2 delivered to Job 2", "1m30s Job 3 scheduled", "1m35s item 3 delivered to Job 3",
	}, happens(t, s, 2*minute, "scheduled", "delivered"))
	s.Duration = 2 * minute
	tick := play(t, s).Ticks[1]
	require.Equal(t, []int64{3, 2}, []int64{tick.Running, tick.Pending})
}

func TestStaleness(t *testing.T) {
	s := story(hour, items(10*second, 2), items(40*second, 3))
	s.Queues[0].Staleness = 35 * second
	var read []float64
	for _, tick := range play(t, s).Ticks[:5] {
		read = append(read, tick.Metric)
	}
	require.Equal(t, []float64{0, 0, 2, 5, 5}, read) // as of -35, -5, 25, 55, 85 s
}

// The three kinds of outages of a cluster, from 40 s to 100 s.
func TestOutages(t *testing.T) {
	all := append([]string{"created", "scheduled", "unscheduled", "outage started", "outage ended"}, ofWork...)
	for kind, want := range map[string][]string{
		"unreachable": {
			"30s Job 1 created", "30s Job 1 scheduled", "40s cluster 0 outage started", "50s item 1 delivered to Job 1",
			"1m40s cluster 0 outage ended", "1m50s item 1 done by Job 1", "1m50s Job 1 succeeded",
			"2m Job 2 created", "2m Job 2 scheduled",
		},
		"noStart": {
			"30s Job 1 created", "30s Job 1 scheduled", "40s cluster 0 outage started", "40s Job 1 unscheduled",
			"1m Job 2 created", "1m40s cluster 0 outage ended", "1m40s Job 1 scheduled", "1m40s Job 2 scheduled",
			"2m item 1 delivered to Job 1", "2m item 2 delivered to Job 2",
		},
		"down": {
			"30s Job 1 created", "30s Job 1 scheduled", "40s cluster 0 outage started", "40s Job 1 unscheduled",
			"1m40s cluster 0 outage ended", "1m40s Job 1 scheduled", "2m item 1 delivered to Job 1", "2m Job 2 created", "2m Job 2 scheduled",
		},
	} {
		s := story(minute, items(10*second, 1), items(55*second, 1))
		s.Jobs.Startup = simulation.Fixed(20 * time.Second)
		s.Clusters = []simulation.Cluster{{Outages: []simulation.Outage{{From: 40 * second, Until: 100 * second, Kind: kind}}}}
		require.Equal(t, want, happens(t, s, 2*minute, all...), kind)
	}

	s := story(minute, items(0, 1))
	s.Clusters = []simulation.Cluster{{Outages: []simulation.Outage{{From: 40 * second, Until: 100 * second}}}}
	require.Equal(t, []string{
		"0s Job 1 created", "0s Job 1 scheduled", "0s item 1 delivered to Job 1",
		"40s cluster 0 outage started", "40s item 1 redelivered", "40s Job 1 retried",
		"1m40s cluster 0 outage ended", "1m40s Job 1 scheduled", "1m40s item 1 delivered to Job 1",
	}, happens(t, s, 2*minute, all...))
}

// A Job that is deleted keeps its room until it has terminated.
func TestTermination(t *testing.T) {
	s := story(hour, items(0, 2))
	s.Jobs.Startup = simulation.Fixed(10 * time.Minute)
	s.Jobs.Termination = 25 * second
	s.Clusters = []simulation.Cluster{{Name: "a", Capacity: new(int64(1))}, {Name: "b"}}
	s.Policy.Spec = spec("pendingAware", 10)
	s.Policy.Failover = failover("immediateSourceCleanup")
	require.Equal(t, []string{
		"0s Job 1 created", "0s Job 1 scheduled", "0s Job 2 created", "0s Job 2 scheduled",
		"1m Job 3 created", "1m Job 4 created", "1m Job 4 scheduled", // Job 3 is in line behind Job 1
		"1m30s Job 1 deleted", "1m30s Job 2 deleted", "1m55s Job 3 scheduled",
	}, happens(t, s, 119*second, "created", "scheduled", "deleted"))
}

func TestStuckAfter(t *testing.T) {
	s := scenario{burst("all", "", 3), manifest{Spec: spec("pendingAware", 40)}}
	s.Jobs.Startup = simulation.Fixed(time.Hour)
	require.Equal(t, []int64{3, 0, 0, 0, 0}, created(play(t, s), 5), "nothing is stuck unless it is said when")
	s.Policy.StuckAfter = new(90 * second)
	require.Equal(t, []int64{3, 0, 0, 3, 0}, created(play(t, s), 5))
}

func TestMinAsFloor(t *testing.T) {
	s := scenario{burst("all", "", 3), manifest{}}
	s.Policy.Spec.MinReplicaCount = new(int32(2))
	require.Equal(t, int64(5), play(t, s).Ticks[0].Created)
	s.Policy.MinAsFloor = true
	require.Equal(t, int64(3), play(t, s).Ticks[0].Created)
}

// Pod conditions decide what KEDA takes as pending.
func TestPendingPodConditions(t *testing.T) {
	s := scenario{burst("waiting", "", 3), manifest{As: "2.21", Spec: spec("accurate", 40)}}
	s.Jobs.Startup = simulation.Fixed(time.Hour)
	for condition, want := range map[string][]int64{"": {3, 0}, "Ready": {3, 0}, "PodScheduled": {3, 3}} {
		s.Policy.Spec.ScalingStrategy.PendingPodConditions = nil
		if condition != "" {
			s.Policy.Spec.ScalingStrategy.PendingPodConditions = []string{condition}
		}
		require.Equal(t, want, created(play(t, s), 2), condition)
	}
}

func TestTooManyJobs(t *testing.T) {
	s := burst("all", "", 1)
	s.Autoscaler = manifest{Spec: keda.Spec{MinReplicaCount: new(int32(math.MaxInt32)), MaxReplicaCount: new(int32(math.MaxInt32))}}.policy(1)
	_, err := simulation.Run(s, simulation.Options{})
	require.EqualError(t, err, "after 0s the policy creates 2147483647 Jobs beside 0: want at most 1000000 at once")
}

// The times that are drawn have the mean and the deviation that are asked for.
func TestDistributions(t *testing.T) {
	for text, want := range map[string]struct{ mean, deviation float64 }{
		"exp:30s": {30, 30}, "lognormal:30s,15s": {30, 15}, "lognormal:30s,0s": {30, 0}, "30s": {30, 0}, "recorded:10s,20s,60s": {30, 21.6025},
	} {
		s := story(0, items(0, 30_000))
		require.NoError(t, s.Queues[0].Service.UnmarshalText([]byte(text)))
		s.Duration, s.Drain = second, new(24*hour)
		s.Policy.Spec = spec("", 100_000)
		var n, sum, squares float64
		run(t, s, simulation.Options{SummaryOnly: true, Observe: func(e simulation.Event) {
			if e.Kind == "done" {
				took := e.At.Seconds()
				n, sum, squares = n+1, sum+took, squares+took*took
			}
		}})
		mean := sum / n
		require.Equal(t, 30_000.0, n)
		require.InDelta(t, want.mean, mean, 0.8, text)
		require.InDelta(t, want.deviation, math.Sqrt(squares/n-mean*mean), 0.8, text)
	}
}

func TestEventNames(t *testing.T) {
	require.Equal(t, "1m30s cluster 2 outage started", simulation.Event{At: 90 * time.Second, Kind: "outage started", Cluster: 2}.String())
}
