package placement_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement"
)

func TestObjectShares(t *testing.T)    { rapid.Check(t, propObjectShares) }
func FuzzObjectShares(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(propObjectShares)) }
func TestObjectFailover(t *testing.T)  { rapid.Check(t, propObjectFailover) }
func FuzzObjectFailover(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(propObjectFailover)) }
func TestObjectNextCheck(t *testing.T) { rapid.Check(t, propObjectNextCheck) }
func FuzzObjectNextCheck(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propObjectNextCheck)) }
func TestObjectArguments(t *testing.T) { rapid.Check(t, propObjectArguments) }
func FuzzObjectArguments(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propObjectArguments)) }
func TestStepToward(t *testing.T)      { rapid.Check(t, propStepToward) }
func FuzzStepToward(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(propStepToward)) }
func TestStepsArrive(t *testing.T)     { rapid.Check(t, propStepsArrive) }
func FuzzStepsArrive(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(propStepsArrive)) }

var wildInts = rapid.OneOf(rapid.Int32(), rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32}), rapid.Int32Range(0, 20))

var names = rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})

// drawObject draws a policy and a state in which anything may be wrong, with times
// of a few seconds.
func drawObject(t *rapid.T) (p placement.ObjectPolicy, s placement.ObjectState) {
	duration := rapid.Map(rapid.IntRange(-1, 6), seconds)
	p = placement.ObjectPolicy{
		Min: wildInts.Draw(t, "min"), Max: wildInts.Draw(t, "max"),
		Rebalancing: placement.Rebalancing{
			GracePeriod: duration.Draw(t, "grace"), RecoveryDelay: duration.Draw(t, "recovery"),
			MaxPercentage: rapid.Ptr(wildInts, true).Draw(t, "percentage"),
		},
		Pause: placement.Pause{
			Paused: rapid.IntRange(0, 4).Draw(t, "paused") == 0, Replicas: rapid.Ptr(wildInts, true).Draw(t, "paused replicas"),
		},
		Seed: rapid.SampledFrom([]string{"", "ns/nginx", "ns/worker"}).Draw(t, "seed"),
		Members: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) placement.Member {
			return placement.Member{Name: names.Draw(t, "name"), Weight: wildInts.Draw(t, "weight")}
		}), 0, 6).Draw(t, "members"),
	}
	s = placement.ObjectState{
		Replicas: rapid.Ptr(wildInts, true).Draw(t, "replicas"),
		Now:      epoch,
		Clusters: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) placement.ObjectCluster {
			return placement.ObjectCluster{
				Name: names.Draw(t, "name"), Current: wildInts.Draw(t, "current"),
				Health: placement.Health{
					Reachable: rapid.Bool().Draw(t, "reachable"), Excluded: rapid.Bool().Draw(t, "excluded"),
					Since: at(rapid.IntRange(-8, 3).Draw(t, "since")),
				},
			}
		}), 0, 6).Draw(t, "clusters"),
	}
	return p, s
}

// distinct is p and s with each name once.
func distinct(p placement.ObjectPolicy, s placement.ObjectState) (placement.ObjectPolicy, placement.ObjectState) {
	seen := map[string]bool{}
	p.Members = slices.DeleteFunc(p.Members, func(m placement.Member) bool { was := seen[m.Name]; seen[m.Name] = true; return was })
	clear(seen)
	s.Clusters = slices.DeleteFunc(s.Clusters, func(c placement.ObjectCluster) bool { was := seen[c.Name]; seen[c.Name] = true; return was })
	return p, s
}

// All replicas have a place or are unplaced; no part is negative; nothing is written
// to who does not answer, nor in a hold; who is excluded has no part unless all are; and the
// order of members and clusters does not matter.
func propObjectShares(t *rapid.T) {
	p, s := distinct(drawObject(t))
	plan := placement.PlanObject(p, s)
	var sum int64
	for _, part := range plan.Members {
		sum += int64(part.Desired)
		switch {
		case part.Desired < 0 || part.Next < 0 || part.Current < 0:
			t.Fatalf("negative\n%s", plan)
		case part.Write && (part.State != placement.Ready || plan.Hold != "" || part.Next == part.Current):
			t.Fatalf("written to %s\n%s", part.Name, plan)
		case part.Excluded != "" && part.Desired > 0 && plan.Reason != placement.ReasonAllExcluded && plan.Hold == "":
			t.Fatalf("%s has a part\n%s", part.Name, plan)
		case part.State == placement.NotRegistered && part.Desired > 0:
			t.Fatalf("%s has a part\n%s", part.Name, plan)
		}
	}
	if plan.Hold == "" && sum+int64(plan.Unplaced) != int64(plan.Total) || plan.Unplaced > 0 && plan.Reason != placement.ReasonNoMembers {
		t.Fatalf("%d in all\n%s", sum, plan)
	}
	p.Members = rapid.Permutation(p.Members).Draw(t, "order of members")
	s.Clusters = rapid.Permutation(s.Clusters).Draw(t, "order of clusters")
	if diff := cmp.Diff(plan, placement.PlanObject(p, s)); diff != "" {
		t.Fatal(diff)
	}
}

