package placement_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/strategy"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func ptr[T any](x T) *T { return &x }

// second is a time as the cases have it; nil for the zero time.
func second(t time.Time) *int {
	if t.IsZero() {
		return nil
	}
	return ptr(int(t.Sub(epoch) / time.Second))
}

// cases reads one kind of the cases, of which there must be so many.
func cases[T any](t *testing.T, kind string, want int) []T {
	t.Helper()
	data, err := os.ReadFile("../testdata/multicluster.json")
	require.NoError(t, err)
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &file))
	require.Contains(t, file, kind)
	var all []T
	d := json.NewDecoder(bytes.NewReader(file[kind]))
	d.DisallowUnknownFields() // so that nothing a case says is passed over
	require.NoError(t, d.Decode(&all))
	require.Len(t, all, want)
	return all
}

// A share is a case of sharing replicas among healthy members.
type share struct {
	Name, Src, Note, Hash, Seed, Error string

	Weights   map[string]int32
	Total     int32
	Expect    map[string]int32
	RankOrder []string `json:"rank_order"`
	Hashes    map[string]string
}

// desired shares by PlanObject.
func desired(seed string, weights map[string]int32, total int32) map[string]int32 {
	p := placement.ObjectPolicy{Max: 1 << 30, Seed: seed}
	s := placement.ObjectState{Replicas: &total, Now: epoch}
	for name, weight := range weights {
		p.Members = append(p.Members, placement.Member{Name: name, Weight: weight})
		s.Clusters = append(s.Clusters, placement.ObjectCluster{Name: name, Health: placement.NewHealth(true, epoch)})
	}
	return parts(placement.PlanObject(p, s))
}

func parts(plan placement.ObjectPlan) map[string]int32 {
	all := map[string]int32{}
	for _, part := range plan.Members {
		all[part.Name] = part.Desired
	}
	return all
}

// Each case, and around it the laws that it has to obey: one replica more, weights
// in other units, and a member that leaves.
func TestAllocate(t *testing.T) {
	for _, c := range cases[share](t, "allocate", 29) {
		got := desired("", c.Weights, c.Total)
		require.Equal(t, c.Expect, got, c.Name)
		more := desired("", c.Weights, c.Total+1)
		units, grown := map[string]int32{}, int32(0)
		for name, weight := range c.Weights {
			require.GreaterOrEqual(t, more[name], got[name], "%s: one more", c.Name)
			grown += more[name] - got[name]
			units[name] = weight * 7
			left := maps.Clone(c.Weights)
			delete(left, name)
			for other, n := range desired("", left, c.Total) {
				require.GreaterOrEqual(t, n, got[other], "%s: without %s", c.Name, name)
			}
		}
		require.Equal(t, int32(1), grown, "%s: one more", c.Name)
		if c.Name != "int32 extremes" { // where 7 times is too much
			require.Equal(t, c.Expect, desired("", units, c.Total), "%s: weights times 7", c.Name)
		}
	}
}

func TestAllocateErrors(t *testing.T) {
	texts := map[string]string{
		"AllWeightsZero": "parties is without weight: want at least one weight above 0",
		"NegativeWeight": "parties[0].Weight is -1: want 0 or more",
		"NoMembers":      "parties is empty: want at least one party",
		"NegativeTotal":  "seats is -1: want 0 or more",
	}
	for _, c := range cases[share](t, "allocate_errors", 5) {
		var parties []apportion.Party
		for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
			parties = append(parties, apportion.Party{Weight: c.Weights[name]})
		}
		err := apportion.Validate(c.Total, parties)
		if c.Error == "" {
			require.NoError(t, err)
			require.Equal(t, c.Expect, desired("", c.Weights, c.Total))
			continue
		}
		require.EqualError(t, err, texts[c.Error])
	}
}

// The order of ties is that in which equal members get one replica each; that of
// the hashes is TestRank's.
func TestSeededTies(t *testing.T) {
	for _, c := range cases[share](t, "seeded_ties", 4) {
		require.Equal(t, c.Expect, desired(c.Seed, c.Weights, c.Total), c.Seed)
		for n, name := range c.RankOrder {
			require.Equal(t, int32(0), desired(c.Seed, c.Weights, int32(n))[name], c.Seed)
			require.Equal(t, int32(1), desired(c.Seed, c.Weights, int32(n+1))[name], c.Seed)
		}
	}
}

