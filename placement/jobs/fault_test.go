package jobs_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// While a cluster is not listed after a restart, its stuck Jobs stay counted.
func TestRestartKeepsWhatIsCounted(t *testing.T) {
	f := newFleet("a")
	f.has("a", 1, jobs.Pending, time.Minute)
	seen := f.Clusters[0]
	soft := taint.Taint{Level: taint.Soft, Until: at(180)}
	for i, c := range []jobs.Cluster{seen, {Name: "a"}, {Name: "a", Reach: jobs.Unreachable}, seen} {
		f.Now, f.Clusters[0] = at(i), c
		d := f.plan()
		require.Equal(t, soft, d.Members[0].OwnerTaint, "poll %d", i)
		f.Checkpoint = d.Checkpoint
	}
	f.Clusters = nil // unregistered for a moment
	f.Checkpoint = f.plan().Checkpoint
	f.Clusters = []jobs.Cluster{seen}
	require.Equal(t, soft, f.plan().Members[0].OwnerTaint)
	f.Members, f.Clusters = nil, nil // and is then no member either
	require.Equal(t, soft.Until, f.plan().NextCheck)
	f.Checkpoint = f.plan().Checkpoint
	f.Clusters = []jobs.Cluster{seen}
	require.Equal(t, soft, f.plan().Members[0].OwnerTaint)
	f.Now, f.Clusters = at(180), nil // until the taint ends
	f.Checkpoint = f.plan().Checkpoint
	require.Equal(t, jobs.Checkpoint{}, f.Checkpoint)
	f.Clusters = []jobs.Cluster{seen}
	require.Equal(t, taint.Taint{Level: taint.Soft, Until: at(360)}, f.plan().Members[0].OwnerTaint, "counts again")
}

// A member that was never reached delays the others for the grace period, also if there
// are no hard taints. Then the Jobs in its checkpoint count, or none.
func TestNeverReached(t *testing.T) {
	for _, before := range []int64{0, 2} {
		f := newFleet("a", "b")
		f.Failover.HardTaint = 0
		*f.cluster("b") = jobs.Cluster{Name: "b", Since: at(0)}
		if before > 0 {
			f.restore(stored{Clusters: map[string]storedCluster{"b": {Running: before, Pending: 1, Terminating: 1}}})
		}
		f.demand(5)
		for second := range 60 {
			f.Now = at(second)
			d := f.plan()
			require.Equal(t, scaling.ReasonJobsUnknown, d.Scaling.Reason)
			require.Empty(t, d.Create)
			require.Equal(t, jobs.ReasonNeverReached, d.Members[1].Excluded)
			require.False(t, d.NextCheck.After(at(60)), "%v", d.NextCheck)
			f.Checkpoint = d.Checkpoint
		}
		f.Now = at(60)
		d := f.plan()
		require.Equal(t, map[string]int32{"a": int32(5 - before), "b": 0}, f.created(d), "%s", d)
		require.Equal(t, jobs.ReasonNeverReached, d.Members[1].Excluded)
		require.Equal(t, before, d.Members[1].Jobs.Running)
		f.Checkpoint = d.Checkpoint
		require.Equal(t, before, open(f.Checkpoint).Clusters["b"].Running, "remembered on and on")
		*f.cluster("b") = jobs.NewCluster("b")
		d = f.plan()
		require.Zero(t, d.Members[1].Jobs.Running)
	}
	// With a hard taint it delays nothing, and what is not listed delays nothing.
	f := newFleet("a", "b")
	*f.cluster("b") = jobs.Cluster{Name: "b", Taint: taint.Taint{Level: taint.Hard, Until: at(9)}}
	f.demand(1)
	require.Len(t, f.plan().Create, 1)
	f.cluster("b").Taint = taint.Taint{}
	require.Empty(t, f.plan().Create, "its failure does not count: the hub may be cut off")
	require.Equal(t, jobs.ReasonUnconfirmed, f.plan().Members[1].Excluded)
	f.Members = f.Members[:1]
	require.Len(t, f.plan().Create, 1)
	f.restore(stored{Clusters: map[string]storedCluster{"b": {Running: math.MaxInt64, Pending: -1}}})
	require.Zero(t, f.plan().Scaling.Create, "it has Jobs all the same")
}

