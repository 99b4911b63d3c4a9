package taint_test

// What the tests hold:
//
//	the state at each second after any failures               TestLadder
//	nothing counts while the hub is cut off                   TestReturnsInEachOrder
//	one cluster that is away is tainted, also after a restart TestOneIsAway
//	silence counts from the answer of another cluster         TestOtherReturns, TestStandings
//	merging is idempotent, commutative and associative        TestMerge
//	larger sizes are excluded with smaller sizes              TestExcludes
//	values are equal after they were stored as JSON           TestJSON

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestLadder(t *testing.T)   { premise.Check(t, propLadder, ladderLeast) }
func FuzzLadder(f *testing.F)   { premise.Fuzz(f, propLadder) }
func TestMerge(t *testing.T)    { premise.Check(t, propMerge, mergeLeast) }
func FuzzMerge(f *testing.F)    { premise.Fuzz(f, propMerge) }
func TestExcludes(t *testing.T) { premise.Check(t, propExcludes, excludesLeast) }
func FuzzExcludes(f *testing.F) { premise.Fuzz(f, propExcludes) }
func TestJSON(t *testing.T)     { rapid.Check(t, propJSON) }
func FuzzJSON(f *testing.F)     { premise.Seeded(f, propJSON) }

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(second int) time.Time { return epoch.Add(time.Duration(second) * time.Second) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// A clock counts the seconds that are left of a soft and of a hard taint.
type clock struct{ soft, hard int }

func (c *clock) fail(soft, hard int) {
	switch {
	case c.hard > 0:
		c.hard = max(c.hard, hard)
	case c.soft > 0 || soft <= 0:
		*c = clock{hard: max(0, hard)}
	default:
		c.soft = soft
	}
}

func (c *clock) tick() { *c = clock{max(0, c.soft-1), max(0, c.hard-1)} }

func (c *clock) level() taint.Level {
	switch {
	case c.hard > 0:
		return taint.Hard
	case c.soft > 0:
		return taint.Soft
	}
	return taint.None
}

var ladderLeast = premise.Least{"a soft taint": 0.25, "a hard taint": 0.2, "a failure under a hard taint": 0.08, "a taint ends": 0.3}

// At each second the state is the one that a clock shows which counts down.
func propLadder(t *rapid.T, counts *premise.Counts) {
	soft, hard := rapid.IntRange(-1, 12).Draw(t, "soft"), rapid.IntRange(-1, 12).Draw(t, "hard")
	failures, last := map[int]bool{}, 0
	for _, gap := range rapid.SliceOfN(rapid.IntRange(0, 15), 0, 9).Draw(t, "seconds between failures") {
		last += gap
		failures[last] = true
	}
	var s taint.Taint
	var c clock
	softly, hardly, again, ends := false, false, false, false
	for second := range last + 13 {
		now, failed := at(second), failures[second]
		before := c.level()
		ends = ends || before == taint.None && s.Level != taint.None
		again = again || failed && before == taint.Hard
		if failed {
			s = s.Fail(taint.Durations{Soft: seconds(soft), Hard: seconds(hard)}, now)
			c.fail(soft, hard)
		}
		got := s.At(now)
		if got.Level != c.level() {
			t.Fatalf("second %d: %v, want %v", second, got, c)
		}
		want := time.Time{}
		if left := max(c.soft, c.hard); left > 0 {
			want = at(second + left)
		}
		if got.Until != want {
			t.Fatalf("second %d: until %v, want %v", second, got.Until, want)
		}
		softly, hardly = softly || got.Level == taint.Soft, hardly || got.Level == taint.Hard
		c.tick()
	}
	counts.Note("a soft taint", softly)
	counts.Note("a hard taint", hardly)
	counts.Note("a failure under a hard taint", again)
	counts.Note("a taint ends", ends)
}

func drawSet(t *rapid.T, name string) taint.Set {
	entry := rapid.Custom(func(t *rapid.T) taint.Entry {
		until := at(rapid.IntRange(0, 5).Draw(t, "until"))
		return taint.Entry{
			Path: taint.Path{
				Cluster:  rapid.SampledFrom([]string{"p", "q"}).Draw(t, "cluster"),
				Priority: rapid.Int32Range(0, 1).Draw(t, "priority"),
			},
			Workload: taint.Workload{
				Class: rapid.SampledFrom([]string{"", "a"}).Draw(t, "class"),
				Size:  rapid.Int32Range(0, 4).Draw(t, "size"),
			},
			Until: rapid.SampledFrom([]time.Time{until, until.In(time.FixedZone("east", 3600))}).Draw(t, "zone"),
		}
	})
	return rapid.SliceOfN(entry, 0, 12).Draw(t, name)
}

func same(t *rapid.T, law string, a, b taint.Set) {
	if len(a) != len(b) || len(a) > 0 && !reflect.DeepEqual(a, b) {
		t.Fatalf("%s: %v and %v", law, a, b)
	}
}

var mergeLeast = premise.Least{"one set covers an entry of the other": 0.3, "an entry of the other is kept": 0.3}

// Merge is idempotent, commutative and associative, keeps entries of which none
// is covered by another, and leaves its arguments as they were.
func propMerge(t *rapid.T, counts *premise.Counts) {
	a, b, c := drawSet(t, "a"), drawSet(t, "b"), drawSet(t, "c")
	before := slices.Clone(a)
	ab := taint.Merge(a, b)
	same(t, "idempotent", ab, taint.Merge(ab, ab))
	same(t, "replayed", ab, taint.Merge(ab, a))
	same(t, "commutative", ab, taint.Merge(b, a))
	same(t, "associative", taint.Merge(ab, c), taint.Merge(a, taint.Merge(b, c)))
	same(t, "argument", before, a)
	alone := len(taint.Merge(a)) + len(taint.Merge(b))
	counts.Note("one set covers an entry of the other", len(ab) < alone)
	counts.Note("an entry of the other is kept", len(ab) > len(taint.Merge(a)) && len(ab) > len(taint.Merge(b)))
	for i, e := range ab {
		for j, o := range ab {
			if i != j && e.Path == o.Path && e.Class == o.Class && e.Size <= o.Size && !e.Until.Before(o.Until) {
				t.Fatalf("%v covers %v", e, o)
			}
		}
	}
}

var excludesLeast = premise.Least{"the workload is excluded": 0.3, "a larger workload alone": 0.2, "an exclusion ends": 0.3}

// A merged set excludes what any entry does, asked one by one, and so does the part
// of it that has not ended; with a size all larger ones.
func propExcludes(t *rapid.T, counts *premise.Counts) {
	a, b := drawSet(t, "a"), drawSet(t, "b")
	p := rapid.SampledFrom([]taint.Path{{Cluster: "p"}, {Cluster: "p", Priority: 1}, {Cluster: "q", Priority: 1}}).Draw(t, "path")
	class := rapid.SampledFrom([]string{"", "", "a", "a", "b"}).Draw(t, "class")
	merged := taint.Merge(a, b)
	excluded, larger, ends := false, false, false
	var before [6]bool
	for second := range 6 {
		was := false
		for size := range int32(6) {
			w, now := taint.Workload{Class: class, Size: size}, at(second)
			want := slices.ContainsFunc(slices.Concat(a, b), func(e taint.Entry) bool {
				return e.Path == p && e.Class == class && e.Size <= size && e.Until.After(now)
			})
			if got := merged.Excludes(w, p, now); got != want || merged.At(now).Excludes(w, p, now) != want || was && !got {
				t.Fatalf("%v on %v at %d: %v", w, p, second, got)
			}
			excluded, larger, ends = excluded || want, larger || want && size > 0 && !was, ends || !want && before[size]
			was, before[size] = want, want
		}
	}
	counts.Note("the workload is excluded", excluded)
	counts.Note("a larger workload alone", larger)
	counts.Note("an exclusion ends", ends)
}

// Both kinds are the same when they come back from JSON.
func propJSON(t *rapid.T) {
	state := taint.Taint{}
	for _, second := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 3).Draw(t, "failures") {
		state = state.Fail(taint.Durations{Soft: seconds(3), Hard: seconds(5)}, at(second).In(time.Local))
	}
	type memory struct {
		Taint taint.Taint
		Set   taint.Set
	}
	before := memory{state, taint.Merge(drawSet(t, "set"))}
	data, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after memory
	if err := json.Unmarshal(data, &after); err != nil || after.Taint != before.Taint {
		t.Fatalf("%v, %v: %s", after, err, data)
	}
	same(t, string(data), before.Set, after.Set)
}