func TestObjectTimeline(t *testing.T) {
	data, err := os.ReadFile("../testdata/multicluster.json")
	require.NoError(t, err)
	var file struct {
		Timeline struct {
			Weights map[string]int32
			Grace   int
			Total   int32
			Steps   []struct {
				T                int
				UnreachableSince map[string]int
				Expect           map[string]int32
				Excluded         []string
				Reason           string
				NextCheck        *int
			}
		} `json:"object_timeline"`
	}
	require.NoError(t, json.Unmarshal(data, &file))
	line := file.Timeline
	require.Len(t, line.Steps, 8)
	p := placement.ObjectPolicy{Max: 100, Rebalancing: placement.Rebalancing{GracePeriod: seconds(line.Grace)}}
	for name, weight := range line.Weights {
		p.Members = append(p.Members, placement.Member{Name: name, Weight: weight})
	}
	for _, step := range line.Steps {
		s := placement.ObjectState{Replicas: &line.Total, Now: at(step.T)}
		for name := range line.Weights {
			health := placement.NewHealth(true, epoch)
			if since, ok := step.UnreachableSince[name]; ok {
				health = placement.NewHealth(false, at(since))
			}
			s.Clusters = append(s.Clusters, placement.ObjectCluster{Name: name, Health: health})
		}
		plan := placement.PlanObject(p, s)
		require.Equal(t, step.Expect, parts(plan), "at %d", step.T)
		require.Equal(t, step.NextCheck, second(plan.NextCheck), "at %d", step.T)
		excluded := []string{}
		for _, part := range plan.Members {
			if part.Excluded != "" {
				excluded = append(excluded, part.Name)
			}
			require.False(t, part.Write && step.UnreachableSince[part.Name] > 0)
		}
		require.Equal(t, step.Excluded, excluded, "at %d", step.T)
		reason, _, _ := strings.Cut(step.Reason, ":")
		require.Equal(t, reason, string(plan.Reason), "at %d", step.T)
	}
}

func TestObjectTarget(t *testing.T) {
	type target struct {
		Name             string
		Metric, Min, Max int32
		Annotations      map[string]string
		Expect           any
		PausedCondition  *bool
		Error            string
	}
	for _, c := range cases[target](t, "object_target", 15) {
		p := placement.ObjectPolicy{Min: c.Min, Max: c.Max}
		var err error
		p.Pause, err = placement.ObjectPause(c.Annotations)
		if c.Error != "" {
			var field *placement.FieldError
			require.ErrorAs(t, err, &field, c.Name)
			require.Equal(t, "metadata.annotations[autoscaling.keda.sh/paused-replicas]", field.Field, c.Name)
			require.True(t, p.Pause.Paused, c.Name)
		} else {
			require.NoError(t, err, c.Name)
		}
		total, hold := p.Target(&c.Metric)
		if c.Expect == "freeze" {
			require.Equal(t, placement.ReasonPaused, hold, c.Name)
		} else {
			require.Empty(t, hold, c.Name)
			require.EqualValues(t, c.Expect, total, c.Name)
		}
		// And so in a plan, of a member that has something else.
		plan := placement.PlanObject(p, placement.ObjectState{Replicas: &c.Metric, Now: epoch, Clusters: []placement.ObjectCluster{
			{Name: "a", Health: placement.NewHealth(true, epoch), Current: 77}}})
		require.Equal(t, c.Expect != "freeze", plan.Members[0].Write, c.Name)
		if c.PausedCondition != nil {
			require.Equal(t, *c.PausedCondition, plan.Paused, c.Name)
		}
	}
}

