package placement_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

func TestPropose(t *testing.T)      { rapid.Check(t, propPropose) }
func FuzzPropose(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(propPropose)) }
func TestLikeScaling(t *testing.T)  { rapid.Check(t, propLikeScaling) }
func FuzzLikeScaling(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(propLikeScaling)) }
func TestPlacement(t *testing.T)    { rapid.Check(t, propPlacement) }
func FuzzPlacement(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(propPlacement)) }
func TestJobOrder(t *testing.T)     { rapid.Check(t, propJobOrder) }
func FuzzJobOrder(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(propJobOrder)) }
func TestJobNextCheck(t *testing.T) { rapid.Check(t, propJobNextCheck) }
func FuzzJobNextCheck(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propJobNextCheck)) }
func TestDuplicates(t *testing.T)   { rapid.Check(t, propDuplicates) }
func FuzzDuplicates(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propDuplicates)) }
func TestReplay(t *testing.T)       { rapid.Check(t, propReplay) }
func FuzzReplay(f *testing.F)       { f.Fuzz(rapid.MakeFuzz(propReplay)) }

var wildCounts = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}), rapid.Int64Range(0, 20))

var strategyNames = rapid.SampledFrom([]string{"", "basic", "accurate", "eager", "custom", "pendingAware", "default"})

func drawScaling(t *rapid.T) placement.Scaling {
	s := placement.Scaling{
		Min: wildInts.Draw(t, "min"), Max: wildInts.Draw(t, "max"), Strategy: strategyNames.Draw(t, "strategy"),
		QueueLengthDeduction:     wildInts.Draw(t, "deduction"),
		RunningJobPercentage:     rapid.SampledFrom([]string{"", "0", "0.5", "2", "abc", "1e300"}).Draw(t, "percentage"),
		AccurateSubtractsPending: rapid.Bool().Draw(t, "subtract"),
		FailoverOverMax:          rapid.Bool().Draw(t, "over max"),
	}
	if answer := wildCounts.Draw(t, "a stranger's answer"); rapid.IntRange(0, 4).Draw(t, "a stranger's") == 0 {
		s.Own = strategy.Func(func(strategy.Load) int64 { return answer })
	}
	return s
}

func drawCounts(t *rapid.T) placement.Counts {
	return placement.Counts{
		Running: wildCounts.Draw(t, "running"), Pending: wildCounts.Draw(t, "pending"),
		Stuck: wildCounts.Draw(t, "stuck"), Terminating: wildCounts.Draw(t, "terminating"),
	}
}

// R + terminating + create is never more than max unless R + terminating was; over the
// maximum never more than twice that, nor, without the stuck ones, more than max.
func propPropose(t *rapid.T) {
	s, c := drawScaling(t), drawCounts(t)
	active := rapid.Bool().Draw(t, "active")
	p := s.Propose(placement.Demand{Jobs: wildCounts.Draw(t, "demand"), Active: active}, c)
	if p.Create < 0 {
		t.Fatalf("%+v", p)
	}
	if p.Create == 0 {
		return
	}
	all := big.NewInt(int64(p.Create))
	for _, n := range []int64{c.Running, c.Terminating} {
		all.Add(all, big.NewInt(max(0, n)))
	}
	most := big.NewInt(int64(max(0, s.Max)))
	if s.FailoverOverMax && active {
		if all.Cmp(new(big.Int).Lsh(most, 1)) > 0 {
			t.Fatalf("%v in all: %+v", all, p)
		}
		all.Sub(all, big.NewInt(p.Counts.Stuck))
	}
	if all.Cmp(most) > 0 {
		t.Fatalf("%v: %+v", all, p)
	}
}

// The same as package scaling decides with the minimum as a floor.
func propLikeScaling(t *rapid.T) {
	s, c := drawScaling(t), drawCounts(t)
	s.FailoverOverMax = false
	jobs := rapid.Int64Range(0, 1<<53).Draw(t, "demand")
	active := rapid.Bool().Draw(t, "active")
	metric := scaling.Metric{Value: float64(jobs), Target: 1, Activity: scaling.Inactive}
	if active {
		metric.Activity = scaling.Active
	}
	d := scaling.Decide(scaling.Policy{
		Bounds:   scaling.Bounds{Min: int64(s.Min), Max: int64(s.Max), Mode: scaling.Floor},
		Strategy: named(s),
	}, scaling.State{
		Metrics: []scaling.Metric{metric},
		Jobs:    &scaling.Jobs{Running: c.Running, Pending: c.Pending, Stuck: c.Stuck, Terminating: c.Terminating},
	})
	if p := s.Propose(placement.Demand{Jobs: jobs, Active: active}, c); int64(p.Create) != d.Create {
		t.Fatalf("%+v, but\n%s", p, d)
	}
}

