package replicas_test

// What the tests hold:
//
//	every replica has a place; order does not matter           TestShares
//	no plan gives up a replica that does not exist elsewhere    TestMoves
//	a member that fails costs the others nothing               TestFailover
//	orders stay within the bound over polls                     TestBound
//	orders that are carried out lead to the shares             TestArrive
//	nothing changes before NextCheck, something at it          TestNextCheck
//	hours with failures, restarts, edits and new clusters      TestReplay
//	each rule above, poll by poll                              plan_test.go

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/replicas"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestShares(t *testing.T)    { premise.Check(t, propShares, sharesLeast) }
func FuzzShares(f *testing.F)    { premise.Fuzz(f, propShares) }
func TestMoves(t *testing.T)     { premise.Check(t, propMoves, movesLeast) }
func FuzzMoves(f *testing.F)     { premise.Fuzz(f, propMoves) }
func TestFailover(t *testing.T)  { premise.Check(t, propFailover, failoverLeast) }
func FuzzFailover(f *testing.F)  { premise.Fuzz(f, propFailover) }
func TestNextCheck(t *testing.T) { premise.Check(t, propNextCheck, nextLeast) }
func FuzzNextCheck(f *testing.F) { premise.Fuzz(f, propNextCheck) }
func TestArguments(t *testing.T) { premise.Check(t, propArguments, nil) }
func FuzzArguments(f *testing.F) { premise.Fuzz(f, propArguments) }
func TestArrive(t *testing.T)    { premise.Check(t, propArrive, arriveLeast) }
func FuzzArrive(f *testing.F)    { premise.Fuzz(f, propArrive) }

var arbitrary = rapid.OneOf(rapid.Int32(), rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32}), rapid.Int32Range(0, 20))

var few = rapid.Int32Range(0, 12)

// drawPolicy draws a policy that some of the clusters a to e are members of. Its
// numbers are drawn by number.
func drawPolicy(t *rapid.T, number *rapid.Generator[int32]) replicas.Policy {
	duration := rapid.Map(rapid.IntRange(-1, 6), seconds)
	p := replicas.Policy{
		Min: number.Draw(t, "min"), Max: number.Draw(t, "max"),
		GracePeriod: duration.Draw(t, "grace"), ProgressDeadline: duration.Draw(t, "progress"),
		MaxSurge: number.Draw(t, "surge"),
		Seed:     rapid.SampledFrom([]string{"", "ns/nginx", "ns/worker"}).Draw(t, "seed"),
	}
	for _, name := range drawNames(t, "members", "a", "b", "c", "d", "e", "x") {
		p.Members = append(p.Members, replicas.Member{Name: name, Weight: number.Draw(t, "weight")})
	}
	return p
}

// drawNames draws some of the names, in any order, and now and then a name twice.
func drawNames(t *rapid.T, label string, names ...string) []string {
	some := rapid.Permutation(names).Draw(t, label)[:rapid.IntRange(0, len(names)).Draw(t, "number of "+label)]
	if len(some) > 0 && rapid.IntRange(0, 4).Draw(t, "twice") == 0 {
		some = append(some, some[0])
	}
	return some
}

var observed = rapid.SampledFrom([]replicas.Reason{
	"", "", "", "", "", replicas.ReasonUnreachable, replicas.ReasonWorkloadMissing, replicas.ReasonWriteFailed, replicas.ReasonNotAsked, replicas.ReasonUnconfirmed,
})