func TestScalingStrategies(t *testing.T) {
	type load struct {
		Desired, Running, Pending int64
		Max, QueueLengthDeduction int32
		RunningJobPercentage      string
		Expect                    map[string]struct{ Raw, Create int64 }
	}
	for _, c := range cases[load](t, "strategies", 16) {
		require.Len(t, c.Expect, 5)
		for name, want := range c.Expect {
			s := placement.Scaling{Max: c.Max, Strategy: name, QueueLengthDeduction: c.QueueLengthDeduction, RunningJobPercentage: c.RunningJobPercentage}
			p := s.Propose(placement.Demand{Jobs: c.Desired, Active: true},
				placement.Counts{Running: c.Running, Pending: c.Pending, Stuck: c.Pending})
			require.Equal(t, want.Raw, p.Raw, "%s %+v", name, p)
			require.EqualValues(t, want.Create, p.Create, "%s %+v", name, p)
		}
	}
}

func TestScalingStrategiesInvalid(t *testing.T) {
	type load struct {
		Desired, Running, Pending, Max int64
		Error                          string
	}
	texts := map[string]string{
		"PendingExceedsRunning": "pending is 3: want no more than running, which is 2",
		"NegativeInput":         "demand.jobs is -1: want 0 or more",
	}
	for _, c := range cases[load](t, "strategies_invalid", 2) {
		state := placement.JobState{Demand: placement.Demand{Jobs: c.Desired}}
		err := placement.Counts{Running: c.Running, Pending: c.Pending}.Validate()
		if err == nil {
			err = state.Validate()
		}
		require.EqualError(t, err, texts[c.Error])
	}
}

// A fleet is a policy and a state to be made of a case.
type fleet struct {
	placement.JobPolicy
	placement.JobState
}

// newFleet has a healthy member for each name.
func newFleet(names ...string) *fleet {
	f := &fleet{JobPolicy: placement.DefaultJobPolicy()}
	f.Scaling.Max = 1000
	f.Now = epoch
	slices.Sort(names)
	for _, name := range names {
		f.Members = append(f.Members, placement.NewMember(name))
		f.Clusters = append(f.Clusters, placement.JobCluster{Name: name, Reachable: true, Known: true})
	}
	return f
}

func (f *fleet) member(name string) *placement.Member {
	return &f.Members[slices.IndexFunc(f.Members, func(m placement.Member) bool { return m.Name == name })]
}

func (f *fleet) cluster(name string) *placement.JobCluster {
	return &f.Clusters[slices.IndexFunc(f.Clusters, func(c placement.JobCluster) bool { return c.Name == name })]
}

// has adds n Jobs to the cluster, pending for so long where they are.
func (f *fleet) has(name string, n int, phase placement.Phase, pending time.Duration) {
	c := f.cluster(name)
	for range n {
		uid := fmt.Sprintf("%s-%d", name, len(c.Jobs))
		c.Jobs = append(c.Jobs, placement.Job{Name: uid, UID: uid, Phase: phase, PendingSince: f.Now.Add(-pending)})
	}
}

// counts are those of all Jobs, counted here once more.
func (f *fleet) counts() (c placement.Counts) {
	for _, cluster := range f.Clusters {
		for _, j := range cluster.Jobs {
			stuck, _ := j.Stuck(f.Failover.GracePeriod, f.Now)
			switch {
			case j.Phase == placement.Succeeded || j.Phase == placement.Failed:
			case j.Deleting || j.Phase == placement.Terminating:
				c.Terminating++
			default:
				c.Running++
				if j.Phase != placement.Running {
					c.Pending++
				}
				if stuck {
					c.Stuck++
				}
			}
		}
	}
	return c
}

// ask makes the demand such that so many Jobs are to be created.
func (f *fleet) ask(create int64) {
	c := f.counts()
	f.Demand = placement.Demand{Jobs: create + c.Running - c.Stuck, Active: true}
}

func (f *fleet) plan() placement.JobPlan { return placement.PlanJobs(f.JobPolicy, f.JobState) }