// After a restart the Jobs on a member that is not reached are those of the checkpoint,
// with the ones that the last decision creates.
func TestJobsRemembered(t *testing.T) {
	f := newFleet("a", "b")
	f.has("b", 2, jobs.Running, 0)
	f.cluster("b").Jobs[1].Deleting = true
	f.demand(5)
	d := f.plan()
	require.Equal(t, map[string]int32{"a": 2, "b": 2}, f.created(d), "%s", d)
	require.Equal(t, storedCluster{Running: 3, Pending: 2, Terminating: 1, Weight: 1}, open(d.Checkpoint).Clusters["b"])
	f = f.apply(d)
	*f.cluster("b") = jobs.Cluster{Name: "b", Since: at(0)}
	f.Checkpoint = f.plan().Checkpoint
	f.Now = at(60)
	d = f.plan()
	require.Empty(t, d.Create, "%s", d)
	require.Equal(t, scaling.JobCounts{Running: 3, Pending: 2, Terminating: 1}, d.Members[1].Jobs)
}

// The target is that of the bounds, also without an active metric.
func TestTarget(t *testing.T) {
	f := newFleet("a")
	for _, c := range []struct {
		mode   scaling.MinMode
		demand int64
		want   int64
	}{{scaling.Floor, 2, 3}, {scaling.Floor, 5, 5}, {scaling.Floor, 9, 7}, {scaling.Floor, 0, 3}, {scaling.Additive, 2, 5}, {scaling.Additive, 9, 7}, {scaling.Additive, 0, 3}} {
		f.Scaling.Bounds = scaling.Bounds{Min: 3, Max: 7, Mode: c.mode}
		f.demand(c.demand)
		require.Equal(t, c.want, f.plan().Target, "%v %d", c.mode, c.demand)
	}
	f.Scaling.Bounds = scaling.Bounds{Max: 7}
	f.demand(0)
	require.Zero(t, f.plan().Target)
	f.Scaling.Bounds.Max = 0
	f.demand(5)
	require.Zero(t, f.plan().Target)
}

// A cluster that is no member is in the plan if it has Jobs, or may have some.
func TestClustersOfThePlan(t *testing.T) {
	f := newFleet("a", "b", "c", "d")
	f.has("b", 1, jobs.Running, 0)
	require.NoError(t, json.Unmarshal([]byte(`{"version": 1, "clusters": {"c": {"running": 2}, "d": {"running": 2}, "a": {"running": -3, "pending": -1, "terminating": -1}}}`), &f.Checkpoint))
	f.cluster("a").Reach, f.cluster("d").Reach = jobs.NeverReached, jobs.NeverReached
	names := func() (all []string) {
		for _, m := range f.plan().Members {
			all = append(all, fmt.Sprint(m.Name, " ", m.Jobs.Running, " ", m.Jobs.Pending, " ", m.Jobs.Terminating))
		}
		return all
	}
	require.Equal(t, []string{"a 0 0 0", "b 1 0 0", "c 0 0 0", "d 2 0 0"}, names())
	f.Members = []jobs.Member{jobs.NewMember("x")}
	require.Equal(t, []string{"b 1 0 0", "d 2 0 0", "x 0 0 0"}, names())
}

// Without a maximum nothing is created over it.
func TestOverMaxOfZero(t *testing.T) {
	f := newFleet("a", "b")
	f.Scaling.Bounds.Max, f.FailoverOverMax = 0, true
	f.has("a", 1, jobs.Pending, time.Hour)
	f.demand(5)
	require.Empty(t, f.plan().Create)
}

// The number of a replacement is at least 1, and does not overflow.
func TestAttempts(t *testing.T) {
	f := newFleet("a", "b")
	f.has("a", 1, jobs.Pending, time.Hour)
	f.demand(1)
	for attempt, next := range map[int32]int32{math.MaxInt32: math.MaxInt32, 1: 2, 0: 2, -1: 2} {
		f.cluster("a").Jobs[0].Replaces = jobs.Source{UID: "gone", Attempt: attempt}
		d := f.plan()
		require.Equal(t, jobs.Source{UID: "gone", Attempt: next}, d.Create[0].Replacements[0].Source, "%s", d)
	}
}

