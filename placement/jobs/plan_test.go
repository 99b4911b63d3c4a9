package jobs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// Jobs of size 4 get stuck on the primary. Sizes 4 and 5 then go to the other, size 3
// does not; when the taint ends, so do new ones of every size.
func TestSizesAgainstATaint(t *testing.T) {
	f := newFleet("failover", "primary")
	f.Scheduling = jobs.PriorityFailover
	f.member("primary").Priority, f.member("failover").Priority = new(int32(100)), new(int32(0))
	f.Workload = taint.Workload{Class: "team-a", Size: 4}
	f.has("primary", 2, jobs.Pending, 59*time.Second)
	f.ask(1)
	plan := f.plan()
	require.Equal(t, map[string]int32{"primary": 1, "failover": 0}, f.created(plan), "%s", plan)
	require.Equal(t, new(1), second(plan.NextCheck), "%s", plan)

	f.Now = at(1)
	f.ask(3)
	plan = f.plan()
	require.Equal(t, map[string]int32{"primary": 0, "failover": 3}, f.created(plan), "%s", plan)
	require.Len(t, plan.Create[0].Replacements, 2)
	require.Equal(t, new(301), second(plan.NextCheck), "%s", plan)
	require.Equal(t, taint.Set{{Path: taint.Path{Cluster: "primary", Priority: 100}, Workload: taint.Workload{Class: "team-a", Size: 4}, Until: at(301)}},
		plan.Members[1].Workloads)

	f.Checkpoint, f.Now = plan.Checkpoint, at(301)
	require.Empty(t, f.plan().Members[1].Workloads)
	require.Empty(t, open(f.plan().Checkpoint).Workloads)

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
		other.Scheduling, other.Shared, other.Now = jobs.PriorityFailover, plan.Checkpoint.Workloads(), at(c.t)
		other.member("primary").Priority, other.member("failover").Priority = &c.priority, new(int32(0))
		other.Workload = taint.Workload{Class: c.class, Size: c.size}
		other.ask(5)
		require.Equal(t, int32(5), other.created(other.plan())[c.want], "%+v", c)
		require.Empty(t, other.plan().Checkpoint.Workloads(), "it holds his own only")
	}
}

// A Job is stuck, and so is its replacement: the next goes where neither is. Then there is
// no cluster left, and nothing more is created.
func TestChain(t *testing.T) {
	f := newFleet("a", "b", "c")
	f.has("a", 1, jobs.Pending, time.Minute)
	f.Failover.SoftTaint, f.Failover.HardTaint = 0, 0
	f.demand(1)
	attempts := int32(0)
	for _, want := range []string{"b", "c", ""} {
		plan := f.plan()
		if want == "" {
			require.Empty(t, plan.Create, "%s", plan)
			require.Equal(t, int64(1), plan.Unplaced, "%s", plan)
			require.Equal(t, jobs.ReasonNoOtherMember, plan.Reason, "%s", plan)
			break
		}
		require.Equal(t, want, plan.Create[0].Cluster, "%s", plan)
		attempts++
		require.Equal(t, jobs.Source{UID: "a-0", Attempt: attempts}, plan.Create[0].Replacements[0].Source)
		*f = *f.apply(plan)
		require.Empty(t, f.plan().Create, "the replacement is in flight")
		f.Now = f.Now.Add(time.Minute)
		for c, j := range f.each {
			if c.Name == want {
				j.Phase, j.PendingSince = jobs.Pending, f.Now.Add(-time.Minute)
			}
		}
	}
}

// All of the maximum is stuck. Over the maximum as much again may be created, once.
func TestFailoverOverMax(t *testing.T) {
	f := newFleet("a", "b", "c")
	f.Scaling.Bounds.Max = 3
	f.has("a", 3, jobs.Pending, time.Minute)
	f.demand(3)
	require.Equal(t, jobs.ReasonHeldByStuck, f.plan().Reason)
	f.FailoverOverMax = true
	plan := f.plan()
	require.Equal(t, map[string]int32{"a": 0, "b": 2, "c": 1}, f.created(plan), "%s", plan)
	*f = *f.apply(plan)
	f.Now = at(60)
	for _, j := range f.each {
		j.Phase, j.PendingSince = jobs.Pending, epoch.Add(-time.Minute)
	}
	require.Equal(t, jobs.ReasonHeldByStuck, f.plan().Reason)

	// Jobs that run are enough, or there is capacity: stuck Jobs hold nothing.
	f = newFleet("a", "b")
	f.Scaling.Bounds.Max = 3
	f.has("a", 1, jobs.Pending, time.Minute)
	f.has("b", 2, jobs.Running, 0)
	f.demand(2)
	require.Empty(t, f.plan().Reason)
	f.demand(3)
	require.Equal(t, jobs.ReasonHeldByStuck, f.plan().Reason)
	f.Scaling.Bounds.Max = 4
	require.Empty(t, f.plan().Reason)
	require.Equal(t, []jobs.Placement{{Cluster: "b", Replacements: []jobs.Replacement{
		{Stuck: jobs.JobRef{Cluster: "a", Name: "a-0", UID: "a-0"}, Source: jobs.Source{UID: "a-0", Attempt: 1}},
	}}}, f.plan().Create)
	f.Scaling.Strategy = strategy.Default{}
	f.demand(4)
	require.Equal(t, []jobs.Placement{{Cluster: "a", Additional: 1}}, f.plan().Create)

	// The minimum as a floor counts over the maximum, too.
	f = newFleet("a", "b")
	f.Scaling.Bounds, f.FailoverOverMax = scaling.Bounds{Min: 3, Max: 3, Mode: scaling.Floor}, true
	f.has("a", 3, jobs.Pending, time.Minute)
	f.demand(1)
	require.Equal(t, map[string]int32{"a": 0, "b": 3}, f.created(f.plan()))

	// An additive minimum is not replaced.
	f.Scaling.Bounds = scaling.Bounds{Min: 1, Max: 3}
	f.demand(9)
	require.Equal(t, map[string]int32{"a": 0, "b": 2}, f.created(f.plan()))

	// Without an active metric nothing is replaced, and the maximum holds.
	f = newFleet("a")
	f.Scaling.Bounds, f.FailoverOverMax = scaling.Bounds{Min: 3, Max: 3, Mode: scaling.Floor}, true
	f.has("a", 1, jobs.Pending, time.Minute)
	f.has("a", 2, jobs.Running, 0)
	f.Clusters[0].Jobs[1].Deleting, f.Clusters[0].Jobs[2].Deleting = true, true
	require.Zero(t, f.plan().Scaling.Create)
}