// When a member is excluded, exactly its part moves and nobody else loses a replica.
// When it is back, everything is as before.
func propObjectFailover(t *rapid.T) {
	p := placement.ObjectPolicy{Max: math.MaxInt32, Seed: rapid.SampledFrom([]string{"", "ns/nginx"}).Draw(t, "seed")}
	replicas := rapid.OneOf(rapid.Int32Range(0, 50), rapid.Int32Range(0, math.MaxInt32)).Draw(t, "replicas")
	s := placement.ObjectState{Replicas: &replicas, Now: epoch}
	for i, weight := range rapid.SliceOfN(rapid.Int32Range(1, 20), 2, 8).Draw(t, "weights") {
		name := fmt.Sprintf("member-%d", i)
		p.Members = append(p.Members, placement.Member{Name: name, Weight: weight})
		s.Clusters = append(s.Clusters, placement.ObjectCluster{Name: name, Health: placement.NewHealth(true, epoch)})
	}
	before := placement.PlanObject(p, s)
	lost := rapid.IntRange(0, len(p.Members)-1).Draw(t, "lost")
	s.Clusters[lost].Health = s.Clusters[lost].Health.Observe(false, p.Rebalancing, epoch)
	without := placement.PlanObject(p, s)
	var gained int64
	for i := range without.Members {
		gain := int64(without.Members[i].Desired) - int64(before.Members[i].Desired)
		if i != lost && gain < 0 || i == lost && without.Members[i].Desired != 0 {
			t.Fatalf("%s\n\n%s", before, without)
		}
		if i != lost {
			gained += gain
		}
	}
	if gained != int64(before.Members[lost].Desired) {
		t.Fatalf("%s\n\n%s", before, without)
	}
	s.Clusters[lost].Health = s.Clusters[lost].Health.Observe(true, p.Rebalancing, epoch)
	if diff := cmp.Diff(before, placement.PlanObject(p, s)); diff != "" {
		t.Fatal(diff)
	}
}

// Until the next check nothing changes, and at it something does.
func propObjectNextCheck(t *rapid.T) {
	p, s := drawObject(t)
	plan := placement.PlanObject(p, s)
	for second := range 12 {
		s.Now = at(second)
		later := placement.PlanObject(p, s)
		if !plan.NextCheck.IsZero() && !s.Now.Before(plan.NextCheck) {
			if cmp.Diff(plan.Members, later.Members) == "" {
				t.Fatalf("the same at the next check\n%s", plan)
			}
			return
		}
		if diff := cmp.Diff(plan, later); diff != "" {
			t.Fatalf("at %d\n%s", second, diff)
		}
	}
	if !plan.NextCheck.IsZero() {
		t.Fatalf("%s", plan)
	}
}

// Nothing panics, the arguments are as they were, and the plan shares no memory with
// another.
func propObjectArguments(t *rapid.T) {
	p, s := drawObject(t)
	beforeP, beforeS := p, s
	beforeP.Members, beforeS.Clusters = slices.Clone(p.Members), slices.Clone(s.Clusters)
	plan := placement.PlanObject(p, s)
	want := plan.String()
	other := placement.PlanObject(p, s)
	for i := range other.Members {
		other.Members[i] = placement.ObjectPart{}
	}
	_, _ = p.Validate()
	if diff := cmp.Diff(beforeP, p) + cmp.Diff(beforeS, s); diff != "" || plan.String() != want {
		t.Fatal(diff)
	}
}

