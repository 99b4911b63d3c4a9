package jobs_test

// What the tests hold:
//
//	an oracle finds the same places, replacements and maximum       TestPlaces
//	Jobs created and unfinished for weights and loads               TestSharesOfLoads
//	the table of duplicates                                         TestTableOfDuplicates
//	duplicates are deleted by the rule, and never the last of a chain TestChains
//	a replacement that finishes between two polls removes its source, and stays until then TestChains
//	the order of members, clusters and Jobs does not matter         TestOrder
//	nothing changes before NextCheck                                TestOrder
//	a stuck Job counts once, across restarts too                    TestRestartKeepsWhatIsCounted
//	a member that is never reached delays the others for a while    TestNeverReached
//	a single Job probes a cluster, with backoff                     TestProbe
//	lost Jobs free their slots, and return                          TestLost
//	nothing is replaced or lost while the hub may be cut off        TestCutOff
//	an owner's failures are in no value of another owner            TestScope
//	a late create holds its capacity                                TestLateCreates
//	an unknown version of a Checkpoint is an error                  TestCheckpointVersion
//	over hours with failures and restarts, everything is served     TestReplay

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/test/premise"
)

// one reports true in one of n draws.
func one(t *rapid.T, n int, label string) bool { return rapid.IntRange(0, n-1).Draw(t, label) == n-1 }