// named is the strategy by another way.
func named(s placement.Scaling) strategy.Strategy {
	if s.Own != nil {
		return s.Own
	}
	if p, err := strategy.ParsePercentage(s.RunningJobPercentage); s.Strategy == "custom" && err == nil {
		return strategy.NewCustom(int64(s.QueueLengthDeduction), p)
	}
	switch s.Strategy {
	case "custom", "basic":
		return strategy.Default{}
	case "accurate":
		return strategy.Accurate{SubtractPending: s.AccurateSubtractsPending}
	case "eager":
		return strategy.Eager{}
	}
	return strategy.PendingAware{}
}

// drawFleet draws a fleet in which anything may be wrong, with times of a few
// seconds, and chains of replacements that are as they should be.
func drawFleet(t *rapid.T) *fleet {
	f := &fleet{}
	f.Now = epoch
	duration := rapid.Map(rapid.IntRange(-1, 6), seconds)
	small := rapid.Int32Range(-1, 12)
	f.JobPolicy = placement.JobPolicy{
		Scheduling: rapid.SampledFrom([]placement.Scheduling{"", placement.WeightedRoundRobin, placement.PriorityFailover}).Draw(t, "scheduling"),
		Failover: placement.FailoverPolicy{
			GracePeriod: duration.Draw(t, "grace"), HardTaint: duration.Draw(t, "hard"), SoftTaint: duration.Draw(t, "soft"),
			Duplication: rapid.SampledFrom([]placement.Duplication{"", placement.PreferFailover, placement.PreferSource, placement.ImmediateSourceCleanup}).Draw(t, "duplication"),
		},
		Scaling:  placement.Scaling{Min: small.Draw(t, "min"), Max: small.Draw(t, "max"), FailoverOverMax: rapid.Bool().Draw(t, "over max")},
		History:  history.Limits{Succeeded: history.Keep(1)},
		Rollout:  rollout.Policy{Strategy: rollout.Strategy(rapid.IntRange(0, 2).Draw(t, "rollout"))},
		Revision: rollout.Revision{Generation: 2},
		Paused:   rapid.IntRange(0, 5).Draw(t, "paused") == 0,
		Seed:     rapid.SampledFrom([]string{"", "ns/etl"}).Draw(t, "seed"),
		Affinity: &placement.WorkloadAffinity{Class: "a", Size: ptr(int32(4))},
	}
	if rapid.IntRange(0, 3).Draw(t, "another strategy") == 0 {
		f.Scaling.Strategy = strategyNames.Draw(t, "strategy")
	}
	f.Demand = placement.Demand{Jobs: rapid.Int64Range(-1, 15).Draw(t, "demand"), Active: rapid.IntRange(0, 5).Draw(t, "active") > 0}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if rapid.IntRange(0, 3).Draw(t, "is a member") > 0 {
			f.Members = append(f.Members, placement.Member{
				Name: name, Weight: rapid.Int32Range(-1, 5).Draw(t, "weight"),
				Priority: rapid.Ptr(rapid.Int32Range(0, 2), true).Draw(t, "priority"),
				MaxJobs:  rapid.Ptr(rapid.Int32Range(-1, 8), true).Draw(t, "max jobs"),
			})
		}
		if rapid.IntRange(0, 5).Draw(t, "is registered") > 0 {
			f.Clusters = append(f.Clusters, placement.JobCluster{
				Name: name, Overloaded: rapid.IntRange(0, 9).Draw(t, "overloaded") == 0,
				Reachable: rapid.IntRange(0, 5).Draw(t, "reachable") > 0, Known: rapid.IntRange(0, 19).Draw(t, "known") > 0,
			})
		}
		if kind := rapid.IntRange(0, 9).Draw(t, "failure"); kind < 3 {
			f.Failures = append(f.Failures, placement.Failure{Cluster: name, Kind: placement.FailureKind(kind)})
		}
	}
	if len(f.Clusters) > 0 {
		drawJobs(t, f)
	}
	drawMemory(t, f)
	return f
}