// What no name stands for excludes nothing, and is where the ladder starts.
func TestUnknownLevel(t *testing.T) {
	s := taint.Taint{Level: "firm", Until: at(60)}
	require.Equal(t, taint.Taint{}, s.At(at(0)))
	require.Equal(t, taint.Taint{Level: taint.Soft, Until: at(10)}, s.Fail(taint.Durations{Soft: seconds(10)}, at(0)))
}

func ExampleTaint_Fail() {
	d := taint.Durations{Soft: 3 * time.Minute, Hard: 5 * time.Minute}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var s taint.Taint
	for _, minute := range []int{0, 2, 3, 10} {
		now := noon.Add(time.Duration(minute) * time.Minute)
		s = s.Fail(d, now)
		fmt.Println(now.Format("15:04"), s.Level, "until", s.Until.Format("15:04"))
	}
	// Output:
	// 12:00 soft until 12:03
	// 12:02 hard until 12:07
	// 12:03 hard until 12:08
	// 12:10 soft until 12:13
}

// The entry of size 4 is covered by that of size 2, which lasts longer.
func ExampleMerge() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	primary := taint.Path{Cluster: "primary", Priority: 100}
	s := taint.Merge(
		taint.Set{{primary, taint.Workload{Class: "team-a", Size: 4}, noon.Add(3 * time.Minute)}},
		taint.Set{{primary, taint.Workload{Class: "team-a", Size: 2}, noon.Add(5 * time.Minute)}},
	)
	for _, size := range []int32{1, 2, 9} {
		fmt.Println(size, s.Excludes(taint.Workload{Class: "team-a", Size: size}, primary, noon))
	}
	fmt.Println(len(s), "entry")
	// Output:
	// 1 false
	// 2 true
	// 9 true
	// 1 entry
}

func BenchmarkMerge(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := make(taint.Set, n)
			for i := range s {
				s[i] = taint.Entry{
					Path:     taint.Path{Cluster: fmt.Sprintf("member-%02d", i*37%64), Priority: 1},
					Workload: taint.Workload{Size: int32(i % 8)}, Until: at(i),
				}
			}
			s = taint.Merge(s)
			b.ReportAllocs()
			for b.Loop() {
				taint.Merge(s, s[:1])
			}
		})
	}
}