// drawFleet draws a fleet of two to five members, most of which may get Jobs, with chains
// of Jobs, and a demand that mostly asks for more. Times are a few seconds apart.
func drawFleet(t *rapid.T) *fleet {
	names := []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(2, 5).Draw(t, "members")]
	f := newFleet(names...)
	second := rapid.Map(rapid.IntRange(0, 6), seconds)
	f.Failover = jobs.Failover{GracePeriod: second.Draw(t, "grace"), HardTaint: second.Draw(t, "hard"), SoftTaint: second.Draw(t, "soft"),
		Duplication: rapid.SampledFrom([]jobs.Duplication{"", jobs.PreferFailover, jobs.PreferSource, jobs.ImmediateSourceCleanup}).Draw(t, "duplication")}
	if one(t, 2, "lost") {
		f.Failover.LostAfter = seconds(rapid.IntRange(1, 10).Draw(t, "lost after"))
	}
	f.Scheduling = rapid.SampledFrom([]jobs.Scheduling{jobs.WeightedRoundRobin, jobs.PriorityFailover}).Draw(t, "scheduling")
	f.Scaling.Bounds.Max = rapid.Int64Range(1, 40).Draw(t, "max")
	f.Scaling.Bounds.Min = rapid.Int64Range(0, 5).Draw(t, "min")
	f.Scaling.Paused = one(t, 20, "paused")
	f.FailoverOverMax = one(t, 3, "over max")
	f.Seed = rapid.SampledFrom([]string{"", "ns/etl"}).Draw(t, "seed")
	f.Workload = taint.Workload{Class: "a", Size: 4}
	f.Revision, f.Rollout.Strategy = rollout.Revision{Generation: 2, TemplateHash: "b"}, rapid.SampledFrom([]rollout.Strategy{rollout.Gradual, rollout.Immediate}).Draw(t, "rollout")
	f.History = history.Policy{Succeeded: history.Keep(1)}
	before, inRound := stored{Clusters: map[string]storedCluster{}}, rapid.Bool().Draw(t, "in a round")
	for i, name := range names {
		m, c := &f.Members[i], &f.Clusters[i]
		m.Weight = rapid.Int32Range(1, 5).Draw(t, "weight")
		m.Priority = new(rapid.Int32Range(0, 2).Draw(t, "priority"))
		if one(t, 5, "capped") {
			m.MaxJobs = new(rapid.Int64Range(0, 8).Draw(t, "max jobs"))
		} else if one(t, 5, "capped by the caller") {
			c.MaxJobs = new(rapid.Int64Range(0, 8).Draw(t, "max jobs of the caller"))
		}
		c.Failures.Call, c.Failures.Create, c.Failures.Rejected = one(t, 12, "call"), one(t, 12, "create"), one(t, 20, "rejected")
		if one(t, 8, "away") {
			c.Reach = rapid.SampledFrom([]jobs.Reach{jobs.Unreachable, jobs.Unreachable, jobs.NeverReached}).Draw(t, "reach")
			if !one(t, 4, "does not count") {
				c.Since = at(-rapid.IntRange(0, 12).Draw(t, "away since"))
			}
		}
		if c.Reach != jobs.NeverReached && one(t, 10, "late") {
			c.Unanswered = rapid.Int64Range(1, 3).Draw(t, "late creates")
		}
		stored := storedCluster{Running: rapid.Int64Range(0, 4).Draw(t, "remembered")}
		if one(t, 6, "backoff") {
			stored.Starts = jobs.Starts{Counted: at(-rapid.IntRange(0, 9).Draw(t, "counted")), Failed: rapid.Int32Range(1, 5).Draw(t, "failed")}
		}
		if one(t, 10, "cluster tainted") {
			c.Taint = taint.Taint{Level: taint.Hard, Until: at(rapid.IntRange(1, 5).Draw(t, "until"))}
		}
		if one(t, 6, "tainted") {
			stored.Taint = taint.Taint{Level: rapid.SampledFrom([]taint.Level{taint.Soft, taint.Hard}).Draw(t, "level"), Until: at(rapid.IntRange(1, 5).Draw(t, "until"))}
		}
		if inRound && !one(t, 20, "weight edited") {
			stored.Weight, stored.Credit = m.Weight, rapid.Int64Range(-9, 9).Draw(t, "credit")
		}
		before.Clusters[name] = stored
		if one(t, 6, "workload") {
			before.Workloads = append(before.Workloads, taint.Entry{Path: taint.Path{Cluster: name, Priority: *m.Priority},
				Workload: taint.Workload{Class: "a", Size: rapid.Int32Range(3, 5).Draw(t, "size")}, Until: at(rapid.IntRange(1, 5).Draw(t, "until"))})
		}
	}
	f.restore(before)
	n := 0
	for range rapid.IntRange(0, 8).Draw(t, "chains") {
		source := jobs.Source{}
		for attempt := range int32(rapid.IntRange(1, 3).Draw(t, "generations")) {
			n++
			j := jobs.Job{
				Name: fmt.Sprintf("job-%02d", n), UID: fmt.Sprintf("uid-%02d", n), Replaces: source,
				Phase:    rapid.SampledFrom([]jobs.Phase{jobs.Running, jobs.Pending, jobs.Pending, jobs.Succeeded, jobs.Failed}).Draw(t, "phase"),
				Deleting: one(t, 15, "deleting"), Finished: at(-n), Revision: rollout.Revision{Generation: rapid.Int64Range(1, 6).Draw(t, "generation"), TemplateHash: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "hash")},
				Unconfirmed: one(t, 8, "unconfirmed"),
			}
			if one(t, 3, "created") {
				j.Created = at(-rapid.IntRange(0, 8).Draw(t, "at"))
			}
			if j.Phase == jobs.Pending && !one(t, 5, "in flight") {
				j.PendingSince = at(-rapid.IntRange(0, 8).Draw(t, "since"))
			}
			if source.UID == "" {
				if source.UID = j.UID; one(t, 6, "names itself") { // as a member may claim
					j.Replaces = jobs.Source{UID: j.UID, Attempt: 9}
				}
			}
			source.Attempt = attempt + 1
			c := &f.Clusters[rapid.IntRange(0, len(names)-1).Draw(t, "cluster")]
			c.Jobs = append(c.Jobs, j)
		}
	}
	f.demand(rapid.Int64Range(0, 30).Draw(t, "demand"))
	if one(t, 12, "inactive") {
		f.Metrics[0].Activity = scaling.Inactive
	}
	return f
}