// drawJobs draws chains of Jobs, each Job on some cluster.
func drawJobs(t *rapid.T, f *fleet) {
	n := 0
	for range rapid.IntRange(0, 8).Draw(t, "chains") {
		source := placement.Source{}
		for attempt := range int32(rapid.IntRange(1, 3).Draw(t, "generations")) {
			n++
			job := placement.Job{
				Name: fmt.Sprintf("job-%02d", n), UID: fmt.Sprintf("uid-%02d", n), Replaces: source,
				Phase:        placement.Phase(rapid.IntRange(0, 7).Draw(t, "phase")),
				PendingSince: at(rapid.IntRange(-8, 2).Draw(t, "since")),
				Deleting:     rapid.IntRange(0, 9).Draw(t, "deleting") == 0,
				Finished:     at(rapid.IntRange(-3, 0).Draw(t, "finished")),
				Revision:     rollout.Revision{Generation: int64(rapid.IntRange(0, 5).Draw(t, "generation"))},
				NeverStarted: rapid.Bool().Draw(t, "never started"),
				Unconfirmed:  rapid.IntRange(0, 3).Draw(t, "unconfirmed") == 0,
			}
			if source.UID == "" {
				source.UID = job.UID
			}
			source.Attempt = attempt + 1
			c := &f.Clusters[rapid.IntRange(0, len(f.Clusters)-1).Draw(t, "cluster")]
			c.Jobs = append(c.Jobs, job)
		}
	}
}

func drawMemory(t *rapid.T, f *fleet) {
	f.Memory.Clusters = map[string]taint.State{}
	f.Memory.Counted = map[string]time.Time{}
	f.Memory.Jobs = map[string]placement.Counts{}
	for _, name := range []string{"a", "b", "c", "d"} {
		if level := rapid.SampledFrom([]taint.Level{taint.None, taint.None, taint.Soft, taint.Hard}).Draw(t, "level"); level != taint.None {
			f.Memory.Clusters[name] = taint.State{Level: level, Until: at(rapid.IntRange(-1, 5).Draw(t, "until"))}
		}
		if rapid.Bool().Draw(t, "counted") {
			f.Memory.Counted[name] = at(rapid.IntRange(-5, 0).Draw(t, "counted until"))
		}
		if n := rapid.Int64Range(-1, 9).Draw(t, "remembered"); n < 5 {
			f.Memory.Jobs[name] = placement.Counts{Running: n, Pending: min(1, n), Terminating: min(2, n)}
		}
		if rapid.IntRange(0, 4).Draw(t, "workload taint") == 0 {
			f.Memory.Workloads = append(f.Memory.Workloads, taint.Entry{
				Path:     taint.Path{Cluster: name, Priority: rapid.Int32Range(0, 2).Draw(t, "priority")},
				Workload: taint.Workload{Class: "a", Size: rapid.Int32Range(3, 5).Draw(t, "size")}, Until: at(rapid.IntRange(-1, 5).Draw(t, "until")),
			})
		}
	}
	f.Memory.Workloads = taint.Merge(f.Memory.Workloads)
}

// jobs yields all Jobs with their clusters.
func (f *fleet) jobs(yield func(*placement.JobCluster, *placement.Job) bool) {
	for i := range f.Clusters {
		for j := range f.Clusters[i].Jobs {
			if !yield(&f.Clusters[i], &f.Clusters[i].Jobs[j]) {
				return
			}
		}
	}
}

func live(j *placement.Job) bool { return !j.Deleting && j.Phase < placement.Terminating }