// drawState draws an observation and a checkpoint of some of the clusters a to e, after some others
// under the same policy.
func drawState(t *rapid.T, p replicas.Policy, number *rapid.Generator[int32]) (s replicas.Observation, checkpoint replicas.Checkpoint) {
	before := rapid.IntRange(0, 3).Draw(t, "plans before")
	for i := 0; ; i++ {
		s.Replicas, s.Now = rapid.Ptr(number, i == 0).Draw(t, "replicas"), s.Now.Add(seconds(rapid.IntRange(0, 4).Draw(t, "seconds")))
		if i == 0 {
			s.Now = epoch
		}
		names := drawNames(t, "clusters", "a", "b", "c", "d", "e")
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "stands") == 0 { // the clusters show no progress
			s.Now, names = s.Now.Add(seconds(6)), nil
		} else {
			s.Clusters = nil
		}
		for _, name := range names {
			s.Clusters = append(s.Clusters, replicas.Cluster{
				Name: name, Problem: observed.Draw(t, "problem"), Replicas: number.Draw(t, "current"),
				Existing: rapid.Ptr(number, true).Draw(t, "existing"), Ordered: rapid.Ptr(number, true).Draw(t, "ordered"), Since: s.Now.Add(-seconds(rapid.IntRange(0, 9).Draw(t, "since"))),
			})
		}
		if i == before {
			return s, checkpoint
		}
		other := p
		if rapid.Bool().Draw(t, "all were members") {
			other.Members = nil
		}
		checkpoint = replicas.Decide(other, s, checkpoint).Checkpoint
	}
}

var sharesLeast = premise.Least{"a replica moves": 0.2, "unplaced": 0.05, "all excluded": 0.02, "a former member": 0.05, "one name twice": 0.1}

// All replicas have a place or are unplaced; no number is negative; nothing is written
// to a member that was not read, nor in a hold; an excluded member has no share unless
// all are excluded; what was not read changes no number; silence that does not count begins no grace period; a member
// whose last write failed is written to; the order of members and clusters does not matter, unless names
// occur twice.
func propShares(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom([]*rapid.Generator[int32]{few, arbitrary}).Draw(t, "numbers")
	p := drawPolicy(t, number)
	s, checkpoint := drawState(t, p, number)
	plan := replicas.Decide(p, s, checkpoint)
	hold := slices.Contains([]replicas.Reason{replicas.ReasonMetricsUnknown, replicas.ReasonNoMaximum}, plan.Reason)
	var sum int64
	moves, former, silent := false, false, false
	for _, m := range plan.Shares {
		sum += int64(m.Desired)
		weighs := len(p.Members) == 0 || slices.ContainsFunc(p.Members, func(l replicas.Member) bool { return l.Name == m.Name && l.Weight > 0 })
		silent = silent || weighs && m.Excluded && slices.Contains([]replicas.Reason{replicas.ReasonUnreachable, replicas.ReasonNotAsked, replicas.ReasonUnconfirmed, replicas.ReasonWriteFailed}, m.Reason)
		for _, c := range s.Clusters {
			was, is := checkpoint.Members[m.Name], plan.Checkpoint.Members[m.Name]
			switch {
			case c.Name != m.Name || len(distinctNames(s.Clusters)) < len(s.Clusters):
			case slices.Contains([]replicas.Reason{replicas.ReasonUnreachable, replicas.ReasonNotAsked, replicas.ReasonUnconfirmed}, c.Problem) && is.Replicas != was.Replicas:
				t.Fatalf("%s was not read, and has %d replicas instead of %d\n%s", m.Name, is.Replicas, was.Replicas, plan)
			case c.Problem == replicas.ReasonWriteFailed && !m.Write && !hold:
				t.Fatalf("nothing shows whether %s can be written to\n%s", m.Name, plan)
			case c.Problem == replicas.ReasonUnconfirmed && !is.Excluded && is.Problem != "":
				t.Fatalf("the grace period of %s goes on\n%s", m.Name, plan)
			}
		}
		moves = moves || m.Write
		former = former || m.Reason == replicas.ReasonNotListed
		unread := !slices.ContainsFunc(s.Clusters, func(c replicas.Cluster) bool {
			return c.Name == m.Name && (c.Problem == "" || c.Problem == replicas.ReasonWriteFailed)
		})
		switch {
		case m.Desired < 0 || m.Next < 0 || m.Current < 0 || m.Existing < 0 || m.Existing > m.Current:
			t.Fatalf("negative\n%s", plan)
		case m.Write && (hold || unread):
			t.Fatalf("written to %s\n%s", m.Name, plan)
		case m.Excluded && m.Desired > 0 && plan.Reason != replicas.ReasonAllExcluded && !hold:
			t.Fatalf("%s has a share\n%s", m.Name, plan)
		case m.Next < min(m.Current, m.Desired) || m.Next > max(m.Current, m.Desired):
			t.Fatalf("%s overshoots\n%s", m.Name, plan)
		case m.Description() == "":
			t.Fatalf("no description of %s\n%s", m.Name, plan)
		}
	}
	if !slices.IsSortedFunc(plan.Shares, func(a, b replicas.Share) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("not by name\n%s", plan)
	}
	if !hold && sum+int64(plan.Unplaced) != int64(plan.Total) || plan.Unplaced > 0 && plan.Reason != replicas.ReasonNoMembers {
		t.Fatalf("%d in all\n%s", sum, plan)
	}
	if silent && plan.Reason == replicas.ReasonNoMembers {
		t.Fatalf("no member has a share\n%s", plan)
	}
	c.Note("a replica moves", moves)
	c.Note("unplaced", plan.Unplaced > 0)
	c.Note("all excluded", plan.Reason == replicas.ReasonAllExcluded)
	c.Note("a former member", former)
	c.Note("one name twice", len(distinctNames(s.Clusters)) < len(s.Clusters))
	if len(distinctNames(s.Clusters)) < len(s.Clusters) || !distinct(p.Members) {
		return
	}
	p.Members = rapid.Permutation(p.Members).Draw(t, "order of members")
	s.Clusters = rapid.Permutation(s.Clusters).Draw(t, "order of clusters")
	if other := replicas.Decide(p, s, checkpoint); !reflect.DeepEqual(plan, other) {
		t.Fatal(cmp.Diff(plan, other))
	}
}