// The Jobs that are created are those of an oracle that gives one Job after another to the
// member with the highest priority, under PriorityFailover, and the best ticket. None goes
// to an excluded member, none beyond MaxJobs, and no replacement to a cluster that has a
// Job of the chain. The maximum is kept. A cluster with a backoff has a single probe at a time. The
// next taint lasts twice as long, unless a Job has started since.
func propPlaces(t *rapid.T, c *premise.Counts) {
	f := drawFleet(t)
	d := f.plan()
	all, late := total(d), int64(0)
	choices := 0
	for i := range d.Members {
		if c := &f.Clusters[i]; !f.lost(c) {
			late += c.Unanswered
		}
		if d.Members[i].Excluded == "" {
			choices++
		}
	}
	n, most := int64(0), f.Scaling.Bounds.Max
	held := late
	for _, p := range d.Create {
		n += p.Jobs()
		held -= min(p.Jobs(), f.cluster(p.Cluster).Unanswered)
	}
	if f.FailoverOverMax {
		most += min(all.Stuck, most)
	}
	if most = max(most, all.Running+all.Terminating+late); n > 0 && all.Running+all.Terminating+n+held > most {
		t.Fatalf("%d and %d held, at most %d\n%s", n, held, most, d)
	}
	if n+d.Unplaced != d.Scaling.Create {
		t.Fatalf("%d of %d\n%s", n, d.Scaling.Create, d)
	}
	want, replaced := oracle(f, d)
	if late == 0 {
		got := map[string][2]int64{}
		for _, p := range d.Create {
			got[p.Cluster] = [2]int64{p.Additional, int64(len(p.Replacements))}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want %v\n%s", got, want, d)
		}
	}
	for _, p := range d.Create {
		if m := f.member(p.Cluster); d.Members[slices.Index(names(f), p.Cluster)].Excluded != "" {
			t.Fatalf("%s is excluded\n%s", m.Name, d)
		}
	}
	before, after := open(f.Checkpoint), open(d.Checkpoint)
	for i := range d.Members {
		m, was, is := &d.Members[i], before.Clusters[d.Members[i].Name], after.Clusters[d.Members[i].Name]
		failures := f.Clusters[i].Failures
		starts := f.starts(&f.Clusters[i], was.Starts.Counted)
		if starts && is.Starts.Failed > 0 {
			t.Fatalf("%s has a backoff though Jobs start\n%s", m.Name, d)
		}
		probes := is.Starts.Failed > 0 && m.Jobs.Pending > m.Jobs.Stuck
		if probes && m.Excluded == "" {
			t.Fatalf("%s has a second probe\n%s", m.Name, d)
		}
		longer := f.Scheduling == jobs.WeightedRoundRobin && m.OwnerTaint.Level == taint.Hard && was.Taint.At(f.Now).Level != taint.Hard && !failures.Call && !failures.Create
		if k := min(was.Starts.Failed, 4); longer && !starts && m.OwnerTaint.Until.Sub(f.Now) != f.Failover.HardTaint<<k {
			t.Fatalf("%s is tainted until %s after %d taints\n%s", m.Name, m.OwnerTaint.Until, was.Starts.Failed, d)
		}
		c.Note("a Job starts", starts && was.Starts.Failed > 0)
		c.Note("a probe", probes)
		c.Note("a longer taint", longer && was.Starts.Failed > 1)
	}
	c.Note("creates", n > 0)
	c.Note("the oracle places", n > 0 && late == 0)
	c.Note("replaces", replaced > 0 && late == 0)
	c.Note("round robin has a choice", f.Scheduling == jobs.WeightedRoundRobin && n > 0 && choices > 1)
	c.Note("priorities have a choice", f.Scheduling == jobs.PriorityFailover && n > 0 && choices > 1)
	c.Note("late creates", late > 0 && n > 0)
	c.Note("unplaced", d.Unplaced > 0)
}

// starts reports whether a Job there has started that was created after each stuck Job.
func (f *fleet) starts(c *jobs.Cluster, counted time.Time) bool {
	var stuck, started time.Time
	for i := range c.Jobs {
		switch j := &c.Jobs[i]; {
		case f.stuck(c, j) && j.PendingSince.After(stuck):
			stuck = j.PendingSince
		case (j.Phase == jobs.Running || j.Phase >= jobs.Succeeded && !j.NeverStarted) && j.Created.After(started):
			started = j.Created
		}
	}
	return !started.IsZero() && started.After(stuck) && !started.Before(counted)
}