// created is how many Jobs each member gets.
func (f *fleet) created(plan placement.JobPlan) map[string]int32 {
	all := map[string]int32{}
	for _, m := range f.Members {
		all[m.Name] = 0
	}
	for _, p := range plan.Create {
		all[p.Cluster] += int32(p.Jobs())
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
	Unplaced            int32
	Reason              placement.Reason
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
		f.Scheduling = placement.PriorityFailover
		f.Affinity = &placement.WorkloadAffinity{Size: ptr(int32(1))}
		f.member(name).Priority = &priority
	}
	for name, most := range c.Cap {
		f.member(name).MaxJobs = ptr(int32(most))
	}
	for name, n := range c.Current {
		f.has(name, n-c.Stuck[name], placement.Running, 0)
		f.has(name, c.Stuck[name], placement.Pending, time.Minute)
	}
	f.Memory.Clusters = map[string]taint.State{}
	for _, name := range c.Hard {
		f.Memory.Clusters[name] = taint.State{Level: taint.Hard, Until: at(300)}
	}
	for _, name := range c.Soft {
		f.Memory.Clusters[name] = taint.State{Level: taint.Soft, Until: at(300)}
	}
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
			Create                       int32
			Split                        struct{ Replacements, Fresh int32 }
			Blocked                      placement.Reason
		}
		decode(t, raw, &c)
		f := newFleet("a", "b")
		f.Scaling.Max = int32(c.Max)
		f.Demand = placement.Demand{Jobs: int64(c.Desired), Active: true}
		f.has("a", c.Stuck, placement.Pending, time.Minute)
		f.has("a", c.Running-c.Stuck, placement.Running, 0)
		plan := f.plan()
		require.Equal(t, c.Create, plan.Proposal.Create, "%s\n%s", c.Name, plan)
		require.Equal(t, c.Blocked, plan.Blocked, "%s\n%s", c.Name, plan)
		replacements, fresh := int32(0), int32(0)
		for _, p := range plan.Create {
			replacements += int32(len(p.Replacements))
			fresh += p.Fresh
		}
		require.Equal(t, c.Split.Replacements, replacements, "%s\n%s", c.Name, plan)
		require.Equal(t, c.Split.Fresh, fresh, "%s\n%s", c.Name, plan)
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
					f.Now, f.Failures = at(failure), []placement.Failure{{Cluster: "a"}}
					f.Memory = f.plan().Memory
				}
			}
			f.Now, f.Failures = at(want.T), nil
			m := f.plan().Members[0]
			level := want.State
			if level == "none" {
				level = ""
			}
			require.Equal(t, level, string(m.Taint.Level), "%s at %d", c.Name, want.T)
			require.Equal(t, want.Until, second(m.Taint.Until), "%s at %d", c.Name, want.T)
			require.Equal(t, want.Excluded, m.Excluded == placement.ReasonHardTainted, "%s at %d", c.Name, want.T)
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
			f.Now, f.Failures = at(pass.T), slices.Repeat([]placement.Failure{{Cluster: "a"}}, pass.FailedCalls)
			f.Memory = f.plan().Memory
		}
		require.Equal(t, map[string]taint.State{"a": {Level: taint.Level(c.Expect.State), Until: at(c.Expect.Until)}}, f.Memory.Clusters)
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
			f.Now, f.Scheduling = at(q.T), placement.PriorityFailover
			f.Affinity = &placement.WorkloadAffinity{Class: q.Class, Size: &q.Size}
			f.Members[0].Priority = &q.Priority
			f.Memory.Workloads = merged
			require.Equal(t, q.Excluded, f.plan().Members[0].Excluded == placement.ReasonWorkload, "%s: %+v", c.Note, q)
		}
	}
}