// The same as move by move, after what there is more or fewer in all.
func propStepToward(t *rapid.T) {
	members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) placement.Replicas {
		return placement.Replicas{Current: rapid.Int32Range(-1, 9).Draw(t, "current"), Target: rapid.Int32Range(-1, 9).Draw(t, "target")}
	}), 0, 6).Draw(t, "members")
	moves := rapid.Int32Range(-1, 20).Draw(t, "moves")
	got := placement.StepToward(members, moves)

	off := make([]int, len(members)) // above the target
	sum := 0
	for i, m := range members {
		off[i] = int(max(0, m.Current) - max(0, m.Target))
		sum += off[i]
	}
	furthest := func(sign int) int {
		best := 0
		for i := range off {
			if sign*off[i] > sign*off[best] {
				best = i
			}
		}
		return best
	}
	for ; sum > 0; sum-- {
		off[furthest(1)]--
	}
	for ; sum < 0; sum++ {
		off[furthest(-1)]++
	}
	for ; moves > 0 && len(off) > 0 && off[furthest(1)] > 0; moves-- {
		off[furthest(1)]--
		off[furthest(-1)]++
	}
	for i, m := range members {
		if want := max(0, m.Target) + int32(off[i]); got[i] != want {
			t.Fatalf("%v: got %v, member %d is to have %d", members, got, i, want)
		}
	}
}

// Step by step the targets are reached, whatever the numbers, and no step overshoots.
func propStepsArrive(t *rapid.T) {
	members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) placement.Replicas {
		return placement.Replicas{Current: wildInts.Draw(t, "current"), Target: wildInts.Draw(t, "target")}
	}), 0, 8).Draw(t, "members")
	const moves = 1 << 30
	for range 20 {
		there := true
		for i, next := range placement.StepToward(members, moves) {
			current, target := max(0, members[i].Current), max(0, members[i].Target)
			if next < min(current, target) || next > max(current, target) {
				t.Fatalf("%v: member %d to %d", members, i, next)
			}
			members[i].Current = next
			there = there && next == target
		}
		if there {
			return
		}
	}
	t.Fatalf("not there: %v", members)
}

// What a member goes through, with a grace period of 60 s and a recovery delay of 30 s.
func TestHealth(t *testing.T) {
	r := placement.Rebalancing{GracePeriod: time.Minute, RecoveryDelay: 30 * time.Second}
	p := placement.ObjectPolicy{Max: 4, Rebalancing: r, Members: []placement.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}}
	a := placement.NewHealth(true, at(0))
	for _, step := range []struct {
		t         int
		reachable bool
		since     int
		desired   int32
		next      *int
	}{
		{10, true, 0, 2, nil},
		{20, false, 20, 2, ptr(80)},
		{79, false, 20, 2, ptr(80)},
		{79, true, 79, 2, nil},        // back within the grace period: nothing moved
		{90, false, 90, 2, ptr(150)},  // a new grace period
		{150, false, 90, 0, nil},      // over
		{160, true, 160, 0, ptr(190)}, // recovering
		{170, false, 170, 0, nil},     // no new grace period for who was excluded
		{200, true, 200, 0, ptr(230)},
		{229, true, 200, 0, ptr(230)},
		{230, true, 200, 2, nil},
		{240, false, 240, 2, ptr(300)},
	} {
		a = a.Observe(step.reachable, r, at(step.t))
		data, err := json.Marshal(a)
		require.NoError(t, err)
		var kept placement.Health
		require.NoError(t, json.Unmarshal(data, &kept))
		require.Equal(t, a, kept)
		plan := placement.PlanObject(p, placement.ObjectState{Replicas: ptr(int32(4)), Now: at(step.t), Clusters: []placement.ObjectCluster{
			{Name: "a", Health: kept}, {Name: "b", Health: placement.NewHealth(true, epoch)},
		}})
		require.Equal(t, at(step.since), a.Since, "at %d", step.t)
		require.Equal(t, step.desired, plan.Members[0].Desired, "at %d\n%s", step.t, plan)
		require.Equal(t, step.next, second(plan.NextCheck), "at %d\n%s", step.t, plan)
	}
}