func names(f *fleet) (all []string) {
	for _, m := range f.Members {
		all = append(all, m.Name)
	}
	return all
}

func oracle(f *fleet, d jobs.Decision) (placed map[string][2]int64, replaced int64) {
	placed = map[string][2]int64{}
	turns := f.turns(d)
	best := func(avoid map[string]bool) string {
		for _, priority := range []int32{2, 1, 0} {
			party, ok := turns[priority].Next(func(i int) bool { return avoid[f.Members[i].Name] })
			if ok {
				return f.Members[party].Name
			}
		}
		return ""
	}
	chains := stuckChains(f, d)
	left := min(d.Scaling.Create, int64(len(chains)))
	additional := d.Scaling.Create - left
	for _, chain := range chains {
		if name := best(chain); left > 0 && name != "" {
			placed[name] = [2]int64{placed[name][0], placed[name][1] + 1}
			left--
			replaced++
		}
	}
	for range additional {
		if name := best(nil); name != "" {
			placed[name] = [2]int64{placed[name][0] + 1, placed[name][1]}
		}
	}
	return placed, replaced
}

// turns returns the members that may get a Job, by priority, each at its index.
func (f *fleet) turns(d jobs.Decision) map[int32]apportion.RoundRobin {
	before, edited := open(f.Checkpoint).Clusters, false
	turns, starts := map[int32]apportion.RoundRobin{}, map[int32]apportion.RoundRobin{}
	for i, m := range f.Members {
		priority := int32(0)
		if f.Scheduling == jobs.PriorityFailover {
			priority = *m.Priority
		}
		if turns[priority] == nil {
			turns[priority], starts[priority] = make(apportion.RoundRobin, len(f.Members)), make(apportion.RoundRobin, len(f.Members))
		}
		starts[priority][i].Weight = m.Weight
		if d.Members[i].Excluded == "" {
			room := int64(math.MaxInt32)
			if most := cmp.Or(m.MaxJobs, f.Clusters[i].MaxJobs); most != nil {
				room = *most - d.Members[i].Jobs.Terminating
			}
			if open(d.Checkpoint).Clusters[m.Name].Starts.Failed > 0 {
				room = min(room, d.Members[i].Jobs.Running+1)
			}
			turns[priority][i] = apportion.Party{Weight: m.Weight, Held: int32(d.Members[i].Jobs.Running), Capped: true, Cap: int32(room), Credit: before[m.Name].Credit}
		}
		edited = edited || before[m.Name].Weight != m.Weight
	}
	for priority := range turns {
		if edited {
			starts[priority].Start(f.Seed)
			for i := range turns[priority] {
				turns[priority][i].Credit = starts[priority][i].Credit
			}
		}
	}
	return turns
}

// stuckChains are the clusters of each chain of which all that stays is stuck, in the order
// in which the newest Job of each has been pending.
func stuckChains(f *fleet, d jobs.Decision) (clusters []map[string]bool) {
	if d.Scaling.Trace.Strategy == "" {
		return nil
	}
	gone := map[string]bool{}
	for _, all := range [][]jobs.Deletion{d.Outdated, d.Duplicates, d.Finished} {
		for _, x := range all {
			gone[x.UID] = !x.Deferred
		}
	}
	type chain struct {
		clusters map[string]bool
		moves    bool
		newest   *jobs.Job
		on       string
		since    time.Time
	}
	chains := map[string]*chain{}
	var all []*chain
	for c, j := range f.each {
		if j.Phase >= jobs.Succeeded || j.Deleting || gone[j.UID] {
			continue
		}
		source := j.Replaces.UID
		if source == "" {
			source = j.UID
		}
		g := chains[source]
		if g == nil {
			g = &chain{clusters: map[string]bool{}}
			chains[source] = g
			all = append(all, g)
		}
		g.clusters[c.Name] = true
		g.moves = g.moves || !f.stuck(c, j) && !f.lost(c)
		if g.newest == nil || attempt(j) > attempt(g.newest) {
			if g.newest, g.on, g.since = j, c.Name, j.PendingSince; g.since.IsZero() {
				g.since = c.Since // it is lost
			}
		}
	}
	all = slices.DeleteFunc(all, func(g *chain) bool { return g.moves })
	slices.SortFunc(all, func(a, b *chain) int {
		if c := a.since.Compare(b.since); c != 0 {
			return c
		}
		if a.on+a.newest.UID < b.on+b.newest.UID {
			return -1
		}
		return 1
	})
	for _, g := range all {
		clusters = append(clusters, g.clusters)
	}
	return clusters
}

