package jobs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/testdata"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// second is a time as the cases have it; nil for the zero time.
func second(t time.Time) *int {
	if t.IsZero() {
		return nil
	}
	return new(int(t.Sub(epoch) / time.Second))
}

// cases reads one kind of the cases, of which there must be so many.
func cases[T any](t *testing.T, kind string, want int) []T {
	t.Helper()
	all, err := testdata.Multicluster[[]T](kind)
	require.NoError(t, err)
	require.Len(t, all, want)
	return all
}

// named returns the strategy of that name as a manifest has it.
func named(t *testing.T, name, percentage string, deduction int64) strategy.Strategy {
	t.Helper()
	if name != "custom" {
		s, err := strategy.FromSpec(name, strategy.Parameters{})
		require.NoError(t, err)
		return s
	}
	p, err := strategy.ParsePercentage(percentage)
	if err != nil {
		return strategy.Default{}
	}
	return strategy.NewCustom(deduction, p)
}

func TestScalingStrategies(t *testing.T) {
	type load struct {
		Desired                   int64
		Running, Pending          int
		Max, QueueLengthDeduction int64
		RunningJobPercentage      string
		Expect                    map[string]struct{ Raw, Create int64 }
	}
	for _, c := range cases[load](t, "strategies", 16) {
		require.Len(t, c.Expect, 5)
		for name, want := range c.Expect {
			f := newFleet("a", "b")
			f.Scaling.Bounds.Max = c.Max
			f.Scaling.Strategy = named(t, name, c.RunningJobPercentage, c.QueueLengthDeduction)
			f.has("a", c.Running-c.Pending, jobs.Running, 0)
			f.has("a", c.Pending, jobs.Pending, time.Minute)
			f.demand(c.Desired)
			d := f.plan()
			require.Equal(t, want.Raw, d.Scaling.Trace.Proposal, "%s\n%s", name, d)
			require.Equal(t, want.Create, d.Scaling.Create, "%s\n%s", name, d)
		}
	}
}

// A fleet is a policy and a state to be made of a case.
type fleet struct {
	jobs.Policy
	jobs.Observation
	Checkpoint jobs.Checkpoint
}

// newFleet has a healthy member for each name.
func newFleet(names ...string) *fleet {
	f := &fleet{Policy: jobs.DefaultPolicy()}
	f.Scaling.Bounds.Max = 1000
	f.Now = epoch
	slices.Sort(names)
	for _, name := range names {
		f.Members = append(f.Members, jobs.NewMember(name))
		f.Clusters = append(f.Clusters, jobs.NewCluster(name))
	}
	return f
}

func (f *fleet) member(name string) *jobs.Member {
	return &f.Members[slices.IndexFunc(f.Members, func(m jobs.Member) bool { return m.Name == name })]
}

func (f *fleet) cluster(name string) *jobs.Cluster {
	return &f.Clusters[slices.IndexFunc(f.Clusters, func(c jobs.Cluster) bool { return c.Name == name })]
}

// has adds n Jobs to the cluster, pending for so long where they are.
func (f *fleet) has(name string, n int, phase jobs.Phase, pending time.Duration) {
	c := f.cluster(name)
	for range n {
		uid := fmt.Sprintf("%s-%d", name, len(c.Jobs))
		c.Jobs = append(c.Jobs, jobs.Job{Name: uid, UID: uid, Phase: phase, PendingSince: f.Now.Add(-pending)})
	}
}

// stuck reports whether the Job is, once more than in the package.
func (f *fleet) stuck(c *jobs.Cluster, j *jobs.Job) bool {
	age := max(0, f.Now.Sub(j.PendingSince))
	if c.Reach != jobs.Reachable {
		if age = min(age, max(0, f.Now.Sub(c.Since))); c.Since.IsZero() {
			return false
		}
	}
	return j.Phase == jobs.Pending && !j.Deleting && !j.PendingSince.IsZero() && age >= max(0, f.Failover.GracePeriod)
}

// counts are those of all Jobs, counted here once more.
func (f *fleet) counts() (c scaling.JobCounts) {
	for i := range f.Clusters {
		for k := range f.Clusters[i].Jobs {
			switch j := &f.Clusters[i].Jobs[k]; {
			case j.Phase >= jobs.Succeeded:
			case j.Deleting:
				c.Terminating++
			default:
				c.Running++
				if j.Phase == jobs.Pending {
					c.Pending++
				}
				if f.stuck(&f.Clusters[i], j) {
					c.Stuck++
				}
			}
		}
	}
	return c
}

