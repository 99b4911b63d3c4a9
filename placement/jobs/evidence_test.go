package jobs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// After a hard taint a single Job probes the cluster. While it is pending there is no
// other; if it becomes stuck the next taint is twice as long, up to 16 times; if it starts,
// the cluster has its share again.
func TestProbe(t *testing.T) {
	for _, scheduling := range []jobs.Scheduling{jobs.WeightedRoundRobin, jobs.PriorityFailover} {
		f := newFleet("a", "b")
		f.Scheduling, f.Failover.SoftTaint = scheduling, 0
		f.member("a").Priority, f.member("b").Priority = new(int32(1)), new(int32(0))
		excluded := jobs.ReasonNotStarting
		if scheduling == jobs.PriorityFailover {
			excluded = jobs.ReasonWorkloadTainted
		}
		f.demand(4)
		now := 0
		plan := func(want jobs.Reason) jobs.Decision {
			f.Now = at(now)
			d := f.plan()
			require.Equal(t, want, d.Members[0].Excluded, "%s at %d: %s", scheduling, now, d)
			f.Checkpoint = d.Checkpoint
			return d
		}
		add := func(n int) {
			for range n {
				name := fmt.Sprint("a-", now, len(f.cluster("a").Jobs))
				f.cluster("a").Jobs = append(f.cluster("a").Jobs, jobs.Job{Name: name, UID: name, Phase: jobs.Pending, PendingSince: at(now), Created: at(now)})
			}
		}
		add(4)
		for _, minutes := range []int{5, 10, 20, 40, 80, 80} {
			now += 60
			plan(excluded)
			f.cluster("a").Jobs = nil
			now += minutes*60 - 1
			plan(excluded)
			now++
			require.Equal(t, int32(1), f.created(plan(""))["a"], "one probes after %d minutes", minutes)
			add(1)
			now += 30
			require.Zero(t, f.created(plan(jobs.ReasonProbing))["a"])
			now -= 30
		}
		f.cluster("a").Jobs[0].Phase = jobs.Running
		require.GreaterOrEqual(t, f.created(plan(""))["a"], int32(1))
		require.Zero(t, open(f.Checkpoint).Clusters["a"].Starts.Failed)
	}
}

// Jobs of a cluster that has not answered for LostAfter free their slots, and are replaced.
// When it returns they count again, the duplication policy decides about pairs, and nothing
// is created until there are fewer than the maximum.
func TestLost(t *testing.T) {
	for policy, deleted := range map[jobs.Duplication]int{jobs.KeepAll: 0, jobs.PreferFailover: 4, jobs.PreferSource: 4, jobs.ImmediateSourceCleanup: 4} {
		f := newFleet("a", "b")
		f.Scaling.Bounds.Max, f.Failover.Duplication, f.Failover.LostAfter = 8, policy, time.Hour
		f.has("a", 4, jobs.Running, 0)
		f.has("b", 4, jobs.Running, 0)
		f.cluster("a").Unanswered = 1
		f.demand(8)
		f.cluster("a").Reach = jobs.Unreachable
		require.Empty(t, f.plan().Create, "nothing counts")
		f.cluster("a").Since = at(-3599)
		d := f.plan()
		require.Empty(t, d.Create)
		require.Equal(t, at(1), d.NextCheck)
		f.Now = at(1)
		d = f.plan()
		require.Equal(t, map[string]int32{"a": 0, "b": 4}, f.created(d), "%s", d)
		require.Len(t, d.Create[0].Replacements, 4)
		require.EqualValues(t, 5, d.Members[0].Lost)
		require.Zero(t, d.Members[0].Jobs)
		require.Empty(t, d.Duplicates)
		require.Equal(t, []string{"a-0", "a-1", "a-2", "a-3"}, d.Members[0].LostNames)
		require.Contains(t, d.Members[0].String(), "; the work of 5 lost Jobs there may run twice: a-0, a-1, a-2, a-3 and others")
		require.EqualValues(t, 5, open(d.Checkpoint).Clusters["a"].Running, "for a restart")
		*f = *f.apply(d)
		require.Empty(t, f.plan().Create, "each is replaced once")
		for _, j := range f.each {
			j.Phase = jobs.Running
		}
		f.cluster("a").Reach, f.cluster("a").Unanswered = jobs.Reachable, 0
		d = f.plan()
		require.Len(t, d.Duplicates, deleted, policy)
		require.Empty(t, d.Create)
		f.demand(100)
		if policy == jobs.KeepAll {
			require.EqualValues(t, 12, d.Members[0].Jobs.Running+d.Members[1].Jobs.Running)
			require.Empty(t, f.plan().Create)
		}
	}
	// After a restart the numbers of the checkpoint are lost.
	f := newFleet("a", "b")
	f.Scaling.Bounds.Max, f.Failover.LostAfter = 8, time.Hour
	f.restore(stored{Clusters: map[string]storedCluster{"a": {Running: 6, Terminating: 1}}})
	*f.cluster("a") = jobs.Cluster{Name: "a", Since: at(-60)}
	f.demand(8)
	require.Equal(t, map[string]int32{"a": 0, "b": 1}, f.created(f.plan()))
	f.cluster("a").Since = at(-3600)
	d := f.plan()
	require.Equal(t, map[string]int32{"a": 0, "b": 8}, f.created(d))
	require.EqualValues(t, 7, d.Members[0].Lost)
	require.Contains(t, d.Members[0].String(), "; the work of 7 lost Jobs there may run twice")
	// The names are few, and the first.
	f = newFleet("a", "b")
	f.Failover.LostAfter = time.Hour
	f.has("a", 30, jobs.Running, 0)
	slices.Reverse(f.cluster("a").Jobs)
	f.cluster("a").Reach, f.cluster("a").Since = jobs.Unreachable, at(-3600)
	require.Equal(t, []string{"a-0", "a-1", "a-10", "a-11", "a-12", "a-13", "a-14", "a-15", "a-16", "a-17"}, f.plan().Members[0].LostNames)
}