var movesLeast = premise.Least{"a member shrinks": 0.1, "a healthy member shrinks": 0.05, "a member waits": 0.1, "above max": 0.03, "a stalled member shrinks": 0.005}

// The safety of one plan: on the members that were read, the replicas that exist and
// stay are as many as before, or as many as the total. What is ordered exceeds the
// maximum by the surge at most, or as before. No more is ordered than is missing. A member without
// progress whose replicas others get keeps a single missing replica at most.
func propMoves(t *rapid.T, c *premise.Counts) {
	p := drawPolicy(t, few)
	p.Max = rapid.Int32Range(1, 30).Draw(t, "max")
	s, checkpoint := drawState(t, p, few)
	if len(s.Clusters) != len(distinctNames(s.Clusters)) {
		return // propShares checks which of two observations counts
	}
	plan := replicas.Decide(p, s, checkpoint)
	var existing, stay, ordered, next, lack, grown int64
	shrinks, healthy, waits, stuck := false, false, false, false
	for _, m := range plan.Shares {
		read := m.Write || slices.ContainsFunc(s.Clusters, func(c replicas.Cluster) bool {
			return c.Name == m.Name && (c.Problem == "" || c.Problem == replicas.ReasonWriteFailed)
		})
		if !read {
			if !m.Excluded {
				ordered += int64(m.Current)
				next += int64(m.Current)
			}
			continue
		}
		existing += int64(m.Existing)
		stay += int64(min(m.Existing, m.Next))
		before, after := m.Current, m.Next
		of := s.Clusters[slices.IndexFunc(s.Clusters, func(c replicas.Cluster) bool { return c.Name == m.Name })]
		if of.Problem == "" && of.Ordered != nil {
			foreign := max(0, m.Current-max(0, *of.Ordered))
			before, after = before-foreign, max(0, after-foreign)
		}
		switch { // as the package comment says
		case m.Excluded && m.Reason == replicas.ReasonWriteFailed:
			before, after = m.Existing, min(m.Existing, m.Next)
		case m.Reason == replicas.ReasonNoProgress:
			before = min(m.Current, max(m.Existing, m.Desired))
			after = max(before, m.Next-1)
		}
		ordered += int64(before)
		next += int64(max(before, after))
		lack += int64(max(0, m.Desired-m.Current))
		grown += int64(max(0, m.Next-m.Current))
		if m.Reason == replicas.ReasonNoProgress && m.Current > m.Desired {
			if m.Next > max(m.Existing, m.Desired)+1 {
				t.Fatalf("%s keeps %d replicas that do not exist\n%s", m.Name, m.Next-m.Existing, plan)
			}
			stuck = true
		}
		shrinks = shrinks || m.Next < m.Current
		healthy = healthy || m.Next < m.Current && m.Reason == "" && m.Desired > 0
		waits = waits || m.Desired < m.Next
	}
	total := int64(plan.Total)
	if stay < min(existing, total) {
		t.Fatalf("%d of %d existing replicas stay\n%s", stay, existing, plan)
	}
	bound := int64(max(p.Max, plan.Total)) + int64(max(0, p.MaxSurge))
	if next > max(ordered, bound) {
		t.Fatalf("%d ordered, after %d\n%s", next, ordered, plan)
	}
	if plan.Reason == replicas.ReasonAtMax && ordered > total {
		t.Fatalf("%d are ordered, which makes place\n%s", ordered, plan)
	}
	if want := min(lack, max(0, bound-ordered)); plan.Reason == "" && grown != want {
		t.Fatalf("%d more, of %d\n%s", grown, want, plan)
	}
	c.Note("a member shrinks", shrinks)
	c.Note("a healthy member shrinks", healthy)
	c.Note("a member waits", waits)
	c.Note("above max", next > int64(p.Max))
	c.Note("a stalled member shrinks", stuck)
}