// demand makes an active metric ask for n Jobs.
func (f *fleet) demand(n int64) {
	f.Metrics = []scaling.Metric{{Value: float64(n), Target: 1, Activity: scaling.Active}}
}

// ask makes the demand such that so many Jobs are to be created.
func (f *fleet) ask(create int64) {
	c := f.counts()
	f.demand(create + c.Running - c.Stuck)
}

func (f *fleet) plan() jobs.Decision { return jobs.Decide(f.Policy, f.Observation, f.Checkpoint) }

// created is how many Jobs each member gets.
func (f *fleet) created(plan jobs.Decision) map[string]int32 {
	all := map[string]int32{}
	for _, m := range f.Members {
		all[m.Name] = 0
	}
	for _, p := range plan.Create {
		all[p.Cluster] += int32(p.Jobs())
	}
	return all
}

// A stored is the JSON of a checkpoint.
type stored struct {
	Version   int                      `json:"version"`
	Clusters  map[string]storedCluster `json:"clusters,omitempty"`
	Workloads taint.Set                `json:"workloads,omitempty"`
}

type storedCluster struct {
	Taint       taint.Taint `json:"taint,omitzero"`
	Starts      jobs.Starts `json:"starts,omitzero"`
	Running     int64       `json:"running,omitempty"`
	Pending     int64       `json:"pending,omitempty"`
	Terminating int64       `json:"terminating,omitempty"`
	Weight      int32       `json:"weight,omitempty"`
	Credit      int64       `json:"credit,omitempty"`
}

// restore makes the checkpoint of its JSON.
func (f *fleet) restore(s stored) {
	s.Version = 1
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &f.Checkpoint)
	}
	if err != nil {
		panic(err)
	}
}

// open is the JSON of a checkpoint, read.
func open(c jobs.Checkpoint) (s stored) {
	data, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		panic(err)
	}
	return s
}

// taints are the states in a checkpoint, by cluster.
func taints(c jobs.Checkpoint) map[string]taint.Taint {
	all := map[string]taint.Taint{}
	for name, c := range open(c).Clusters {
		if c.Taint != (taint.Taint{}) {
			all[name] = c.Taint
		}
	}
	return all
}

type place struct {
	Name, Strategy      string
	Weights, Members    map[string]int32
	Current, Cap, Stuck map[string]int
	Hard, Soft          []string
	Create              int64
	Expect              map[string]int32
	Unplaced            int64
	Reason              jobs.Reason
}

func (c *place) fleet() *fleet {
	names := slices.Collect(maps.Keys(c.Weights))
	if len(c.Members) > 0 {
		names = slices.Collect(maps.Keys(c.Members))
	}
	f := newFleet(names...)
	for name, weight := range c.Weights {
		f.member(name).Weight = weight
	}
	for name, priority := range c.Members {
		f.Scheduling = jobs.PriorityFailover
		f.Workload.Size = 1
		f.member(name).Priority = &priority
	}
	for name, most := range c.Cap {
		f.member(name).MaxJobs = new(int64(most))
	}
	for name, n := range c.Current {
		f.has(name, n-c.Stuck[name], jobs.Running, 0)
		f.has(name, c.Stuck[name], jobs.Pending, time.Minute)
	}
	checkpoint := stored{Clusters: map[string]storedCluster{}}
	for _, name := range c.Hard {
		checkpoint.Clusters[name] = storedCluster{Taint: taint.Taint{Level: taint.Hard, Until: at(300)}}
	}
	for _, name := range c.Soft {
		checkpoint.Clusters[name] = storedCluster{Taint: taint.Taint{Level: taint.Soft, Until: at(300)}}
	}
	f.restore(checkpoint)
	f.ask(c.Create)
	return f
}

func testPlace(t *testing.T, c place) {
	f := c.fleet()
	plan := f.plan()
	require.Equal(t, c.Expect, f.created(plan), "%s\n%s", c.Name, plan)
	require.Equal(t, c.Unplaced, plan.Unplaced, "%s\n%s", c.Name, plan)
	if c.Reason != "" {
		require.Equal(t, c.Reason, plan.Reason, c.Name)
	}
	require.Equal(t, plan.Unplaced > 0, plan.Reason != "", c.Name)
	slices.Reverse(f.Members)
	slices.Reverse(f.Clusters)
	require.Equal(t, plan, f.plan(), "%s: in another order", c.Name)
}

func TestWeightedRoundRobin(t *testing.T) {
	for _, c := range cases[place](t, "wrr_place", 9) {
		testPlace(t, c)
	}
}

func TestPriorityFailover(t *testing.T) {
	for _, c := range cases[place](t, "priority_place", 7) {
		testPlace(t, c)
	}
}