// The page's example, and what its outage and pause come to.
func TestObjectOfThePage(t *testing.T) {
	p := placement.DefaultObjectPolicy()
	p.Members = []placement.Member{{Name: "member-cluster-1", Weight: 4}, {Name: "member-cluster-2", Weight: 6}}
	s := placement.ObjectState{Replicas: ptr(int32(5)), Now: epoch, Clusters: []placement.ObjectCluster{
		{Name: "member-cluster-1", Health: placement.NewHealth(true, epoch)}, {Name: "member-cluster-2", Health: placement.NewHealth(true, epoch)},
	}}
	share := func() []int32 {
		var all []int32
		for _, part := range placement.PlanObject(p, s).Members {
			all = append(all, part.Desired)
		}
		return all
	}
	require.Equal(t, []int32{2, 3}, share())
	s.Clusters[0].Health = placement.NewHealth(false, at(-60))
	require.Equal(t, []int32{0, 5}, share())
	s.Clusters[0].Health = placement.NewHealth(true, epoch)
	require.Equal(t, []int32{2, 3}, share())
	p.Pause = placement.Pause{Paused: true, Replicas: ptr(int32(3))}
	require.Equal(t, []int32{1, 2}, share())
	s.Clusters = s.Clusters[1:]
	require.Equal(t, []int32{0, 3}, share())
	require.Equal(t, placement.NotRegistered, placement.PlanObject(p, s).Members[0].State)
	p.Members = nil // every registered cluster
	require.Equal(t, []int32{3}, share())
	s.Clusters = nil
	require.Equal(t, placement.ObjectPlan{Total: 3, Members: []placement.ObjectPart{}, Paused: true, Reason: placement.ReasonNoMembers, Unplaced: 3},
		placement.PlanObject(p, s))
}

func TestMetricsUnknown(t *testing.T) {
	p := placement.DefaultObjectPolicy()
	plan := placement.PlanObject(p, placement.ObjectState{Now: epoch, Clusters: []placement.ObjectCluster{
		{Name: "a", Health: placement.NewHealth(true, epoch), Current: 7}, {Name: "b", Health: placement.NewHealth(true, epoch), Current: 1}}})
	require.Equal(t, "8 replicas, MetricsUnknown\na: 7 (Cluster is healthy)\nb: 1 (Cluster is healthy)", plan.String())
	require.Equal(t, placement.ReasonMetricsUnknown, plan.Hold)
	require.False(t, plan.Paused)
}

// What a member that does not answer may still have is no reason to scale the others
// down, and no more of them move than may.
func TestMaxPercentageWithoutAMember(t *testing.T) {
	p := placement.ObjectPolicy{Max: 100, Rebalancing: placement.Rebalancing{MaxPercentage: ptr(int32(10))}}
	for _, tt := range []struct {
		total   int32
		current [3]int32
		want    [2]int32 // of b and c
	}{
		{10, [3]int32{5, 10, 0}, [2]int32{9, 1}},
		{12, [3]int32{4, 12, 0}, [2]int32{11, 1}},
		{12, [3]int32{4, 4, 4}, [2]int32{5, 4}},
		{6, [3]int32{4, 4, 4}, [2]int32{3, 3}},
	} {
		s := placement.ObjectState{Replicas: &tt.total, Now: epoch}
		for i, name := range []string{"a", "b", "c"} {
			s.Clusters = append(s.Clusters, placement.ObjectCluster{Name: name, Current: tt.current[i], Health: placement.NewHealth(name != "a", epoch)})
		}
		plan := placement.PlanObject(p, s)
		require.Equal(t, tt.want, [2]int32{plan.Members[1].Next, plan.Members[2].Next}, "%v\n%s", tt, plan)
	}
}

// Where nobody else answers, a member that is back has its part at once.
func TestRecoveringAlone(t *testing.T) {
	p := placement.ObjectPolicy{Max: 100, Rebalancing: placement.Rebalancing{RecoveryDelay: time.Minute}}
	s := placement.ObjectState{Replicas: ptr(int32(10)), Now: epoch, Clusters: []placement.ObjectCluster{
		{Name: "a", Current: 5, Health: placement.NewHealth(false, epoch)},
		{Name: "b", Current: 10, Health: placement.Health{Reachable: true, Since: epoch, Excluded: true}},
	}}
	plan := placement.PlanObject(p, s)
	require.Equal(t, int32(10), plan.Members[1].Desired, "%s", plan)
	require.Empty(t, plan.Reason)
	require.Zero(t, plan.NextCheck)
	s.Clusters[0].Health = placement.NewHealth(true, epoch)
	plan = placement.PlanObject(p, s)
	require.Equal(t, int32(10), plan.Members[0].Desired, "%s", plan)
	require.Equal(t, epoch.Add(time.Minute), plan.NextCheck)
}