// A late create holds its capacity everywhere but on its cluster, where a new Job gets
// its name.
func TestLateCreates(t *testing.T) {
	f := newFleet("a", "b")
	f.member("b").Weight = 9
	f.Scaling.Bounds.Max = 1
	f.demand(1)
	f.cluster("a").Unanswered = 1
	require.Equal(t, map[string]int32{"a": 1, "b": 0}, f.created(f.plan()), "with the maximum 1")
	require.Equal(t, int64(1), open(f.plan().Checkpoint).Clusters["a"].Terminating)
	f.cluster("a").Reach = jobs.Unreachable
	d := f.plan()
	require.Empty(t, d.Create)
	require.Equal(t, int64(1), d.Unplaced)
	f.cluster("a").Reach = jobs.Reachable
	f.Scaling.Bounds.Max = 3
	f.demand(3)
	f.cluster("a").Unanswered = 2
	require.Equal(t, map[string]int32{"a": 2, "b": 1}, f.created(f.plan()))
	f.Scaling.Bounds.Max = 100
	require.Equal(t, map[string]int32{"a": 0, "b": 3}, f.created(f.plan()), "there is capacity for both")
	f.cluster("a").Unanswered = -1
	require.Equal(t, map[string]int32{"a": 0, "b": 3}, f.created(f.plan()))
}

func TestCheckpointVersion(t *testing.T) {
	f := newFleet("a")
	f.has("a", 1, jobs.Pending, time.Minute)
	data, err := json.Marshal(f.plan().Checkpoint)
	require.NoError(t, err)
	require.JSONEq(t, `{"version": 1, "clusters": {"a": {"running": 1, "pending": 1, "starts": {"counted": "2026-01-01T11:59:00Z"},
		"taint": {"level": "soft", "until": "2026-01-01T12:03:00Z"}}}}`, string(data))
	for text, want := range map[string]string{
		`{}`: "found nothing; use 1", `{"version": 0}`: "found 0; use 1", `{"version": 2, "clusters": 7}`: "found 2; use 1",
		`{"version": "1"}`: `found "1"; use 1`, `{"memory": {}}`: "found nothing; use 1",
	} {
		c := f.plan().Checkpoint
		require.ErrorContains(t, json.Unmarshal([]byte(text), &c), "checkpoint.version: "+want)
		require.Equal(t, f.plan().Checkpoint, c, "not modified")
	}
	var c jobs.Checkpoint
	require.Error(t, json.Unmarshal([]byte(`{"version": 1, "clusters": 7}`), &c))
	require.ErrorContains(t, json.Unmarshal([]byte(`[1]`), &c), "cannot unmarshal array")
	require.Error(t, c.UnmarshalJSON([]byte(`{`)))
	require.NoError(t, json.Unmarshal(data, &c))
	require.Equal(t, f.plan().Checkpoint, c)

	data, err = json.Marshal(struct {
		Checkpoint jobs.Checkpoint `json:"checkpoint,omitzero"`
	}{newFleet("a").plan().Checkpoint})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(data), "a checkpoint without content")
}

// Each reason of a member has a sentence, which the status shows.
func TestMemberPlanString(t *testing.T) {
	soft, hard := taint.Taint{Level: taint.Soft, Until: at(5)}, taint.Taint{Level: taint.Hard, Until: at(5)}
	for _, c := range []struct {
		excluded jobs.Reason
		taint    taint.Taint
		want     string
	}{
		{"", taint.Taint{}, "Cluster is healthy"},
		{"", soft, "Cluster is healthy; a failure counts until 2026-01-01T12:00:05Z"},
		{jobs.ReasonNotRegistered, taint.Taint{}, "Cluster is not registered"},
		{jobs.ReasonNotListed, hard, "Cluster is no member, but has Jobs"},
		{jobs.ReasonNeverReached, hard, "Cluster has not been reached since the start"},
		{jobs.ReasonUnreachable, soft, "Cluster is unreachable"},
		{jobs.ReasonHardTainted, hard, "Cluster has failed, and gets no Job until 2026-01-01T12:00:05Z"},
		{jobs.ReasonWorkloadTainted, taint.Taint{}, "Jobs of this class and size were stuck on the cluster"},
		{jobs.ReasonRejected, soft, "Cluster has rejected a Job"},
		{jobs.ReasonNoWeight, taint.Taint{}, "Cluster has no weight"},
		{jobs.ReasonFull, taint.Taint{}, "Cluster has the most Jobs, or pods, that it may have"},
	} {
		require.Equal(t, c.want, jobs.MemberDecision{Excluded: c.excluded, Taint: c.taint}.String())
	}
	m := jobs.MemberDecision{OwnerTaint: soft}
	require.Contains(t, m.String(), "Jobs or requests of this owner failed there, and another failure counts until 2026-01-01T12:00:05Z")
	m.Jobs.Stuck = 1
	require.Contains(t, m.String(), "Jobs of this owner do not start there, and another failure counts until")
}