func TestReplacements(t *testing.T) {
	for _, raw := range cases[map[string]json.RawMessage](t, "replacements", 7) {
		if raw["expect"] != nil {
			var c place
			decode(t, raw, &c)
			testPlace(t, c)
			continue
		}
		var c struct {
			Name                         string
			Desired, Running, Stuck, Max int
			Create                       int64
			Split                        struct{ Replacements, Fresh int64 }
			Blocked                      jobs.Reason
		}
		decode(t, raw, &c)
		f := newFleet("a", "b")
		f.Scaling.Bounds.Max = int64(c.Max)
		f.demand(int64(c.Desired))
		f.has("a", c.Stuck, jobs.Pending, time.Minute)
		f.has("a", c.Running-c.Stuck, jobs.Running, 0)
		plan := f.plan()
		require.Equal(t, c.Create, plan.Scaling.Create, "%s\n%s", c.Name, plan)
		require.Equal(t, c.Blocked, plan.Reason, "%s\n%s", c.Name, plan)
		replacements, additional := int64(0), int64(0)
		for _, p := range plan.Create {
			replacements += int64(len(p.Replacements))
			additional += p.Additional
		}
		require.Equal(t, c.Split.Replacements, replacements, "%s\n%s", c.Name, plan)
		require.Equal(t, c.Split.Fresh, additional, "%s\n%s", c.Name, plan)
	}
}

func decode(t *testing.T, raw map[string]json.RawMessage, v any) {
	t.Helper()
	data, err := json.Marshal(raw)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(v))
}

func TestTaintLadder(t *testing.T) {
	type ladder struct {
		Name       string
		Soft, Hard int
		Failures   []int
		Expect     []struct {
			T        int
			State    string
			Until    *int
			Excluded bool
		}
	}
	for _, c := range cases[ladder](t, "taint_ladder", 9) {
		for _, want := range c.Expect {
			// Failures up to then, each in a plan of its own.
			f := newFleet("a", "b")
			f.Failover.SoftTaint, f.Failover.HardTaint = seconds(c.Soft), seconds(c.Hard)
			for _, failure := range c.Failures {
				if failure <= want.T {
					f.Now, f.cluster("a").Failures.Call = at(failure), true
					f.Checkpoint = f.plan().Checkpoint
				}
			}
			f.Now, f.cluster("a").Failures.Call = at(want.T), false
			m := f.plan().Members[0]
			level := want.State
			if level == "none" {
				level = ""
			}
			require.Equal(t, level, string(m.OwnerTaint.Level), "%s at %d", c.Name, want.T)
			require.Equal(t, want.Until, second(m.OwnerTaint.Until), "%s at %d", c.Name, want.T)
			require.Equal(t, want.Excluded, m.Excluded == jobs.ReasonRequestsFail, "%s at %d", c.Name, want.T)
		}
	}
}

func TestTaintBatch(t *testing.T) {
	type batch struct {
		Note       string
		Soft, Hard int
		Passes     []struct{ T, FailedCalls int }
		Expect     struct {
			State string
			Until int
		}
	}
	for _, c := range cases[batch](t, "taint_batch", 1) {
		f := newFleet("a")
		f.Failover.SoftTaint, f.Failover.HardTaint = seconds(c.Soft), seconds(c.Hard)
		for _, pass := range c.Passes {
			f.Now, f.Clusters[0].Failures = at(pass.T), jobs.Failures{Call: pass.FailedCalls > 0, Create: pass.FailedCalls > 1}
			f.Checkpoint = f.plan().Checkpoint
		}
		require.Equal(t, map[string]taint.Taint{"a": {Level: taint.Level(c.Expect.State), Until: at(c.Expect.Until)}}, taints(f.Checkpoint))
	}
}

func TestAffinityTaints(t *testing.T) {
	type entry struct {
		T, Until       int
		Cluster, Class string
		Priority, Size int32
		Excluded       bool
	}
	type staircase struct {
		Note                        string
		Taints, Normalized, Queries []entry
	}
	set := func(entries []entry) (s taint.Set) {
		for _, e := range entries {
			s = append(s, taint.Entry{
				Path: taint.Path{Cluster: e.Cluster, Priority: e.Priority}, Workload: taint.Workload{Class: e.Class, Size: e.Size}, Until: at(e.Until),
			})
		}
		return s
	}
	for _, c := range cases[staircase](t, "affinity_taints", 4) {
		merged := taint.Merge(set(c.Taints))
		if c.Normalized != nil {
			require.Equal(t, set(c.Normalized), merged, c.Note)
		}
		for _, q := range c.Queries {
			f := newFleet(q.Cluster)
			f.Now, f.Scheduling = at(q.T), jobs.PriorityFailover
			f.Workload = taint.Workload{Class: q.Class, Size: q.Size}
			f.Members[0].Priority = &q.Priority
			f.restore(stored{Workloads: merged})
			require.Equal(t, q.Excluded, f.plan().Members[0].Excluded == jobs.ReasonWorkloadTainted, "%s: %+v", c.Note, q)
		}
	}
}