// apply is the fleet after the plan: Jobs are deleted but where that is deferred, and
// created ones are pending.
func (f *fleet) apply(plan placement.JobPlan) *fleet {
	after := *f
	after.Memory, after.Failures = plan.Memory, nil
	after.Clusters = slices.Clone(f.Clusters)
	for i := range after.Clusters {
		c := &after.Clusters[i]
		c.Jobs = slices.DeleteFunc(slices.Clone(c.Jobs), func(j placement.Job) bool {
			return slices.ContainsFunc(plan.Delete, func(d placement.Deletion) bool { return d.UID == j.UID && !d.Deferred })
		})
		for _, p := range plan.Create {
			if p.Cluster != c.Name {
				continue
			}
			for range p.Fresh {
				name := fmt.Sprintf("fresh-%s-%d", c.Name, len(c.Jobs))
				c.Jobs = append(c.Jobs, placement.Job{Name: name, UID: name, Phase: placement.InFlight})
			}
			for _, r := range p.Replacements {
				name := fmt.Sprintf("%s-%d", r.Source.UID, r.Source.Attempt)
				c.Jobs = append(c.Jobs, placement.Job{Name: name, UID: name, Phase: placement.InFlight, Replaces: r.Source})
			}
		}
	}
	return &after
}

// Everything that a plan creates is accounted for and allowed: as many Jobs as were
// proposed, on members that are not excluded and within their limits; in each tier of
// weights one after the other at the best ticket; and replacements only for Jobs that are
// stuck, of chains of which nothing else is alive elsewhere, on clusters without one of
// them.
func propPlacement(t *rapid.T) {
	f := drawFleet(t)
	plan := f.plan()
	created := int64(plan.Unplaced)
	after := f.apply(plan)
	for _, p := range plan.Create {
		created += int64(p.Jobs())
		m := plan.Members[slices.IndexFunc(plan.Members, func(m placement.JobMember) bool { return m.Name == p.Cluster })]
		if m.Excluded != "" || p.Jobs() == 0 {
			t.Fatalf("%s\n%s", p.Cluster, plan)
		}
		if i := slices.IndexFunc(f.Members, func(m placement.Member) bool { return m.Name == p.Cluster }); i >= 0 {
			if most := f.Members[i].MaxJobs; most != nil && m.Counts.Running+m.Counts.Terminating+int64(p.Jobs()) > int64(*most) {
				t.Fatalf("%s\n%s", p.Cluster, plan)
			}
		}
		for _, r := range p.Replacements {
			checkReplacement(t, f, plan, p.Cluster, r)
		}
	}
	if plan.Blocked != "" && len(plan.Create) > 0 || plan.Blocked == "" && created != int64(plan.Proposal.Create) {
		t.Fatalf("%d of %d\n%s", created, plan.Proposal.Create, plan)
	}
	if f.Paused && len(plan.Create) > 0 {
		t.Fatalf("%s", plan)
	}
	if want := oraclePlaces(f, plan); plan.Blocked == "" && cmp.Diff(want, places(plan)) != "" {
		t.Fatalf("want %v\n%s", want, plan)
	}
	// Planned again without time in between, no stuck Job is replaced twice.
	seen := map[placement.Source]bool{}
	for _, j := range after.jobs {
		if j.Replaces.UID != "" && seen[j.Replaces] {
			t.Fatalf("%v twice\n%s", j.Replaces, plan)
		}
		seen[j.Replaces] = true
	}
	for _, p := range after.plan().Create {
		for _, r := range p.Replacements {
			if seen[r.Source] {
				t.Fatalf("%v again\n%s", r, plan)
			}
		}
	}
}

func checkReplacement(t *rapid.T, f *fleet, plan placement.JobPlan, cluster string, r placement.Replacement) {
	leaves := func(j *placement.Job) bool {
		return slices.ContainsFunc(plan.Delete, func(d placement.Deletion) bool { return d.UID == j.UID && !d.Deferred })
	}
	found := false
	for c, j := range f.jobs {
		if !live(j) || leaves(j) || j.UID != r.Source.UID && j.Replaces.UID != r.Source.UID {
			continue
		}
		stuck, _ := j.Stuck(f.Failover.GracePeriod, f.Now)
		if !stuck || c.Name == cluster || j.Replaces.Attempt >= r.Source.Attempt {
			t.Fatalf("%v on %s, with %s on %s\n%s", r, cluster, j.Name, c.Name, plan)
		}
		found = found || r.Of == placement.JobRef{Cluster: c.Name, Name: j.Name, UID: j.UID}
	}
	if !found {
		t.Fatalf("%v\n%s", r, plan)
	}
}