// The text of a decision has all of it.
func TestDecisionString(t *testing.T) {
	f := newFleet("a", "b", "c")
	f.Scaling.Bounds.Max, f.Failover.Duplication = 9, jobs.PreferFailover
	f.member("a").MaxJobs = new(int64(4))
	f.member("c").MaxJobs = new(int64(0))
	f.Rollout, f.History, f.Revision = rollout.DefaultPolicy(), history.Policy{Succeeded: history.Keep(0)}, rollout.Revision{Generation: 2, TemplateHash: "b"}
	now := rollout.Revision{Generation: 2, TemplateHash: "b"}
	f.cluster("a").Jobs = []jobs.Job{
		{Name: "old", UID: "1", Revision: rollout.Revision{Generation: 1, TemplateHash: "a"}}, {Name: "done", UID: "2", Phase: jobs.Succeeded, Finished: at(-9)},
		{Name: "moved", UID: "3", Replaces: jobs.Source{UID: "4", Attempt: 1}, Revision: now},
	}
	f.cluster("b").Jobs = []jobs.Job{{Name: "source", UID: "4", Revision: now}}
	f.cluster("b").Reach = jobs.Unreachable
	f.cluster("c").Jobs = []jobs.Job{{Name: "stuck", UID: "5", Phase: jobs.Pending, PendingSince: at(-60), Revision: now}}
	f.demand(9)
	require.Equal(t, `create 5 (the maximum): target 9, 3 running, 1 pending, 1 stuck, 1 terminating
3 unplaced
Cluster has the most Jobs, or pods, that it may have
a: 1 running, 0 pending, 0 stuck (Cluster is healthy)
  create 1
  replace stuck on c
b: 1 running, 0 pending, 0 stuck (Cluster is unreachable, and no other has answered since: the hub may be cut off)
c: 1 running, 1 pending, 1 stuck (Cluster has the most Jobs, or pods, that it may have)
delete old on a: outdated
delete source on b: duplicate, when it is reachable
delete done on a: finished
next check at 2026-01-01T12:03:00Z`, f.plan().String())
}

// Zero values create and delete nothing that nobody asked for.
func TestZeroValues(t *testing.T) {
	require.Zero(t, jobs.Decide(jobs.DefaultPolicy(), jobs.Observation{Clusters: []jobs.Cluster{jobs.NewCluster("a")}}, jobs.Checkpoint{}).NextCheck)
	f := newFleet("a")
	f.has("a", 2, jobs.Pending, time.Hour)
	f.demand(9)
	d := jobs.Decide(jobs.Policy{}, f.Observation, f.Checkpoint)
	require.Empty(t, d.Create)
	require.Empty(t, d.Outdated)
	require.Empty(t, d.Duplicates)
	require.Empty(t, d.Finished)
	require.Empty(t, jobs.Decide(jobs.DefaultPolicy(), jobs.Observation{}, jobs.Checkpoint{}).Create)
	f.Clusters[0] = jobs.Cluster{Name: "a"}
	require.Empty(t, f.plan().Create, "it has never been reached")
}

