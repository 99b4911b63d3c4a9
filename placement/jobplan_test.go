package placement_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/strategy"
)

// Weights 2:3 with 20 Jobs. A member does not answer from 60 s to 180 s: its Jobs count
// for what they are, new ones go elsewhere, and when its hard taint has ended it has
// its share of new ones again.
func TestMemberIsLostAndReturns(t *testing.T) {
	f := newFleet("a", "b")
	f.member("a").Weight, f.member("b").Weight = 2, 3
	f.Scaling.Max = 20
	f.Demand = placement.Demand{Jobs: 20, Active: true}
	finish := func(name string, n int) { c := f.cluster(name); c.Jobs = c.Jobs[n:] }
	for _, step := range []struct {
		t       int
		fails   bool
		before  func()
		created map[string]int32
		level   taint.Level
		next    *int
	}{
		{t: 0, created: map[string]int32{"a": 8, "b": 12}},
		{t: 30, before: func() { finish("a", 2); finish("b", 3) }, created: map[string]int32{"a": 2, "b": 3}},
		{t: 60, before: func() { finish("b", 3) }, fails: true, created: map[string]int32{"a": 0, "b": 3}, level: taint.Soft, next: ptr(240)},
		{t: 90, before: func() { finish("b", 3) }, fails: true, created: map[string]int32{"a": 0, "b": 3}, level: taint.Hard, next: ptr(390)},
		{t: 120, fails: true, created: map[string]int32{"a": 0, "b": 0}, level: taint.Hard, next: ptr(420)},
		{t: 180, before: func() { finish("a", 8) }, created: map[string]int32{"a": 0, "b": 8}, level: taint.Hard, next: ptr(420)},
		{t: 419, before: func() { finish("b", 10) }, created: map[string]int32{"a": 0, "b": 10}, level: taint.Hard, next: ptr(420)},
		{t: 420, before: func() { finish("b", 10) }, created: map[string]int32{"a": 8, "b": 2}},
	} {
		f.Now, f.Failures = at(step.t), nil
		if step.before != nil {
			step.before()
		}
		f.cluster("a").Reachable = !step.fails
		if step.fails {
			f.Failures = []placement.Failure{{Cluster: "a"}, {Cluster: "a"}}
		}
		plan := f.plan()
		require.Equal(t, step.created, f.created(plan), "at %d\n%s", step.t, plan)
		require.Equal(t, step.level, plan.Members[0].Taint.Level, "at %d\n%s", step.t, plan)
		require.Equal(t, step.next, second(plan.NextCheck), "at %d\n%s", step.t, plan)
		*f = *f.apply(plan)
		for _, j := range f.jobs {
			j.Phase = placement.Running
		}
	}
}

// Jobs of size 4 get stuck on the primary. Sizes 4 and 5 then go to the other, size 3
// does not; when the taint ends, so do new ones of every size.
func TestSizesAgainstATaint(t *testing.T) {
	f := newFleet("failover", "primary")
	f.Scheduling = placement.PriorityFailover
	f.member("primary").Priority, f.member("failover").Priority = ptr(int32(100)), ptr(int32(0))
	f.Affinity = &placement.WorkloadAffinity{Class: "team-a", Size: ptr(int32(4))}
	f.has("primary", 2, placement.Pending, 59*time.Second)
	f.ask(1)
	plan := f.plan()
	require.Equal(t, map[string]int32{"primary": 1, "failover": 0}, f.created(plan), "%s", plan)
	require.Equal(t, ptr(1), second(plan.NextCheck), "%s", plan)

	f.Now = at(1)
	f.ask(3)
	plan = f.plan()
	require.Equal(t, map[string]int32{"primary": 0, "failover": 3}, f.created(plan), "%s", plan)
	require.Len(t, plan.Create[0].Replacements, 2)
	require.Equal(t, ptr(301), second(plan.NextCheck), "%s", plan)
	require.Equal(t, []placement.TaintScope{{Class: "team-a", Priority: 100, Size: 4}},
		plan.Status("etl", placement.JobStatus{}, f.Now).MemberClusterStatuses["primary"].HardTaintScopes)

	f.Memory, f.Now = plan.Memory, at(301)
	require.Empty(t, f.plan().Members[1].Scopes)
	require.Empty(t, f.plan().Memory.Workloads)

	for _, c := range []struct {
		class    string
		size     int32
		priority int32
		t        int
		want     string
	}{
		{"team-a", 3, 100, 2, "primary"}, {"team-a", 4, 100, 2, "failover"}, {"team-a", 5, 100, 2, "failover"},
		{"team-b", 5, 100, 2, "primary"}, {"", 5, 100, 2, "primary"}, {"team-a", 5, 99, 2, "primary"},
		{"team-a", 5, 100, 300, "failover"}, {"team-a", 5, 100, 301, "primary"},
	} {
		other := newFleet("failover", "primary")
		other.Scheduling, other.Memory, other.Now = placement.PriorityFailover, plan.Memory, at(c.t)
		other.member("primary").Priority, other.member("failover").Priority = &c.priority, ptr(int32(0))
		other.Affinity = &placement.WorkloadAffinity{Class: c.class, Size: &c.size}
		other.ask(5)
		require.Equal(t, int32(5), other.created(other.plan())[c.want], "%+v", c)
	}
}