func distinctNames(all []replicas.Cluster) map[string]bool {
	names := map[string]bool{}
	for _, c := range all {
		names[c.Name] = true
	}
	return names
}

var failoverLeast = premise.Least{"the lost member had replicas": 0.5}

// When a member is excluded, exactly its share moves and no other member loses a
// replica. When it is back, everything is as before.
func propFailover(t *rapid.T, c *premise.Counts) {
	p := replicas.Policy{Max: math.MaxInt32, Seed: rapid.SampledFrom([]string{"", "ns/nginx"}).Draw(t, "seed")}
	total := rapid.OneOf(rapid.Int32Range(0, 50), rapid.Int32Range(0, math.MaxInt32)).Draw(t, "replicas")
	s := replicas.Observation{Replicas: &total, Now: epoch}
	for i, weight := range rapid.SliceOfN(rapid.Int32Range(1, 20), 2, 8).Draw(t, "weights") {
		name := fmt.Sprintf("member-%d", i)
		p.Members = append(p.Members, replicas.Member{Name: name, Weight: weight})
		s.Clusters = append(s.Clusters, replicas.Cluster{Name: name})
	}
	before := replicas.Decide(p, s, replicas.Checkpoint{})
	lost := rapid.IntRange(0, len(p.Members)-1).Draw(t, "lost")
	s.Clusters[lost].Problem = replicas.ReasonUnreachable
	without := replicas.Decide(p, s, before.Checkpoint)
	var gained int64
	for i := range without.Shares {
		gain := int64(without.Shares[i].Desired) - int64(before.Shares[i].Desired)
		if i != lost && gain < 0 || i == lost && without.Shares[i].Desired != 0 {
			t.Fatalf("%s\n\n%s", before, without)
		}
		if i != lost {
			gained += gain
		}
	}
	if gained != int64(before.Shares[lost].Desired) {
		t.Fatalf("%s\n\n%s", before, without)
	}
	c.Note("the lost member had replicas", gained > 0)
	s.Clusters[lost].Problem = ""
	if diff := cmp.Diff(before, replicas.Decide(p, s, without.Checkpoint)); diff != "" {
		t.Fatal(diff)
	}
}