func TestFailureEvents(t *testing.T) {
	type event struct{ Strategy, Event, Effect string }
	kinds := map[string]placement.FailureKind{
		"callFailed(list/get/delete)": placement.CallFailed, "createFailedTransient": placement.CreateFailed, "createRejected(4xx)": placement.CreateRejected,
	}
	for _, c := range cases[event](t, "failure_events", 8) {
		f := newFleet("a", "b")
		f.Scheduling = placement.Scheduling(c.Strategy)
		f.Affinity = &placement.WorkloadAffinity{Class: "team-a", Size: ptr(int32(4))}
		f.Members[0].Priority, f.Members[1].Priority = ptr(int32(100)), ptr(int32(0))
		if kind, ok := kinds[c.Event]; ok {
			f.Failures = []placement.Failure{{Cluster: "a", Kind: kind}}
		} else {
			require.Equal(t, "jobStuck", c.Event)
			f.has("a", 1, placement.Pending, 80*time.Second)
		}
		plan := f.plan()
		soft := map[string]taint.State{"a": {Level: taint.Soft, Until: at(180)}}
		switch c.Effect {
		case "soft-hard ladder, cluster-wide":
			require.Equal(t, soft, plan.Memory.Clusters, c)
			require.Empty(t, plan.Memory.Workloads, c)
		case "none; retry":
			require.Empty(t, plan.Memory.Clusters, c)
			require.Empty(t, plan.Members[0].Excluded, c)
		case "none; surface condition":
			require.Empty(t, plan.Memory.Clusters, c)
			require.Equal(t, placement.ReasonRejected, plan.Members[0].Excluded, c)
		case "hard taint scoped (class,size,priority), until = pendingSince+grace+hard":
			require.Empty(t, plan.Memory.Clusters, c)
			require.Equal(t, taint.Set{{
				Path: taint.Path{Cluster: "a", Priority: 100}, Workload: taint.Workload{Class: "team-a", Size: 4}, Until: at(-80 + 60 + 300),
			}}, plan.Memory.Workloads, c)
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
	phases := map[string]placement.Phase{"": placement.Pending, "Running": placement.Running, "Succeeded": placement.Succeeded}
	for _, c := range cases[job](t, "stuck", 6) {
		f := newFleet("a")
		f.Now, f.Failover.GracePeriod = at(c.T), seconds(c.Grace)
		f.Failover.SoftTaint, f.Failover.HardTaint = 0, 0 // whose end would be a next check too
		f.Clusters[0].Jobs = []placement.Job{{UID: "a", Phase: phases[c.Phase], PendingSince: at(c.PendingSince)}}
		stuck, next := f.Clusters[0].Jobs[0].Stuck(seconds(c.Grace), at(c.T))
		require.Equal(t, c.Stuck, stuck, c)
		require.Equal(t, c.NextCheck, second(next), c)
		plan := f.plan()
		require.Equal(t, c.Stuck, plan.Proposal.Counts.Stuck == 1, c)
		require.Equal(t, c.NextCheck, second(plan.NextCheck), c)
	}
}

func TestDuplicationPolicies(t *testing.T) {
	type pair struct {
		Policy, Source, Replacement string
		Action                      *string
	}
	phases := map[string]placement.Phase{
		"Pending": placement.Pending, "Running": placement.Running, "Succeeded": placement.Succeeded, "Failed": placement.Failed,
	}
	for _, c := range cases[pair](t, "duplicates", 48) {
		f := newFleet("a", "b")
		f.Failover.Duplication = placement.Duplication(c.Policy)
		if c.Source != "Gone" {
			f.cluster("a").Jobs = []placement.Job{{Name: "source", UID: "s", Phase: phases[c.Source]}}
		}
		f.cluster("b").Jobs = []placement.Job{{Name: "replacement", UID: "r", Phase: phases[c.Replacement], Replaces: placement.Source{UID: "s", Attempt: 1}}}
		var action *string
		plan := f.plan()
		for _, d := range plan.Delete {
			require.Equal(t, placement.ReasonDuplicate, d.Reason)
			require.Nil(t, action, c)
			action = ptr("delete " + d.Name)
		}
		require.Equal(t, c.Action, action, c)
	}
}

func TestValidation(t *testing.T) {
	type spec struct {
		Kind, Src        string
		Errors, Warnings []string
		Spec             struct {
			Strategy             placement.Scheduling
			WorkloadAffinity     *placement.WorkloadAffinity
			ScalingStrategy      string
			RunningJobPercentage string
			Min, Max             *int32
			FailoverPolicy       struct {
				GracePeriod       int
				DuplicationPolicy placement.Duplication
			}
			Members []struct {
				Name             string
				Weight, Priority *int32
			}
		}
	}
	texts := map[string]string{
		"clusterScheduling.workloadAffinity: required when strategy=priorityFailover":                                                "spec.clusterScheduling.workloadAffinity is missing: want class and size under priorityFailover",
		"clusterScheduling.workloadAffinity: must be omitted when strategy=weightedRoundRobin":                                       "spec.clusterScheduling.workloadAffinity is set: want nothing under weightedRoundRobin",
		"memberClusters[1].scheduling.priority: required when strategy=priorityFailover":                                             "spec.memberClusters[1].scheduling.priority is missing: want 0 to 1000 under priorityFailover",
		"memberClusters: required when strategy=priorityFailover":                                                                    "spec.memberClusters is empty: want members with a priority under priorityFailover",
		"scaledJobSpec.scalingStrategy.strategy: must be pendingAware (or omitted) when clusterScheduling.strategy=priorityFailover": `spec.scaledJobSpec.scalingStrategy.strategy is "eager": want pendingAware or nothing under priorityFailover`,
		"clusterScheduling.workloadAffinity.size: must be >= 0":                                                                      "spec.clusterScheduling.workloadAffinity.size is -1: want 0 or more",
		"memberClusters[0].scheduling.priority: must be in [0,1000]":                                                                 "spec.memberClusters[0].scheduling.priority is 1001: want 0 to 1000",
		`memberClusters[1].name: duplicate "a"`:                                                                                      `spec.memberClusters[1].name is "a": want a name that no other member has`,
		"memberClusters[0].name: must be non-empty":                                                                                  "spec.memberClusters[0].name is empty: want the name of a cluster",
		"memberClusters[0].weight: must be >= 0":                                                                                     "spec.memberClusters[0].weight is -1: want 0 or more",
		"memberClusters: at least one weight must be > 0":                                                                            "spec.memberClusters is without weight: want at least one weight above 0",
		"failoverPolicy.gracePeriod: must be >= 0":                                                                                   "spec.clusterScheduling.failoverPolicy.gracePeriod is -1s: want 0 or more",
		"failoverPolicy.duplicationPolicy: one of keepAll, preferFailover, preferSource, immediateSourceCleanup":                     `spec.clusterScheduling.failoverPolicy.duplicationPolicy is "nope": want one of keepAll, preferFailover, preferSource, immediateSourceCleanup`,
		`runningJobPercentage "abc" does not parse; falling back to basic`:                                                           `spec.scaledJobSpec.scalingStrategy.customScalingRunningJobPercentage is "abc": want a decimal such as "0.5": otherwise custom is the strategy basic`,
		"memberClusters[0].scheduling.priority is ignored in weightedRoundRobin":                                                     "spec.memberClusters[0].scheduling.priority is 7: want nothing: weightedRoundRobin ignores it",
		"minReplicaCount: 5 exceeds maxReplicaCount 3, 3 is used":                                                                    "spec.scaledJobSpec.minReplicaCount is 5: want no more than maxReplicaCount: 3 is used",
		"minReplicaCount: must be <= maxReplicaCount":                                                                                "spec.scaledObjectSpec.minReplicaCount is 101: want no more than maxReplicaCount, which is 100",
	}
	for _, c := range cases[spec](t, "validation", 16) {
		var all []placement.Member
		for _, m := range c.Spec.Members {
			member := placement.NewMember(m.Name)
			member.Priority = m.Priority
			if m.Weight != nil {
				member.Weight = *m.Weight
			}
			all = append(all, member)
		}
		var warnings []*placement.FieldError
		var err error
		if c.Kind == "DSO" {
			p := placement.DefaultObjectPolicy()
			p.Members, p.Min = all, *c.Spec.Min
			warnings, err = p.Validate()
		} else {
			p := placement.DefaultJobPolicy()
			p.Members, p.Scheduling, p.Affinity = all, c.Spec.Strategy, c.Spec.WorkloadAffinity
			p.Scaling.Strategy, p.Scaling.RunningJobPercentage = c.Spec.ScalingStrategy, c.Spec.RunningJobPercentage
			if c.Spec.Min != nil {
				p.Scaling.Min, p.Scaling.Max = *c.Spec.Min, *c.Spec.Max
			}
			if n := c.Spec.FailoverPolicy.GracePeriod; n != 0 {
				p.Failover.GracePeriod = seconds(n)
			}
			p.Failover.Duplication = c.Spec.FailoverPolicy.DuplicationPolicy
			warnings, err = p.Validate()
		}
		var got, want []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		for _, w := range warnings {
			got = append(got, w.Error())
		}
		for _, text := range append(c.Errors, c.Warnings...) {
			require.Contains(t, texts, text)
			want = append(want, texts[text])
		}
		require.Equal(t, want, got)
	}
}

func TestObjectStatusOfThePage(t *testing.T) {
	type status struct {
		Name    string
		Members map[string]struct {
			Current, Desired int32
			State            placement.MemberState
		}
		Expect placement.ObjectStatus
	}
	for _, c := range cases[status](t, "status_object", 1) {
		var p placement.ObjectPlan
		for name, m := range c.Members {
			p.Members = append(p.Members, placement.ObjectPart{Name: name, State: m.State, Current: m.Current, Desired: m.Desired})
		}
		got := p.Status("nginx", placement.ObjectStatus{}, epoch)
		for name, m := range c.Members {
			require.Equal(t, m.Current, got.MemberClusterStatuses[name].CurrentReplicas)
			require.Equal(t, m.Desired, got.MemberClusterStatuses[name].DesiredReplicas)
		}
		got.MemberClusterStatuses = nil
		require.Equal(t, c.Expect, got)
	}
}

func TestJobStatusOfThePage(t *testing.T) {
	type status struct {
		Name    string
		Desired int64
		Members map[string]struct{ Running, Pending, Stuck int }
		Expect  placement.JobStatus
	}
	for _, c := range cases[status](t, "status_job", 1) {
		f := newFleet(slices.Collect(maps.Keys(c.Members))...)
		f.Demand = placement.Demand{Jobs: c.Desired, Active: true}
		for name, m := range c.Members {
			f.has(name, m.Running-m.Pending, placement.Running, 0)
			f.has(name, m.Pending, placement.Pending, 0)
		}
		got := f.plan().Status("processor-job", placement.JobStatus{}, epoch)
		for name, m := range c.Members {
			require.EqualValues(t, m.Running, got.MemberClusterStatuses[name].RunningJobs)
			require.EqualValues(t, m.Pending, got.MemberClusterStatuses[name].PendingJobs)
			require.EqualValues(t, m.Stuck, got.MemberClusterStatuses[name].StuckJobs)
		}
		got.MemberClusterStatuses = nil
		require.Equal(t, c.Expect, got)
	}
}

// Each tick, and that one follows from the other.
func TestPendingRunaway(t *testing.T) {
	type run struct {
		Mode                       string
		Desired                    int64
		Max                        int32
		JobStartDelay, Grace, Poll int
		Ticks                      []struct {
			T                               int
			Running, Pending, Stuck, Create int64
		}
	}
	for _, c := range cases[run](t, "pending_runaway", 2) {
		s := placement.Scaling{Max: c.Max}
		var running int64
		for _, tick := range c.Ticks {
			require.Equal(t, running, tick.Running)
			counts := placement.Counts{Running: tick.Running, Pending: tick.Pending, Stuck: tick.Stuck}
			if c.Mode == "literalPending" {
				counts.Stuck = counts.Pending
			}
			p := s.Propose(placement.Demand{Jobs: c.Desired, Active: true}, counts)
			require.EqualValues(t, tick.Create, p.Create, "%s at %d", c.Mode, tick.T)
			require.Equal(t, strategy.PendingAware{}.Propose(p.Load), p.Raw)
			running += tick.Create
		}
	}
}

// Of the kinds of cases only the pods' are not this package's.
func TestKinds(t *testing.T) {
	data, err := os.ReadFile("../testdata/multicluster.json")
	require.NoError(t, err)
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &file))
	require.ElementsMatch(t, []string{
		"meta", "pod_overrides", "allocate", "allocate_errors", "seeded_ties", "object_timeline", "object_target", "strategies", "strategies_invalid",
		"wrr_place", "priority_place", "replacements", "taint_ladder", "taint_batch", "affinity_taints", "failure_events", "stuck", "duplicates",
		"validation", "status_object", "status_job", "pending_runaway",
	}, slices.Collect(maps.Keys(file)))
}