// A Job is stuck, and so is its replacement: the next goes where neither is. Then there is
// no cluster left, and nothing more is created.
func TestChain(t *testing.T) {
	f := newFleet("a", "b", "c")
	f.has("a", 1, placement.Pending, time.Minute)
	f.Failover.SoftTaint, f.Failover.HardTaint = 0, 0
	f.Demand = placement.Demand{Jobs: 1, Active: true}
	attempts := int32(0)
	for _, want := range []string{"b", "c", ""} {
		plan := f.plan()
		if want == "" {
			require.Empty(t, plan.Create, "%s", plan)
			require.Equal(t, int32(1), plan.Unplaced, "%s", plan)
			require.Equal(t, placement.ReasonNoOtherMember, plan.Reason, "%s", plan)
			break
		}
		require.Equal(t, want, plan.Create[0].Cluster, "%s", plan)
		attempts++
		require.Equal(t, placement.Source{UID: "a-0", Attempt: attempts}, plan.Create[0].Replacements[0].Source)
		*f = *f.apply(plan)
		require.Empty(t, f.plan().Create, "the replacement is in flight")
		f.Now = f.Now.Add(time.Minute)
		for c, j := range f.jobs {
			if c.Name == want {
				j.Phase, j.PendingSince = placement.Pending, f.Now.Add(-time.Minute)
			}
		}
	}
	// A chain gets one Job at a time.
	f.Members, f.Demand.Jobs = append(f.Members, placement.NewMember("d"), placement.NewMember("e")), 3
	f.Clusters = append(f.Clusters, placement.JobCluster{Name: "d", Reachable: true, Known: true}, placement.JobCluster{Name: "e", Reachable: true, Known: true})
	plan := f.plan()
	replacements := 0
	for _, p := range plan.Create {
		replacements += len(p.Replacements)
	}
	require.Equal(t, 1, replacements, "%s", plan)
	require.Equal(t, int32(3), plan.Proposal.Create, "%s", plan)
	f.Demand.Jobs = 1

	// What of the chain runs makes up for those that are stuck.
	f.cluster("b").Jobs[0].Phase = placement.Running
	require.Empty(t, f.plan().Create)
	for policy, want := range map[placement.Duplication][]string{
		placement.KeepAll: nil, placement.PreferFailover: {"a"}, placement.PreferSource: {"c"}, placement.ImmediateSourceCleanup: {"a", "b"},
	} {
		f.Failover.Duplication = policy
		var got []string
		for _, d := range f.plan().Delete {
			got = append(got, d.Cluster)
		}
		require.Equal(t, want, got, policy)
		f.Scaling.Strategy = "basic"
		require.Empty(t, f.plan().Delete, "only pendingAware makes duplicates")
		f.Scaling.Strategy = ""
	}
	// Of a cluster that does not answer it is not known what runs.
	f.cluster("b").Reachable, f.Failover.Duplication = false, placement.PreferFailover
	require.Empty(t, f.plan().Delete)
	f.cluster("b").Reachable, f.cluster("a").Reachable = true, false
	require.True(t, f.plan().Delete[0].Deferred)
}