// places are how many fresh Jobs and replacements each member gets.
func places(plan placement.JobPlan) map[string][2]int {
	all := map[string][2]int{}
	for _, p := range plan.Create {
		all[p.Cluster] = [2]int{int(p.Fresh), len(p.Replacements)}
	}
	return all
}

// oraclePlaces gives one Job after the other to the member with the highest priority and
// the best ticket. Which Jobs are replaced, and in which order, it takes from the plan's
// own list of what it could replace; checkReplacement judges that.
func oraclePlaces(f *fleet, plan placement.JobPlan) map[string][2]int {
	all := map[string][2]int{}
	ranks := tieOrder(f.Seed)
	best := func(avoid map[string]bool) string {
		var chosen *placement.JobMember
		var its placement.Member
		for i := range plan.Members {
			m := &plan.Members[i]
			spec := placement.NewMember(m.Name)
			if j := slices.IndexFunc(f.Members, func(o placement.Member) bool { return o.Name == m.Name }); j >= 0 {
				spec = f.Members[j]
			}
			n := m.Counts.Running + int64(all[m.Name][0]+all[m.Name][1])
			if m.Excluded != "" || avoid[m.Name] || spec.MaxJobs != nil && n+m.Counts.Terminating >= int64(*spec.MaxJobs) {
				continue
			}
			if chosen == nil {
				chosen, its = m, spec
				continue
			}
			if f.Scheduling == placement.PriorityFailover && orLowest(spec.Priority) != orLowest(its.Priority) {
				if orLowest(spec.Priority) > orLowest(its.Priority) {
					chosen, its = m, spec
				}
				continue
			}
			k := chosen.Counts.Running + int64(all[chosen.Name][0]+all[chosen.Name][1])
			mine, theirs := big.NewRat(int64(spec.Weight), 2*n+1), big.NewRat(int64(its.Weight), 2*k+1)
			if c := mine.Cmp(theirs); c > 0 || c == 0 && (n < k || n == k && ranks[m.Name] < ranks[chosen.Name]) {
				chosen, its = m, spec
			}
		}
		if chosen == nil {
			return ""
		}
		return chosen.Name
	}
	chains := stuckChains(f, plan)
	left := min(int(plan.Proposal.Create), len(chains))
	fresh := int(plan.Proposal.Create) - left
	for _, chain := range chains {
		if left == 0 {
			break
		}
		if name := best(chain); name != "" {
			all[name] = [2]int{all[name][0], all[name][1] + 1}
			left--
		}
	}
	for range fresh {
		name := best(nil)
		if name == "" {
			break
		}
		all[name] = [2]int{all[name][0] + 1, all[name][1]}
	}
	return all
}

// tieOrder is the order in which equal members get their first replica.
func tieOrder(seed string) map[string]int {
	ranks := map[string]int{}
	weights := map[string]int32{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}
	for n := range int32(5) {
		for name, share := range desired(seed, weights, n+1) {
			if _, ok := ranks[name]; !ok && share > 0 {
				ranks[name] = int(n)
			}
		}
	}
	return ranks
}

func orLowest(priority *int32) int32 {
	if priority == nil {
		return -1
	}
	return *priority
}