func TestValidateAll(t *testing.T) {
	texts := func(p jobs.Policy) (all []string) {
		for _, e := range append(field.All(p.Warnings()), field.All(p.Validate())...) {
			all = append(all, e.Error())
		}
		return all
	}
	require.Empty(t, texts(jobs.DefaultPolicy()))
	p := jobs.DefaultPolicy()
	p.Failover.Duplication = jobs.PreferFailover
	require.Empty(t, texts(p), "pendingAware creates duplicates")
	p.Failover.Duplication, p.Scaling.Strategy = jobs.KeepAll, strategy.Eager{}
	require.Empty(t, texts(p), "no other strategy does")
	p = jobs.DefaultPolicy()
	p.Failover = jobs.Failover{HardTaint: 1}
	p.Members = []jobs.Member{{Name: "a", Weight: 1, MaxJobs: new(int64(0))}, {Name: "b"}}
	require.Empty(t, texts(p), "zero values")
	p.Scaling.Bounds = scaling.Bounds{Min: 1}
	require.Equal(t, []string{"Scaling.Bounds.Min: found 1; use the maximum, 0, or less"}, texts(p))
	p.Scaling.Bounds.Max = 1
	require.Empty(t, texts(p), "as many at least as at most")
	p.Scaling.Bounds.Min = 0
	p.Members[0].Priority, p.Scheduling = new(int32(1)), jobs.PriorityFailover
	require.Empty(t, texts(p), "priorities")
	p.Members = p.Members[1:]
	require.Equal(t, []string{"Members: found no weight; use at least one weight above 0, such as that of NewMember"}, texts(p))
	p = jobs.Policy{
		Members:         []jobs.Member{{Name: "a", Weight: 1, MaxJobs: new(int64(-1)), Priority: new(int32(1))}, {Name: "a", Weight: -1}, {}},
		Scheduling:      "random",
		Workload:        taint.Workload{Size: -1},
		Failover:        jobs.Failover{GracePeriod: -1, SoftTaint: -2, Duplication: jobs.PreferSource},
		Scaling:         scaling.Policy{Bounds: scaling.Bounds{Min: -1, Max: -2}, Strategy: strategy.Eager{}},
		FailoverOverMax: true,
	}
	require.Equal(t, []string{
		"Members[0].Priority: found 1; use nothing: weightedRoundRobin ignores it",
		"FailoverOverMax: found true; use nothing: only pendingAware replaces Jobs",
		"Failover.HardTaint: found 0s; use more than 0: otherwise no cluster is ever excluded",
		"Failover.Duplication: found preferSource; use keepAll or nothing: only pendingAware creates duplicates",
		"Scaling.Bounds.Min: found -1; use 0 or more",
		"Scaling.Bounds.Max: found -2; use 0 or more",
		"Members[0].MaxJobs: found -1; use 0 or more",
		`Members[1].Name: found "a"; use a name that no other member has`,
		"Members[1].Weight: found -1; use 0 or more",
		"Members[2].Name: found nothing; use the name of a cluster",
		`Scheduling: found "random"; use weightedRoundRobin or priorityFailover`,
		"Workload.Size: found -1; use 0 or more",
		"Failover.GracePeriod: found -1ns; use 0 or more",
		"Failover.SoftTaint: found -2ns; use 0 or more",
	}, texts(p))
	p = jobs.DefaultPolicy()
	p.Failover.HardTaint, p.Failover.Duplication = -1, "nope"
	p.Scheduling, p.Scaling.Strategy, p.Scaling.Bounds.Min = jobs.PriorityFailover, strategy.Eager{}, 101
	require.Equal(t, []string{
		"Scaling.Bounds.Min: found 101; use the maximum, 100, or less",
		`Failover.Duplication: found nope; use keepAll or nothing: only pendingAware creates duplicates`,
		"Scaling.Strategy: found eager: min(M - R - P, T); use pendingAware with priorityFailover",
		"Failover.HardTaint: found -1ns; use 0 or more",
		`Failover.Duplication: found "nope"; use keepAll, preferFailover, preferSource or immediateSourceCleanup`,
	}, texts(p))
}

func TestValidateState(t *testing.T) {
	s := jobs.Observation{Clusters: []jobs.Cluster{
		{Name: "a", Unanswered: -1, Jobs: []jobs.Job{{UID: "1"}, {}, {UID: "2", Replaces: jobs.Source{UID: "2"}}, {UID: "1", Phase: 9}, {}}},
		{Name: "a"}}}
	require.EqualError(t, s.Validate(), `Clusters[0].Unanswered: found -1; use 0 or more
Clusters[0].Jobs[1].UID: found nothing; use the UID of the Job
Clusters[0].Jobs[2].Replaces.UID: found "2"; use the UID of another Job
Clusters[0].Jobs[3].Phase: found 9; use Running, Pending, Succeeded or Failed
Clusters[0].Jobs[3].UID: found "1"; use a UID that no other Job has
Clusters[0].Jobs[4].UID: found nothing; use the UID of the Job
Clusters[1].Name: found "a"; use a name that no other cluster has`)
	s = newFleet("a", "b").Observation
	s.Clusters[0].Jobs = []jobs.Job{{UID: "1", Phase: jobs.Failed}, {UID: "2", Phase: jobs.Succeeded, Replaces: jobs.Source{UID: "1", Attempt: 1}}}
	require.NoError(t, s.Validate())
}
