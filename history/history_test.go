package history_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
)

func at(minute int) time.Time {
	return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
}

func names(jobs []history.Job, chosen []int) []string {
	var s []string
	for _, i := range chosen {
		s = append(s, jobs[i].Name)
	}
	return s
}

func TestChoose(t *testing.T) {
	s := func(name string, minute int) history.Job {
		return history.Job{Name: name, Outcome: history.Succeeded, Finished: at(minute)}
	}
	f := func(name string, minute int) history.Job {
		return history.Job{Name: name, Outcome: history.Failed, Finished: at(minute)}
	}
	deleting := s("gone", 0)
	deleting.Deleting = true
	for _, tt := range []struct {
		name   string
		limits history.Limits
		jobs   []history.Job
		want   []string
	}{
		{"no limits keep all", history.Limits{}, []history.Job{s("a", 1), f("b", 2)}, nil},
		{"as many as the limit", history.Limits{Succeeded: history.Keep(2)}, []history.Job{s("a", 1), s("b", 2)}, nil},
		{"the oldest goes", history.Limits{Succeeded: history.Keep(2)}, []history.Job{s("a", 37), s("b", 36), s("c", 38)}, []string{"b"}},
		{"outcomes apart, succeeded first", history.Limits{Succeeded: history.Keep(1), Failed: history.Keep(1)},
			[]history.Job{f("f1", 1), s("s2", 2), f("f0", 0), s("s1", 1), f("f9", 9)}, []string{"s1", "f0", "f1"}},
		{"ties by name", history.Limits{Failed: history.Keep(1)}, []history.Job{f("b", 1), f("c", 1), f("a", 1)}, []string{"a", "b"}},
		{"0 keeps none", history.Limits{Failed: history.Keep(0)}, []history.Job{s("a", 1), f("b", 2)}, []string{"b"}},
		{"negative is 0", history.Limits{Failed: history.Keep(-3)}, []history.Job{f("b", 2)}, []string{"b"}},
		{"deleting is neither chosen nor kept", history.Limits{Succeeded: history.Keep(1)}, []history.Job{deleting, s("a", 1)}, nil},
		{"unfinished is never chosen", history.Limits{history.Keep(0), history.Keep(0)}, []history.Job{{Name: "runs"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, names(tt.jobs, history.Choose(tt.limits, tt.jobs)))
		})
	}
}

func TestFinished(t *testing.T) {
	require.Equal(t, at(1), history.Times{Completion: at(1), Failure: at(2), Creation: at(3)}.Finished())
	require.Equal(t, at(2), history.Times{Failure: at(2), Creation: at(3)}.Finished())
	require.Equal(t, at(3), history.Times{Creation: at(3)}.Finished())
	require.True(t, history.Times{}.Finished().IsZero())
}

func TestText(t *testing.T) {
	require.Equal(t, "3 succeeded, all failed", history.Limits{Succeeded: history.Keep(3)}.String())
	n, ok := history.Keep(0).Value()
	require.True(t, ok)
	require.Zero(t, n)
	_, ok = history.Limit{}.Value()
	require.False(t, ok)
}

func drawJobs(t *rapid.T) []history.Job {
	n := rapid.IntRange(0, 40).Draw(t, "n")
	jobs := make([]history.Job, n)
	for i := range jobs {
		jobs[i] = history.Job{
			Name:     fmt.Sprintf("job-%02d", i),
			Outcome:  history.Outcome(rapid.IntRange(0, 2).Draw(t, "outcome")),
			Deleting: rapid.IntRange(0, 4).Draw(t, "deleting") == 0,
			Finished: rapid.OneOf(
				rapid.Map(rapid.IntRange(0, 12), at),
				rapid.Map(rapid.Int64(), func(n int64) time.Time { return time.Unix(0, n) }),
				rapid.Just(time.Time{}),
				rapid.Just(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)),
			).Draw(t, "finished"),
		}
	}
	return rapid.Permutation(jobs).Draw(t, "order")
}

func drawLimits(t *rapid.T) history.Limits {
	limit := func(name string) history.Limit {
		if n := rapid.IntRange(-1, 20).Draw(t, name); n >= 0 {
			return history.Keep(n)
		}
		return history.Limit{}
	}
	return history.Limits{Succeeded: limit("succeeded"), Failed: limit("failed")}
}