// stuckChains are the clusters of each chain of which all that is alive is stuck, in the
// order in which the newest of each has been pending.
func stuckChains(f *fleet, plan placement.JobPlan) (clusters []map[string]bool) {
	if s := f.Scaling.Strategy; !f.Demand.Active || s != "" && s != "pendingAware" && s != "default" {
		return nil
	}
	type chain struct {
		clusters      map[string]bool
		waits         bool
		newest        *placement.Job
		newestCluster string
	}
	chains := map[string]*chain{}
	for c, j := range f.jobs {
		gone := slices.ContainsFunc(plan.Delete, func(d placement.Deletion) bool { return d.UID == j.UID && !d.Deferred })
		if !live(j) || gone {
			continue
		}
		source := j.Replaces.UID
		if source == "" {
			source = j.UID
		}
		if chains[source] == nil {
			chains[source] = &chain{clusters: map[string]bool{}, waits: true}
		}
		g := chains[source]
		stuck, _ := j.Stuck(f.Failover.GracePeriod, f.Now)
		g.waits = g.waits && stuck
		g.clusters[c.Name] = true
		if g.newest == nil || j.Replaces.Attempt > g.newest.Replaces.Attempt {
			g.newest, g.newestCluster = j, c.Name
		}
	}
	var all []*chain
	for _, g := range chains {
		if g.waits {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, func(a, b *chain) int {
		if c := a.newest.PendingSince.Compare(b.newest.PendingSince); c != 0 {
			return c
		}
		if a.newestCluster != b.newestCluster {
			return int(a.newestCluster[0]) - int(b.newestCluster[0])
		}
		if a.newest.UID < b.newest.UID {
			return -1
		}
		return 1
	})
	for _, g := range all {
		clusters = append(clusters, g.clusters)
	}
	return clusters
}

// The order of members, clusters, Jobs and failures does not matter, all of them are as they
// were afterwards, and no Job is deleted twice.
func propJobOrder(t *rapid.T) {
	f := drawFleet(t)
	before := *f
	before.Clusters = slices.Clone(f.Clusters)
	for i := range before.Clusters {
		before.Clusters[i].Jobs = slices.Clone(f.Clusters[i].Jobs)
	}
	data, err := json.Marshal(f.Memory)
	if err != nil {
		t.Fatal(err)
	}
	plan := f.plan()
	opts := []cmp.Option{cmp.AllowUnexported(history.Limit{}), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(before.JobPolicy, f.JobPolicy, opts...) + cmp.Diff(before.JobState, f.JobState, opts...); diff != "" {
		t.Fatal(diff)
	}
	other := before
	if err := json.Unmarshal(data, &other.Memory); err != nil {
		t.Fatal(err)
	}
	other.Members = rapid.Permutation(f.Members).Draw(t, "members")
	other.Failures = rapid.Permutation(f.Failures).Draw(t, "failures")
	other.Clusters = rapid.Permutation(f.Clusters).Draw(t, "clusters")
	for i := range other.Clusters {
		other.Clusters[i].Jobs = rapid.Permutation(other.Clusters[i].Jobs).Draw(t, "jobs")
	}
	if diff := cmp.Diff(plan, other.plan(), opts...); diff != "" {
		t.Fatal(diff)
	}
	seen := map[string]bool{}
	for _, d := range plan.Delete {
		if seen[d.UID] {
			t.Fatalf("%s twice\n%s", d.Name, plan)
		}
		seen[d.UID] = true
	}
	_ = plan.String()
	_, _ = f.Validate(), plan.Status("etl", placement.JobStatus{}, f.Now)
	_, _ = f.JobPolicy.Validate()
}

// Validate is the state's, of two embedded ones.
func (f *fleet) Validate() error { return f.JobState.Validate() }

// Planned again with the memory handed back, the plan is the same, and until the next
// check it stays so.
func propJobNextCheck(t *rapid.T) {
	f := drawFleet(t)
	f.Failures = nil
	plan := f.plan()
	f.Memory = plan.Memory
	for second := range 12 {
		f.Now = at(second)
		if !plan.NextCheck.IsZero() && !f.Now.Before(plan.NextCheck) {
			return
		}
		if diff := cmp.Diff(plan, f.plan(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("at %d\n%s", second, diff)
		}
	}
	if !plan.NextCheck.IsZero() {
		t.Fatalf("%s", plan)
	}
}

// Of a chain, the policies that prefer one never delete the last that runs; none deletes
// all, or all that are known to exist; and when what they chose is gone, nothing more is
// chosen.
func propDuplicates(t *rapid.T) {
	f := drawFleet(t)
	f.Rollout, f.History, f.Scaling = rollout.Policy{}, history.Limits{}, placement.Scaling{}
	plan := f.plan()
	if f.Failover.Duplication == "" && len(plan.Delete) > 0 {
		t.Fatalf("%s", plan)
	}
	after := f.apply(plan)
	after.Memory = f.Memory
	for _, d := range after.plan().Delete {
		if !d.Deferred || !slices.Contains(plan.Delete, d) {
			t.Fatalf("%v when what was chosen is gone\n%s", d, plan)
		}
	}
	count := func(f *fleet) (alive, exist, running map[string]int) {
		alive, exist, running = map[string]int{}, map[string]int{}, map[string]int{}
		for c, j := range f.jobs {
			if !live(j) {
				continue
			}
			source := j.Replaces.UID
			if source == "" {
				source = j.UID
			}
			alive[source]++
			if !j.Unconfirmed {
				exist[source]++
			}
			if j.Phase == placement.Running && c.Reachable {
				running[source]++
			}
		}
		return alive, exist, running
	}
	// Also when those come true that have to wait.
	for i := range plan.Delete {
		plan.Delete[i].Deferred = false
	}
	alive, exist, running := count(f)
	aliveAfter, existAfter, runningAfter := count(f.apply(plan))
	for source, n := range alive {
		if n > 0 && aliveAfter[source] == 0 {
			t.Fatalf("all of %s\n%s", source, plan)
		}
		if exist[source] > 0 && existAfter[source] == 0 && f.Failover.Duplication != placement.PreferFailover && f.Failover.Duplication != placement.PreferSource {
			t.Fatalf("all of %s that exist\n%s", source, plan)
		}
		if running[source] > 0 && runningAfter[source] == 0 && f.Failover.Duplication != placement.ImmediateSourceCleanup {
			t.Fatalf("none of %s runs\n%s", source, plan)
		}
	}
}

// Over many polls, each stuck Job and each poll with failures counts once: the taints are
// those of a list of events, replayed from the start at each poll.
func propReplay(t *rapid.T) {
	f := newFleet("a", "b")
	f.Failover = placement.FailoverPolicy{
		GracePeriod: seconds(rapid.IntRange(0, 4).Draw(t, "grace")),
		SoftTaint:   seconds(rapid.IntRange(0, 12).Draw(t, "soft")), HardTaint: seconds(rapid.IntRange(0, 12).Draw(t, "hard")),
	}
	f.Scaling = placement.Scaling{}
	var events []int
	counted := map[string]bool{}
	for now := 0; now < 60; now += rapid.IntRange(1, 5).Draw(t, "poll") {
		f.Now = at(now)
		c := &f.Clusters[0]
		if rapid.IntRange(0, 3).Draw(t, "a Job") == 0 {
			uid := fmt.Sprintf("job-%d", now)
			c.Jobs = append(c.Jobs, placement.Job{Name: uid, UID: uid, Phase: placement.Pending, PendingSince: f.Now})
		}
		if len(c.Jobs) > 0 && rapid.IntRange(0, 5).Draw(t, "starts") == 0 {
			c.Jobs[rapid.IntRange(0, len(c.Jobs)-1).Draw(t, "which")].Phase = placement.Running
		}
		f.Failures = slices.Repeat([]placement.Failure{{Cluster: "a", Kind: placement.CreateFailed}}, max(0, rapid.IntRange(-6, 3).Draw(t, "failures")))
		failed := len(f.Failures) > 0
		for _, j := range c.Jobs {
			if stuck, _ := j.Stuck(f.Failover.GracePeriod, f.Now); stuck && !counted[j.UID] {
				failed, counted[j.UID] = true, true
			}
		}
		if failed {
			events = append(events, now)
		}
		plan := f.plan()
		data, err := json.Marshal(plan.Memory)
		if err != nil {
			t.Fatal(err)
		}
		f.Memory = placement.Memory{}
		if err := json.Unmarshal(data, &f.Memory); err != nil {
			t.Fatal(err)
		}
		if got, want := plan.Members[0].Taint, replay(f.Failover, events, now); got != want {
			t.Fatalf("at %d after %v: %v, want %v", now, events, got, want)
		}
	}
}

// replay is the state that the events come to.
func replay(p placement.FailoverPolicy, events []int, now int) taint.State {
	soft, hard := int(p.SoftTaint/time.Second), int(p.HardTaint/time.Second)
	softUntil, hardUntil := -1, -1
	for _, e := range events {
		switch {
		case e < hardUntil:
			hardUntil = max(hardUntil, e+hard)
		case e < softUntil || soft == 0:
			softUntil, hardUntil = -1, e+hard
		default:
			softUntil = e + soft
		}
	}
	switch {
	case now < hardUntil:
		return taint.State{Level: taint.Hard, Until: at(hardUntil)}
	case now < softUntil:
		return taint.State{Level: taint.Soft, Until: at(softUntil)}
	}
	return taint.State{}
}