// Old Jobs are rolled out and finished ones pruned over all members, by when they
// finished. Those on a cluster that does not answer have to wait.
func TestHistoryAndRollout(t *testing.T) {
	f := newFleet("a", "b")
	f.History = history.Limits{Succeeded: history.Keep(1)}
	f.Revision = rollout.Revision{Generation: 2}
	finished := func(name string, minute int) placement.Job {
		return placement.Job{Name: name, UID: name, Phase: placement.Succeeded, Finished: epoch.Add(time.Duration(minute) * time.Minute)}
	}
	old := func(name string) placement.Job {
		return placement.Job{Name: name, UID: name, Revision: rollout.Revision{Generation: 1}}
	}
	f.cluster("a").Jobs = []placement.Job{finished("s3", 3), finished("s1", 1), old("old-a")}
	f.cluster("b").Jobs = []placement.Job{old("old-b"), finished("s2", 2), finished("s0", 0)}
	f.cluster("b").Reachable = false
	f.Demand = placement.Demand{Jobs: 2, Active: true}
	f.Scaling.Max = 3
	deletions := func() (all []string) {
		for _, d := range f.plan().Delete {
			all = append(all, fmt.Sprint(d.Name, " ", d.Reason, " ", d.Deferred))
		}
		return all
	}
	require.Equal(t, []string{"old-a OldSpec false", "old-b OldSpec true", "s0 HistoryLimit true", "s1 HistoryLimit false", "s2 HistoryLimit true"}, deletions())
	plan := f.plan()
	require.Equal(t, placement.Counts{Running: 1, Terminating: 1}, plan.Proposal.Counts, "%s", plan)
	require.Equal(t, map[string]int32{"a": 1, "b": 0}, f.created(plan), "%s", plan)

	f.Paused = true
	plan = f.plan()
	require.Equal(t, []string{"s0 HistoryLimit true", "s1 HistoryLimit false", "s2 HistoryLimit true"}, deletions())
	require.Empty(t, plan.Create)
	require.True(t, plan.Paused)
	require.Equal(t, placement.ReasonPaused, plan.Blocked)
}

// While a member's Jobs are not known nothing is created, until it has a hard taint.
func TestJobsUnknown(t *testing.T) {
	f := newFleet("a", "b")
	*f.cluster("b") = placement.JobCluster{Name: "b"}
	f.ask(3)
	for second, want := range map[int]placement.Reason{0: placement.ReasonJobsUnknown, 30: ""} {
		f.Now = at(second)
		f.Memory = placement.Memory{}
		for _, failed := range []int{0, 30} {
			if failed <= second {
				f.Now, f.Failures = at(failed), []placement.Failure{{Cluster: "b"}}
				plan := f.plan()
				f.Memory = plan.Memory
			}
		}
		f.Failures = nil
		plan := f.plan()
		require.Equal(t, want, plan.Blocked, "%s", plan)
		require.Equal(t, want == "", f.created(plan)["a"] == 3, "%s", plan)
	}
	f.Clusters = f.Clusters[:1] // not registered is known to have none
	require.Empty(t, f.plan().Blocked)
	f.Clusters = nil
	plan := f.plan()
	require.Equal(t, placement.ReasonNoMembers, plan.Reason, "%s", plan)
	require.Equal(t, int32(3), plan.Unplaced)
}