// oracle sorts all of an outcome and cuts.
func oracle(limit history.Limit, outcome history.Outcome, jobs []history.Job) []string {
	var of []history.Job
	for _, j := range jobs {
		if j.Outcome == outcome && !j.Deleting {
			of = append(of, j)
		}
	}
	sort.Slice(of, func(i, j int) bool {
		if !of[i].Finished.Equal(of[j].Finished) {
			return of[i].Finished.Before(of[j].Finished)
		}
		return of[i].Name < of[j].Name
	})
	keep, limited := limit.Value()
	var gone []string
	for i, j := range of {
		if limited && i < len(of)-keep {
			gone = append(gone, j.Name)
		}
	}
	return gone
}

// Equals the oracle, in whatever order the Jobs come; changes nothing; and once
// the chosen are gone, or on their way out, chooses no more.
func propChoose(t *rapid.T) {
	jobs, limits := drawJobs(t), drawLimits(t)
	before := slices.Clone(jobs)
	chosen := history.Choose(limits, jobs)
	if !slices.Equal(before, jobs) {
		t.Fatal("the Jobs were changed")
	}
	want := append(oracle(limits.Succeeded, history.Succeeded, jobs), oracle(limits.Failed, history.Failed, jobs)...)
	if got := names(jobs, chosen); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	deleting := slices.Clone(jobs)
	for _, i := range chosen {
		deleting[i].Deleting = true
	}
	if again := history.Choose(limits, deleting); again != nil {
		t.Fatalf("again: %v", names(jobs, again))
	}
	gone := slices.DeleteFunc(deleting, func(j history.Job) bool { return j.Deleting })
	if again := history.Choose(limits, gone); again != nil {
		t.Fatalf("once they are gone: %v", names(gone, again))
	}
	for outcome, limit := range map[history.Outcome]history.Limit{history.Succeeded: limits.Succeeded, history.Failed: limits.Failed} {
		left, had := count(gone, outcome), count(before, outcome)
		if keep, limited := limit.Value(); limited && left != min(keep, had) || !limited && left != had {
			t.Fatalf("limit %v: %d of %d left", limit, left, had)
		}
	}
}

// count counts those of an outcome that are not being deleted.
func count(jobs []history.Job, outcome history.Outcome) int {
	n := 0
	for _, j := range jobs {
		if j.Outcome == outcome && !j.Deleting {
			n++
		}
	}
	return n
}

func TestProperties(t *testing.T) { rapid.Check(t, propChoose) }
func FuzzChoose(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(propChoose)) }

func finished(n int) []history.Job {
	random := rand.New(rand.NewPCG(1, 2))
	jobs := make([]history.Job, n)
	for i := range jobs {
		jobs[i] = history.Job{
			Name: fmt.Sprintf("consumer-%06d", i), Outcome: history.Succeeded,
			Finished: at(0).Add(time.Duration(random.IntN(30*24*3600)) * time.Second),
		}
	}
	return jobs
}

func TestAllocations(t *testing.T) {
	jobs := finished(1000)
	for keep, want := range map[int]float64{1000: 0, 990: 1, 100: 1} {
		limits := history.Limits{Succeeded: history.Keep(keep)}
		require.Equal(t, want, testing.AllocsPerRun(10, func() { history.Choose(limits, jobs) }), "keep %d", keep)
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		jobs := finished(n)
		for _, k := range []int{0, 10, n - 100} {
			b.Run(fmt.Sprintf("n=%d/delete=%d", n, k), func(b *testing.B) {
				limits := history.Limits{Succeeded: history.Keep(n - k)}
				b.ReportAllocs()
				for b.Loop() {
					history.Choose(limits, jobs)
				}
			})
		}
	}
}

func ExampleChoose() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	jobs := []history.Job{
		{Name: "c", Outcome: history.Succeeded, Finished: noon.Add(2 * time.Minute)},
		{Name: "a", Outcome: history.Succeeded, Finished: noon},
		{Name: "b", Outcome: history.Failed, Finished: noon.Add(time.Minute)},
		{Name: "d", Outcome: history.Succeeded, Finished: noon.Add(3 * time.Minute)},
	}
	limits := history.Limits{Succeeded: history.Keep(1), Failed: history.Keep(1)}
	for _, i := range history.Choose(limits, jobs) {
		fmt.Println("delete", jobs[i].Name)
	}
	// Output:
	// delete a
	// delete c
}