var nextLeast = premise.Least{"there is a next check": 0.1, "nothing changes": 0.2}

// Until the next check nothing changes, and at it something does. A plan for the same
// observation at the same time is the same.
func propNextCheck(t *rapid.T, c *premise.Counts) {
	p := drawPolicy(t, few)
	s, checkpoint := drawState(t, p, few)
	plan := replicas.Decide(p, s, checkpoint)
	c.Note("there is a next check", !plan.NextCheck.IsZero())
	c.Note("nothing changes", plan.NextCheck.IsZero())
	start := s.Now
	for second := range 14 {
		checkpoint, s.Now = plan.Checkpoint, start.Add(seconds(second))
		later := replicas.Decide(p, s, checkpoint)
		if !plan.NextCheck.IsZero() && !s.Now.Before(plan.NextCheck) {
			if slices.Equal(plan.Shares, later.Shares) {
				t.Fatalf("the same at the next check\n%s\n%s", plan, later)
			}
			return
		}
		later.Checkpoint = plan.Checkpoint
		if !reflect.DeepEqual(plan, later) {
			t.Fatalf("after %d s\n%s\n%s", second, plan, later)
		}
	}
	if !plan.NextCheck.IsZero() {
		t.Fatalf("%s", plan)
	}
}

// Nothing panics, the arguments are as they were, and the plan shares no memory with
// them or with another plan.
func propArguments(t *rapid.T, _ *premise.Counts) {
	p := drawPolicy(t, arbitrary)
	s, checkpoint := drawState(t, p, arbitrary)
	beforeP, beforeS := fmt.Sprintf("%#v", p), fmt.Sprintf("%#v %#v", s, checkpoint)
	plan := replicas.Decide(p, s, checkpoint)
	want := plan.String()
	other := replicas.Decide(p, s, checkpoint)
	for i := range other.Shares {
		other.Shares[i] = replicas.Share{}
	}
	clear(other.Checkpoint.Members)
	_ = p.Validate()
	if beforeP != fmt.Sprintf("%#v", p) || beforeS != fmt.Sprintf("%#v %#v", s, checkpoint) || plan.String() != want {
		t.Fatalf("changed: %s", plan)
	}
}

var arriveLeast = premise.Least{"more than one plan": 0.2, "at the maximum": 0.1}

// If every order is carried out, plan by plan the shares are reached, and the replicas
// that exist never fall below the total or where they were.
func propArrive(t *rapid.T, c *premise.Counts) {
	p := replicas.NewPolicy(rapid.Int32Range(1, 40).Draw(t, "max"))
	total := rapid.Int32Range(0, p.Max).Draw(t, "total")
	c.Note("at the maximum", total == p.Max)
	s := replicas.Observation{Replicas: &total, Now: epoch}
	for i := range rapid.IntRange(1, 6).Draw(t, "members") {
		name := string(rune('a' + i))
		p.Members = append(p.Members, replicas.Member{Name: name, Weight: rapid.Int32Range(1, 9).Draw(t, "weight")})
		s.Clusters = append(s.Clusters, replicas.Cluster{Name: name, Replicas: few.Draw(t, "replicas")})
	}
	var checkpoint replicas.Checkpoint
	for plans := range 100 {
		plan := replicas.Decide(p, s, checkpoint)
		var was, is int32
		there := true
		for i, m := range plan.Shares {
			was, is = was+m.Current, is+m.Next
			there = there && m.Next == m.Desired
			s.Clusters[i].Replicas = m.Next
		}
		if is < min(was, total) {
			t.Fatalf("%s", plan)
		}
		if there {
			c.Note("more than one plan", plans > 0)
			return
		}
		checkpoint = plan.Checkpoint
	}
	t.Fatalf("not there: %v", s.Clusters)
}

func distinct(members []replicas.Member) bool {
	names := map[string]bool{}
	for _, m := range members {
		names[m.Name] = true
	}
	return len(names) == len(members)
}