// After a restart the Jobs on a member that does not answer are those that are
// remembered, with the ones that the last plan created.
func TestJobsRemembered(t *testing.T) {
	f := newFleet("a", "b")
	f.has("b", 2, placement.Running, 0)
	f.cluster("b").Jobs[1].Phase = placement.Terminating
	f.Demand = placement.Demand{Jobs: 5, Active: true}
	plan := f.plan()
	require.Equal(t, map[string]int32{"a": 3, "b": 1}, f.created(plan), "%s", plan)
	f = f.apply(plan)
	*f.cluster("b") = placement.JobCluster{Name: "b"}
	for second := range 10 {
		f.Now, f.Failures = at(30*second), []placement.Failure{{Cluster: "b"}}
		plan := f.plan()
		require.Empty(t, plan.Create, "%s", plan)
		require.Equal(t, placement.Counts{Running: 2, Pending: 1, Terminating: 1}, plan.Members[1].Counts)
		require.Equal(t, second > 0, plan.Blocked == "", "%s", plan)
		f.Memory = plan.Memory
	}
	f.Demand.Jobs = 7
	require.Equal(t, map[string]int32{"a": 2, "b": 0}, f.created(f.plan()))

	f.Members = []placement.Member{placement.NewMember("a")} // it is one that has Jobs all the same
	require.Equal(t, int64(2), f.plan().Members[1].Counts.Running)
	*f.cluster("b") = placement.JobCluster{Name: "b", Reachable: true, Known: true}
	plan = f.plan()
	require.Len(t, plan.Members, 1)
	require.NotContains(t, plan.Memory.Jobs, "b")

	*f.cluster("b") = placement.JobCluster{Name: "b"}
	f.Memory.Jobs = map[string]placement.Counts{"b": {Running: math.MaxInt64, Pending: -1}}
	require.Zero(t, f.plan().Proposal.Create)
}

// All of the maximum is stuck. Over the maximum as much again may be created, once.
func TestFailoverOverMax(t *testing.T) {
	f := newFleet("a", "b", "c")
	f.Scaling.Max = 3
	f.has("a", 3, placement.Pending, time.Minute)
	f.Demand = placement.Demand{Jobs: 3, Active: true}
	require.Equal(t, placement.ReasonHeldByStuck, f.plan().Blocked)
	f.Scaling.FailoverOverMax = true
	plan := f.plan()
	require.Equal(t, map[string]int32{"a": 0, "b": 2, "c": 1}, f.created(plan), "%s", plan)
	*f = *f.apply(plan)
	f.Now = at(60)
	for _, j := range f.jobs {
		j.Phase, j.PendingSince = placement.Pending, epoch.Add(-time.Minute)
	}
	require.Equal(t, placement.ReasonHeldByStuck, f.plan().Blocked)

	// Without an active metric nothing is replaced, and the maximum holds.
	s := placement.Scaling{Min: 3, Max: 3, FailoverOverMax: true}
	require.Zero(t, s.Propose(placement.Demand{}, placement.Counts{Running: 1, Pending: 1, Stuck: 1, Terminating: 2}).Create)
}

// The source of a replacement that may not exist is kept until it does.
func TestUnconfirmedReplacement(t *testing.T) {
	f := newFleet("a", "b")
	f.Failover.Duplication = placement.ImmediateSourceCleanup
	f.has("a", 1, placement.Pending, time.Minute)
	f.Demand = placement.Demand{Jobs: 1, Active: true}
	b := f.cluster("b")
	b.Jobs = []placement.Job{{Name: "r", UID: "r", Phase: placement.InFlight, Replaces: placement.Source{UID: "a-0", Attempt: 1}, Unconfirmed: true}}
	plan := f.plan()
	require.Empty(t, plan.Delete, "%s", plan)
	require.Empty(t, plan.Create, "it has its replacement: %s", plan)
	b.Jobs[0].Unconfirmed = false
	require.Equal(t, []placement.Deletion{{JobRef: placement.JobRef{Cluster: "a", Name: "a-0", UID: "a-0"}, Reason: placement.ReasonDuplicate}}, f.plan().Delete)
}

// A Job that no member may replace does not keep another from being replaced.
func TestNoOtherMember(t *testing.T) {
	f := newFleet("a", "b")
	f.has("a", 1, placement.Pending, 3*time.Minute)
	source := placement.Source{UID: "a-0", Attempt: 1}
	f.cluster("b").Jobs = []placement.Job{{Name: "r", UID: "r", Phase: placement.Pending, PendingSince: f.Now.Add(-2 * time.Minute), Replaces: source}}
	f.has("a", 1, placement.Pending, time.Minute)
	f.Scaling.Max = 4
	f.Demand = placement.Demand{Jobs: 1, Active: true}
	plan := f.plan()
	require.Equal(t, int32(1), plan.Proposal.Create, "%s", plan)
	require.Equal(t, "a-1", plan.Create[0].Replacements[0].Of.UID, "%s", plan)
	require.Zero(t, plan.Unplaced)

	f.cluster("a").Jobs = f.cluster("a").Jobs[:1]
	plan = f.plan()
	require.Equal(t, placement.ReasonNoOtherMember, plan.Reason, "%s", plan)
	require.Equal(t, int32(1), plan.Unplaced)
}