func TestPlaces(t *testing.T) {
	premise.Check(t, propPlaces, premise.Least{
		"creates": 0.3, "the oracle places": 0.2, "replaces": 0.05, "round robin has a choice": 0.1, "priorities have a choice": 0.1, "late creates": 0.03, "unplaced": 0.03,
		"a Job starts": 0.01, "a probe": 0.01, "a longer taint": 0.002,
	})
}

func FuzzPlaces(f *testing.F) { premise.Fuzz(f, propPlaces) }

// The order of members, clusters and Jobs does not matter, and neither argument is
// modified. Planned again until the next check, the decision is the same.
func propOrder(t *rapid.T, c *premise.Counts) {
	f := drawFleet(t)
	d := f.plan()
	other := *f
	other.Members = rapid.Permutation(f.Members).Draw(t, "members")
	other.Clusters = rapid.Permutation(f.Clusters).Draw(t, "clusters")
	for i := range other.Clusters {
		other.Clusters[i].Jobs = rapid.Permutation(other.Clusters[i].Jobs).Draw(t, "jobs")
	}
	if again := other.plan(); !reflect.DeepEqual(d, again) {
		t.Fatalf("%s\n\nin another order\n%s", d, again)
	}
	c.Note("creates", len(d.Create) > 0)
	c.Note("deletes", len(d.Outdated)+len(d.Duplicates)+len(d.Finished) > 0)
	for i := range f.Clusters {
		f.Clusters[i].Failures = jobs.Failures{}
	}
	turns := f.Checkpoint
	d = f.plan()
	f.Checkpoint = d.Checkpoint
	f.takeTurns(turns)
	for n := range 8 {
		f.Now = at(n)
		if !d.NextCheck.IsZero() && !f.Now.Before(d.NextCheck) {
			c.Note("the next check comes", true)
			return
		}
		if again := f.plan(); !reflect.DeepEqual(again.Create, d.Create) || !reflect.DeepEqual(again.Members, d.Members) || !reflect.DeepEqual(again.NextCheck, d.NextCheck) {
			t.Fatalf("at %d\n%s\n\nbefore\n%s", n, again, d)
		}
	}
}

// takeTurns takes the turns of another checkpoint over.
func (f *fleet) takeTurns(from jobs.Checkpoint) {
	checkpoint, turns := open(f.Checkpoint), open(from).Clusters
	if checkpoint.Clusters == nil {
		checkpoint.Clusters = map[string]storedCluster{}
	}
	for _, m := range f.Members {
		c := checkpoint.Clusters[m.Name]
		c.Weight, c.Credit = turns[m.Name].Weight, turns[m.Name].Credit
		checkpoint.Clusters[m.Name] = c
	}
	f.restore(checkpoint)
}

func TestOrder(t *testing.T) {
	premise.Check(t, propOrder, premise.Least{"creates": 0.3, "deletes": 0.3, "the next check comes": 0.5})
}

func FuzzOrder(f *testing.F) { premise.Fuzz(f, propOrder) }

// lost reports whether the Jobs of the cluster are lost, once more than in the package.
func (f *fleet) lost(c *jobs.Cluster) bool {
	return c.Reach != jobs.Reachable && !c.Since.IsZero() && f.Failover.LostAfter > 0 && f.Now.Sub(c.Since) >= f.Failover.LostAfter
}