// Why Jobs are not placed: the first that is true.
func TestUnplaced(t *testing.T) {
	full := func(f *fleet, name string) {
		f.has(name, 1, jobs.Running, 0)
		f.Members[slices.IndexFunc(f.Members, func(m jobs.Member) bool { return m.Name == name })].MaxJobs = new(int64(1))
	}
	for _, tt := range []struct {
		name  string
		spoil func(*fleet)
		want  jobs.Reason
	}{
		{"nobody is registered", func(f *fleet) { f.Clusters = nil }, jobs.ReasonNoMembers},
		{"nobody has weight", func(f *fleet) { f.Members[0].Weight, f.Members[1].Weight = 0, 0 }, jobs.ReasonNoMembers},
		{"nobody answers", func(f *fleet) { f.Clusters[0].Reach, f.Clusters[1].Reach = jobs.Unreachable, jobs.Unreachable }, jobs.ReasonCutOff},
		{"all are full for the caller", func(f *fleet) { f.Clusters[0].MaxJobs, f.Clusters[1].MaxJobs = new(int64), new(int64) }, jobs.ReasonFull},
		{"all are full", func(f *fleet) { full(f, "a"); full(f, "b") }, jobs.ReasonFull},
		{"one is full, one does not answer", func(f *fleet) { full(f, "a"); f.Clusters[1].Reach = jobs.Unreachable }, jobs.ReasonFull},
		{"all become full", func(f *fleet) { f.Members[0].MaxJobs, f.Members[1].MaxJobs = new(int64(1)), new(int64(1)) }, jobs.ReasonFull},
	} {
		f := newFleet("a", "b")
		tt.spoil(f)
		f.ask(3)
		plan := f.plan()
		require.Equal(t, tt.want, plan.Reason, "%s: %s", tt.name, plan)
		require.Positive(t, plan.Unplaced)
	}
}

// A member without weight or room gets no Job, and the other gets all of them.
func TestNoWeightOrRoom(t *testing.T) {
	for want, spoil := range map[jobs.Reason]func(*fleet){
		jobs.ReasonNoWeight: func(f *fleet) { f.Members[0].Weight = 0 },
		jobs.ReasonFull: func(f *fleet) {
			f.has("a", 1, jobs.Running, 0)
			f.has("a", 1, jobs.Running, 0)
			f.cluster("a").Jobs[1].Deleting = true
			f.Members[0].MaxJobs = new(int64(2))
		},
	} {
		f := newFleet("a", "b")
		spoil(f)
		f.ask(3)
		plan := f.plan()
		require.Equal(t, want, plan.Members[0].Excluded, "%s", plan)
		require.Equal(t, map[string]int32{"a": 0, "b": 3}, f.created(plan), "%s", plan)
	}
}

// total adds up the Jobs of all members.
func total(d jobs.Decision) (all scaling.JobCounts) {
	for _, m := range d.Members {
		all.Running += m.Jobs.Running
		all.Pending += m.Jobs.Pending
		all.Stuck += m.Jobs.Stuck
		all.Terminating += m.Jobs.Terminating
	}
	return all
}

// each yields all Jobs with their clusters.
func (f *fleet) each(yield func(*jobs.Cluster, *jobs.Job) bool) {
	for i := range f.Clusters {
		for k := range f.Clusters[i].Jobs {
			if !yield(&f.Clusters[i], &f.Clusters[i].Jobs[k]) {
				return
			}
		}
	}
}

// apply is the fleet after the decision: Jobs are deleted, other than deferred ones, and
// created ones are in flight.
func (f *fleet) apply(d jobs.Decision) *fleet {
	after := *f
	after.Checkpoint = d.Checkpoint
	after.Clusters = slices.Clone(f.Clusters)
	gone := map[string]bool{}
	for _, of := range [][]jobs.Deletion{d.Outdated, d.Duplicates, d.Finished} {
		for _, j := range of {
			gone[j.UID] = !j.Deferred
		}
	}
	for i := range after.Clusters {
		c := &after.Clusters[i]
		c.Failures = jobs.Failures{}
		c.Jobs = slices.DeleteFunc(slices.Clone(c.Jobs), func(j jobs.Job) bool { return gone[j.UID] })
		for _, p := range d.Create {
			if p.Cluster != c.Name {
				continue
			}
			for range p.Additional {
				name := fmt.Sprintf("additional-%s-%d-%d", c.Name, f.Now.Unix(), len(c.Jobs))
				c.Jobs = append(c.Jobs, jobs.Job{Name: name, UID: name, Phase: jobs.Pending})
			}
			for _, r := range p.Replacements {
				name := fmt.Sprintf("%s-%d", r.Source.UID, r.Source.Attempt)
				c.Jobs = append(c.Jobs, jobs.Job{Name: name, UID: name, Phase: jobs.Pending, Replaces: r.Source})
			}
		}
	}
	return &after
}