func TestFailureEvents(t *testing.T) {
	type event struct{ Strategy, Event, Effect string }
	kinds := map[string]jobs.Failures{
		"callFailed(list/get/delete)": {Call: true}, "createFailedTransient": {Create: true}, "createRejected(4xx)": {Rejected: true},
	}
	for _, c := range cases[event](t, "failure_events", 8) {
		f := newFleet("a", "b")
		f.Scheduling = jobs.Scheduling(c.Strategy)
		f.Workload = taint.Workload{Class: "team-a", Size: 4}
		f.Members[0].Priority, f.Members[1].Priority = new(int32(100)), new(int32(0))
		if kind, ok := kinds[c.Event]; ok {
			f.Clusters[0].Failures = kind
		} else {
			require.Equal(t, "jobStuck", c.Event)
			f.has("a", 1, jobs.Pending, 80*time.Second)
		}
		plan := f.plan()
		soft := map[string]taint.Taint{"a": {Level: taint.Soft, Until: at(180)}}
		switch c.Effect {
		case "soft-hard ladder, for this owner":
			require.Equal(t, soft, taints(plan.Checkpoint), c)
			require.Empty(t, open(plan.Checkpoint).Workloads, c)
		case "none; retry":
			require.Empty(t, taints(plan.Checkpoint), c)
			require.Empty(t, plan.Members[0].Excluded, c)
		case "none; surface condition":
			require.Empty(t, taints(plan.Checkpoint), c)
			require.Equal(t, jobs.ReasonRejected, plan.Members[0].Excluded, c)
		case "hard taint scoped (class,size,priority), until = pendingSince+grace+hard":
			require.Empty(t, taints(plan.Checkpoint), c)
			require.Equal(t, taint.Set{{
				Path: taint.Path{Cluster: "a", Priority: 100}, Workload: taint.Workload{Class: "team-a", Size: 4}, Until: at(-80 + 60 + 300),
			}}, open(plan.Checkpoint).Workloads, c)
		default:
			t.Errorf("unknown effect %q", c.Effect)
		}
	}
}

func TestStuck(t *testing.T) {
	type job struct {
		Phase, Note            string
		PendingSince, Grace, T int
		Stuck                  bool
		NextCheck              *int
	}
	phases := map[string]jobs.Phase{"": jobs.Pending, "Running": jobs.Running, "Succeeded": jobs.Succeeded}
	for _, c := range cases[job](t, "stuck", 6) {
		f := newFleet("a")
		f.Now, f.Failover.GracePeriod = at(c.T), seconds(c.Grace)
		f.Failover.SoftTaint, f.Failover.HardTaint = 0, 0 // whose end would be a next check too
		f.Clusters[0].Jobs = []jobs.Job{{UID: "a", Phase: phases[c.Phase], PendingSince: at(c.PendingSince)}}
		plan := f.plan()
		require.Equal(t, c.Stuck, plan.Members[0].Jobs.Stuck == 1, c)
		require.Equal(t, c.NextCheck, second(plan.NextCheck), c)
	}
}

func TestDuplicationPolicies(t *testing.T) {
	type pair struct {
		Policy, Source, Replacement string
		Action                      *string
	}
	phases := map[string]jobs.Phase{
		"Pending": jobs.Pending, "Running": jobs.Running, "Succeeded": jobs.Succeeded, "Failed": jobs.Failed,
	}
	for _, c := range cases[pair](t, "duplicates", 64) {
		f := newFleet("a", "b")
		f.Failover.Duplication = jobs.Duplication(c.Policy)
		if c.Source != "Gone" {
			f.cluster("a").Jobs = []jobs.Job{{Name: "source", UID: "s", Phase: phases[c.Source]}}
		}
		f.cluster("b").Jobs = []jobs.Job{{Name: "replacement", UID: "r", Phase: phases[c.Replacement], Replaces: jobs.Source{UID: "s", Attempt: 1}}}
		var action *string
		plan := f.plan()
		for _, d := range plan.Duplicates {
			require.Nil(t, action, c)
			action = new("delete " + d.Name)
		}
		require.Equal(t, c.Action, action, c)
	}
}