// Why Jobs are not placed: the first that is true.
func TestUnplaced(t *testing.T) {
	full := func(f *fleet, name string) {
		f.has(name, 1, placement.Running, 0)
		f.Members[slices.IndexFunc(f.Members, func(m placement.Member) bool { return m.Name == name })].MaxJobs = ptr(int32(1))
	}
	for _, tt := range []struct {
		name  string
		spoil func(*fleet)
		want  placement.Reason
	}{
		{"nobody is registered", func(f *fleet) { f.Clusters = nil }, placement.ReasonNoMembers},
		{"nobody has weight", func(f *fleet) { f.Members[0].Weight, f.Members[1].Weight = 0, 0 }, placement.ReasonNoMembers},
		{"nobody answers", func(f *fleet) { f.Clusters[0].Reachable, f.Clusters[1].Reachable = false, false }, placement.ReasonAllExcluded},
		{"all are full", func(f *fleet) { full(f, "a"); full(f, "b") }, placement.ReasonMembersFull},
		{"one is full, one does not answer", func(f *fleet) { full(f, "a"); f.Clusters[1].Reachable = false }, placement.ReasonMembersFull},
		{"all become full", func(f *fleet) { f.Members[0].MaxJobs, f.Members[1].MaxJobs = ptr(int32(1)), ptr(int32(1)) }, placement.ReasonMembersFull},
	} {
		f := newFleet("a", "b")
		tt.spoil(f)
		f.ask(3)
		plan := f.plan()
		require.Equal(t, tt.want, plan.Reason, "%s: %s", tt.name, plan)
		require.Positive(t, plan.Unplaced)
	}
}

// A longer grace period makes no new failure of a Job that has been counted.
func TestGracePeriodIsChanged(t *testing.T) {
	f := newFleet("a")
	f.has("a", 1, placement.Pending, 10*time.Minute)
	f.Memory = f.plan().Memory
	f.Failover.GracePeriod = 2 * time.Minute
	plan := f.plan()
	require.Equal(t, taint.Soft, plan.Members[0].Taint.Level, "%s", plan)
}

// Terminating Jobs are gone soon: what they hold is not held by stuck ones.
func TestHeldByTerminating(t *testing.T) {
	s := placement.Scaling{Max: 10}
	p := s.Propose(placement.Demand{Jobs: 10, Active: true}, placement.Counts{Running: 1, Pending: 1, Stuck: 1, Terminating: 9})
	require.Zero(t, p.Create)
	require.Empty(t, p.Blocked)
}

// A cluster that is no member has no priority, and gets no taint for one.
func TestStuckWhereNoMemberIs(t *testing.T) {
	f := newFleet("a", "b")
	f.Scheduling, f.Affinity = placement.PriorityFailover, &placement.WorkloadAffinity{Size: ptr(int32(4))}
	f.has("b", 1, placement.Pending, time.Minute)
	require.Len(t, f.plan().Memory.Workloads, 1)
	f.Members = f.Members[:1]
	require.Empty(t, f.plan().Memory.Workloads)
}

// A stuck Job that is not seen for a while does not count again.
func TestStuckIsCountedOnce(t *testing.T) {
	f := newFleet("a")
	f.has("a", 1, placement.Pending, 70*time.Second)
	f.has("a", 1, placement.Pending, 60*time.Second)
	jobs := f.cluster("a").Jobs
	for _, seen := range [][]placement.Job{jobs, jobs[:1], jobs} {
		f.cluster("a").Jobs = seen
		plan := f.plan()
		require.Equal(t, taint.State{Level: taint.Soft, Until: at(180)}, plan.Members[0].Taint, "%s", plan)
		f.Memory = plan.Memory
	}
}