// While the hub may be cut off nothing is replaced, lost or created, however long it lasts,
// and the decision says so.
func TestCutOff(t *testing.T) {
	f := newFleet("a", "b")
	f.Failover.LostAfter = time.Hour
	f.has("a", 2, jobs.Pending, 0)
	f.has("b", 2, jobs.Running, 0)
	f.demand(9)
	for i := range f.Clusters {
		f.Clusters[i].Reach = jobs.Unreachable
	}
	for hour := range 48 {
		f.Now = at(3600 * hour)
		d := f.plan()
		require.Equal(t, jobs.ReasonCutOff, d.Reason)
		require.Empty(t, d.Create)
		require.Zero(t, total(d).Stuck)
		require.EqualValues(t, 4, total(d).Running)
		require.Empty(t, taints(d.Checkpoint))
		f.Checkpoint = d.Checkpoint
	}
	f.cluster("b").Reach = jobs.Reachable
	f.cluster("a").Since = f.Now
	require.Zero(t, total(f.plan()).Stuck, "the grace period begins at the answer")
	f.Now = f.Now.Add(time.Minute)
	require.EqualValues(t, 2, total(f.plan()).Stuck)
}

// Failures of an owner and his stuck Jobs are in no value that another owner is given,
// except for the workload taints of PriorityFailover. The cluster's taint is in no
// checkpoint.
func TestScope(t *testing.T) {
	f := newFleet("a", "b")
	f.Failover = jobs.Failover{GracePeriod: time.Minute, HardTaint: 100 * time.Hour}
	f.has("a", 3, jobs.Pending, time.Hour)
	f.cluster("b").Failures = jobs.Failures{Call: true, Create: true}
	f.cluster("a").Taint = taint.Taint{Level: taint.Hard, Until: at(60)}
	d := f.plan()
	require.Equal(t, taint.Hard, d.Members[0].OwnerTaint.Level)
	require.Equal(t, taint.Hard, d.Members[1].OwnerTaint.Level)
	require.Empty(t, d.Checkpoint.Workloads())
	require.Equal(t, jobs.ReasonHardTainted, d.Members[0].Excluded)
	f.cluster("a").Taint = taint.Taint{}
	f.Checkpoint = d.Checkpoint
	require.Equal(t, jobs.ReasonNotStarting, f.plan().Members[0].Excluded)
}

// The cost of a chain grows with its length.
func BenchmarkPlanLongChains(b *testing.B) {
	for _, length := range []int{64, 250, 500, 1000} {
		b.Run(fmt.Sprintf("n=50000/length=%d", length), func(b *testing.B) {
			f := bench(1000, 50_000, 1, jobs.WeightedRoundRobin)
			for i := range f.Clusters {
				for k := range f.Clusters[i].Jobs {
					j := &f.Clusters[i].Jobs[k]
					if chain, n := i/length, i%length; n > 0 {
						j.Replaces = jobs.Source{UID: f.Clusters[chain*length].Jobs[k].UID, Attempt: int32(n)}
					}
				}
			}
			for b.Loop() {
				f.plan()
			}
		})
	}
}