// A quarter of twelve may move: from the member that is lost to those that are left.
func TestMaxPercentage(t *testing.T) {
	p := placement.ObjectPolicy{Max: 100, Rebalancing: placement.Rebalancing{MaxPercentage: ptr(int32(25))}, Members: []placement.Member{
		{Name: "a", Weight: 4}, {Name: "b", Weight: 6}, {Name: "c", Weight: 2}}}
	current := map[string]int32{"a": 4, "b": 6, "c": 2}
	var steps []string
	for range 3 {
		s := placement.ObjectState{Replicas: ptr(int32(12)), Now: epoch}
		for name, n := range current {
			s.Clusters = append(s.Clusters, placement.ObjectCluster{Name: name, Health: placement.NewHealth(name != "b", at(-60)), Current: n})
		}
		plan := placement.PlanObject(p, s)
		for _, part := range plan.Members {
			if part.Write {
				current[part.Name] = part.Next
			}
		}
		steps = append(steps, fmt.Sprintf("%d %d %d, %d later", current["a"], current["b"], current["c"], plan.Remaining))
	}
	require.Equal(t, []string{"7 6 2, 3 later", "8 6 4, 0 later", "8 6 4, 0 later"}, steps)
}

func TestObjectStatus(t *testing.T) {
	p := placement.DefaultObjectPolicy()
	p.Members = []placement.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "x", Weight: 1}}
	s := placement.ObjectState{Replicas: ptr(int32(5)), Now: at(30), Clusters: []placement.ObjectCluster{
		{Name: "a", ID: "id-a", Health: placement.NewHealth(true, epoch), Current: 3},
		{Name: "b", ID: "id-b", Health: placement.NewHealth(false, epoch), Current: 2}}}
	before := placement.ObjectStatus{MemberClusterStatuses: map[string]placement.ObjectMemberStatus{
		"a": {State: placement.Ready, CurrentReplicas: 1, LastStatusChangeTime: epoch, LastScalingProgressTime: epoch},
		"b": {State: placement.Ready, CurrentReplicas: 2, LastStatusChangeTime: epoch, LastScalingProgressTime: epoch}}}
	status := placement.PlanObject(p, s).Status("nginx", before, at(30).In(time.FixedZone("east", 3600)))
	data, err := json.Marshal(status)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"memberClusterStatuses": {
			"a": {"currentReplicas": 3, "desiredReplicas": 3, "description": "Cluster is healthy", "excluded": false, "id": "id-a", "state": "Ready",
				"lastStatusChangeTime": "2026-01-01T12:00:00Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"},
			"b": {"currentReplicas": 2, "desiredReplicas": 2, "description": "Cluster does not answer, and keeps its part until 2026-01-01T12:01:00Z",
				"excluded": false, "id": "id-b", "state": "NotReady",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:00Z"},
			"x": {"currentReplicas": 0, "desiredReplicas": 0, "description": "Cluster is not registered", "excluded": true, "state": "NotRegistered",
				"lastStatusChangeTime": "2026-01-01T12:00:30Z", "lastScalingProgressTime": "2026-01-01T12:00:30Z"}
		},
		"membersHealthyCount": 1, "membersTotalCount": 3, "selector": "kedify-agent-distributedscaledobject=nginx", "totalCurrentReplicas": 5
	}`, string(data))
	require.Equal(t, status, placement.PlanObject(p, s).Status("nginx", status, at(40)), "later, but nothing changed")
}

func TestPause(t *testing.T) {
	_, err := placement.ObjectPause(map[string]string{placement.AnnotationPaused: "yes"})
	require.EqualError(t, err, `metadata.annotations[autoscaling.keda.sh/paused] is "yes": want "true" or "false"; until then it means paused`)
	for _, text := range []string{"+3", "-0", "1_0", "3 ", "١"} {
		pause, err := placement.ObjectPause(map[string]string{placement.AnnotationPausedReplicas: text})
		require.Error(t, err, text)
		require.Equal(t, placement.Pause{Paused: true}, pause, text)
	}

	paused, warnings, err := placement.JobPause(map[string]string{placement.AnnotationPausedReplicas: "3"})
	require.False(t, paused)
	require.NoError(t, err)
	require.EqualError(t, warnings[0], `metadata.annotations[autoscaling.keda.sh/paused-replicas] is "3": want nothing: it has no effect on Jobs`)
	paused, warnings, err = placement.JobPause(map[string]string{placement.AnnotationPaused: "True"})
	require.True(t, paused)
	require.NoError(t, err)
	require.Empty(t, warnings)
	paused, _, err = placement.JobPause(map[string]string{placement.AnnotationPaused: ""})
	require.True(t, paused)
	require.Error(t, err)
}