// Each reason for which a member gets no Job, and that the other gets all of them.
func TestReasons(t *testing.T) {
	for want, spoil := range map[placement.Reason]func(*fleet){
		placement.ReasonNotRegistered: func(f *fleet) { f.Clusters = f.Clusters[1:] },
		placement.ReasonUnreachable:   func(f *fleet) { f.Clusters[0].Reachable = false },
		placement.ReasonOverloaded:    func(f *fleet) { f.Clusters[0].Overloaded = true },
		placement.ReasonNoWeight:      func(f *fleet) { f.Members[0].Weight = 0 },
		placement.ReasonHardTainted: func(f *fleet) {
			f.Memory.Clusters = map[string]taint.State{"a": {Level: taint.Hard, Until: at(1)}}
		},
		placement.ReasonFull: func(f *fleet) {
			f.has("a", 1, placement.Running, 0)
			f.has("a", 1, placement.Terminating, 0)
			f.Members[0].MaxJobs = ptr(int32(2))
		},
	} {
		f := newFleet("a", "b")
		spoil(f)
		f.ask(3)
		plan := f.plan()
		require.Equal(t, want, plan.Members[0].Excluded, "%s", plan)
		require.Equal(t, map[string]int32{"a": 0, "b": 3}, f.created(plan), "%s", plan)
		require.True(t, plan.Status("etl", placement.JobStatus{}, f.Now).MemberClusterStatuses["a"].Excluded)
	}
}

// The limit of a member counts what is on its way out.
func TestMaxJobs(t *testing.T) {
	f := newFleet("a")
	f.Members[0].MaxJobs = ptr(int32(4))
	f.has("a", 1, placement.Running, 0)
	f.has("a", 1, placement.Terminating, 0)
	f.ask(5)
	plan := f.plan()
	require.Equal(t, map[string]int32{"a": 2}, f.created(plan), "%s", plan)
	require.Equal(t, int32(3), plan.Unplaced)
	require.Equal(t, placement.ReasonMembersFull, plan.Reason)
}

// A cluster that refused the Jobs of one plan gets none in the next, and then again.
func TestRejected(t *testing.T) {
	f := newFleet("a", "b")
	f.ask(4)
	f.Failures = []placement.Failure{{Cluster: "a", Kind: placement.CreateRejected}}
	require.Equal(t, map[string]int32{"a": 0, "b": 4}, f.created(f.plan()))
	f.Failures = nil
	require.Equal(t, map[string]int32{"a": 2, "b": 2}, f.created(f.plan()))
}

// Without an active metric there are the Jobs of the minimum and no more, whether stuck or
// not; a cluster that is none of the members keeps its Jobs and gets no more.
func TestMinimum(t *testing.T) {
	f := newFleet("a", "b")
	f.Members = f.Members[1:]
	f.Scaling.Min = 3
	f.has("a", 1, placement.Running, 0)
	f.has("b", 1, placement.Pending, time.Hour)
	plan := f.plan()
	require.Equal(t, []placement.Placement{{Cluster: "b", Fresh: 1}}, f.createdFresh(plan), "%s", plan)
	require.Equal(t, placement.ReasonNotListed, plan.Members[0].Excluded)
	require.Equal(t, int64(3), plan.Status("etl", placement.JobStatus{}, f.Now).DesiredJobs)
	f.Members, f.Demand = nil, placement.Demand{Jobs: 9, Active: true} // every registered cluster
	plan = f.plan()
	require.Equal(t, map[string]int32{"a": 4, "b": 4}, f.created(plan), "%s", plan)
}

// createdFresh takes the replacements of a plan for fresh ones.
func (f *fleet) createdFresh(plan placement.JobPlan) []placement.Placement {
	all := slices.Clone(plan.Create)
	for i := range all {
		all[i] = placement.Placement{Cluster: all[i].Cluster, Fresh: int32(all[i].Jobs())}
	}
	return all
}

func TestZeroValuesDoNothing(t *testing.T) {
	f := newFleet("a")
	f.has("a", 2, placement.Pending, time.Hour)
	f.Demand = placement.Demand{Jobs: 9, Active: true}
	plan := placement.PlanJobs(placement.JobPolicy{}, f.JobState)
	require.Empty(t, plan.Create)
	require.Empty(t, plan.Delete)
	require.Empty(t, placement.PlanJobs(placement.DefaultJobPolicy(), placement.JobState{}).Create)
	require.Empty(t, placement.PlanObject(placement.ObjectPolicy{}, placement.ObjectState{}).Members)
}

func TestJobStatus(t *testing.T) {
	f := newFleet("a", "b", "c")
	f.Clusters = f.Clusters[:2]
	f.Clusters[0].ID = "id-a"
	f.has("a", 2, placement.Running, 0)
	f.has("a", 1, placement.Pending, 0)
	f.Memory.Clusters = map[string]taint.State{"a": {Level: taint.Soft, Until: at(60)}, "b": {Level: taint.Hard, Until: at(90)}}
	f.ask(0)
	before := placement.JobStatus{MemberClusterStatuses: map[string]placement.JobMemberStatus{
		"a": {State: placement.Ready, RunningJobs: 3, LastStatusChangeTime: at(-60), LastScalingProgressTime: at(-60)}}}
	status := f.plan().Status("etl", before, f.Now)
	data, err := json.Marshal(status)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"desiredJobs": 3, "runningJobs": 3, "pendingJobs": 1, "selector": "kedify-agent-distributedscaledjob=etl",
		"memberClusterStatuses": {
			"a": {"description": "Cluster is healthy, after a failure that counts until 2026-01-01T12:01:00Z", "id": "id-a", "state": "Ready",
				"runningJobs": 3, "pendingJobs": 1, "stuckJobs": 0, "softTainted": true, "hardTainted": false, "excluded": false,
				"lastStatusChangeTime": "2026-01-01T11:59:00Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"b": {"description": "Cluster failed, and gets no Job until 2026-01-01T12:01:30Z", "state": "Ready",
				"runningJobs": 0, "pendingJobs": 0, "stuckJobs": 0, "softTainted": false, "hardTainted": true, "excluded": true,
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"c": {"description": "Cluster is not registered", "state": "NotRegistered",
				"runningJobs": 0, "pendingJobs": 0, "stuckJobs": 0, "softTainted": false, "hardTainted": false, "excluded": true,
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"}
		}
	}`, string(data))
	f.Now = at(10)
	require.Equal(t, status, f.plan().Status("etl", status, f.Now), "later, but nothing changed")
	require.EqualError(t, placement.Unregistered(f.Members, "a", "b")[0], `spec.memberClusters[2].name is "c": want the name of a registered cluster`)
}

// What the cases of testdata leave out, all at once.
func TestValidateAll(t *testing.T) {
	texts := func(warnings []*placement.FieldError, err error) (all []string) {
		for _, w := range warnings {
			all = append(all, w.Error())
		}
		if err != nil {
			all = append(all, err.Error())
		}
		return all
	}
	p := placement.DefaultJobPolicy()
	require.Empty(t, texts(p.Validate()))
	p = placement.JobPolicy{
		Members:    []placement.Member{{Name: "a", Weight: 1, MaxJobs: ptr(int32(-1))}, {Name: "b"}},
		MaxMembers: 1, Scheduling: "random", PollingInterval: time.Minute,
		Failover: placement.FailoverPolicy{GracePeriod: time.Second, SoftTaint: -1, Duplication: placement.PreferSource},
		Scaling:  placement.Scaling{Min: -1, Max: -2, Strategy: "eager", RunningJobPercentage: "0.5", QueueLengthDeduction: 1, FailoverOverMax: true},
	}
	require.Equal(t, []string{
		"spec.clusterScheduling.failoverPolicy.gracePeriod is 1s: want the polling interval of 1m0s or more, since nobody looks more often",
		"spec.clusterScheduling.failoverPolicy.hardTaintDuration is 0s: want more than 0: otherwise no cluster is ever excluded",
		"spec.clusterScheduling.failoverPolicy.duplicationPolicy is preferSource: want keepAll or nothing: only pendingAware makes duplicates",
		"spec.scaledJobSpec.failoverOverMax is true: want nothing: only pendingAware replaces Jobs",
		"spec.scaledJobSpec.scalingStrategy.customScalingQueueLengthDeduction is 1: want nothing: only custom uses it",
		`spec.scaledJobSpec.scalingStrategy.customScalingRunningJobPercentage is "0.5": want nothing: only custom uses it`,
		`spec.memberClusters is of 2 members: want at most 1
spec.memberClusters[0].maxJobs is -1: want 0 or more
spec.clusterScheduling.strategy is "random": want weightedRoundRobin or priorityFailover
spec.clusterScheduling.failoverPolicy.softTaintDuration is -1ns: want 0 or more
spec.scaledJobSpec.minReplicaCount is -1: want 0 or more
spec.scaledJobSpec.maxReplicaCount is -2: want 0 or more`,
	}, texts(p.Validate()))

	p = placement.DefaultJobPolicy()
	p.Scheduling, p.Affinity = placement.PriorityFailover, &placement.WorkloadAffinity{}
	p.Scaling.Strategy = "default"
	p.Members = []placement.Member{{Name: "a", Priority: ptr(int32(1))}}
	require.Equal(t, []string{`spec.clusterScheduling.workloadAffinity.size is missing: want 0 or more
spec.scaledJobSpec.scalingStrategy.strategy is "default": want one of basic, custom, accurate, eager, pendingAware`}, texts(p.Validate()))
	p.Scaling.Own, p.Affinity.Size = strategy.Eager{}, ptr(int32(0))
	require.Equal(t, []string{"spec.scaledJobSpec.scalingStrategy.strategy is the caller's own: want pendingAware or nothing under priorityFailover"}, texts(p.Validate()))

	o := placement.DefaultObjectPolicy()
	require.Empty(t, texts(o.Validate()))
	o.Rebalancing = placement.Rebalancing{GracePeriod: -1, RecoveryDelay: -1, MaxPercentage: ptr(int32(0))}
	o.Members, o.Max = []placement.Member{{Name: "a"}}, -1
	require.Equal(t, []string{`spec.memberClusters is without weight: want at least one weight above 0
spec.scaledObjectSpec.maxReplicaCount is -1: want 0 or more
spec.rebalancingPolicy.gracePeriod is -1ns: want 0 or more
spec.rebalancingPolicy.recoveryDelay is -1ns: want 0 or more
spec.rebalancingPolicy.maxRebalancePercentage is 0: want 1 to 100`}, texts(o.Validate()))
}

func TestValidateState(t *testing.T) {
	s := placement.JobState{Demand: placement.Demand{Jobs: -1}, Clusters: []placement.JobCluster{
		{Name: "a", Jobs: []placement.Job{{UID: "1"}, {}, {UID: "2", Replaces: placement.Source{UID: "2"}}}},
		{Name: "a", Jobs: []placement.Job{{UID: "1"}}}}}
	require.EqualError(t, s.Validate(), `demand.jobs is -1: want 0 or more
clusters[0].jobs[1].uid is empty: want the UID of the Job
clusters[0].jobs[2].replaces.uid is "2": want the UID of another Job
clusters[1].name is "a": want a name that no other cluster has
clusters[1].jobs[0].uid is "1": want a UID that no other Job has`)
	require.EqualError(t, placement.Counts{Running: 1, Pending: 1, Stuck: 2, Terminating: -1}.Validate(),
		"terminating is -1: want 0 or more\nstuck is 2: want no more than pending, which is 1")
	var field *placement.FieldError
	require.ErrorAs(t, s.Validate(), &field)
	require.Equal(t, "demand.jobs", field.Field)
}

// How long a Job has been pending is not known, so that it is not replaced.
func TestPendingSinceUnknown(t *testing.T) {
	f := newFleet("a", "b")
	f.cluster("a").Jobs = []placement.Job{{UID: "1", Phase: placement.Pending}}
	f.Demand = placement.Demand{Jobs: 1, Active: true}
	require.Equal(t, placement.Counts{Running: 1, Pending: 1}, f.plan().Proposal.Counts)
	require.Empty(t, f.plan().Create)
}

func TestPhase(t *testing.T) {
	require.Equal(t, "in flight", placement.InFlight.String())
	require.Equal(t, "Phase(9)", placement.Phase(9).String())
}
