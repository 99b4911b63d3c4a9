package history_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestKeepsTheNewest(t *testing.T) {
	premise.Check(t, propKeepsTheNewest, premise.Least{"chosen": 0.3, "kept beside chosen": 0.2, "a tie of times": 0.09})
}
func FuzzKeepsTheNewest(f *testing.F) { premise.Fuzz(f, propKeepsTheNewest) }

func TestIdempotent(t *testing.T) {
	premise.Check(t, propIdempotent, premise.Least{"chosen": 0.3})
}
func FuzzIdempotent(f *testing.F) { premise.Fuzz(f, propIdempotent) }

func TestOrderOfJobs(t *testing.T) {
	premise.Check(t, propOrderOfJobs, premise.Least{"another order": 0.3})
}
func FuzzOrderOfJobs(f *testing.F) { premise.Fuzz(f, propOrderOfJobs) }

func TestDeletingIsNothing(t *testing.T) {
	premise.Check(t, propDeletingIsNothing, premise.Least{"chosen beside others": 0.25})
}
func FuzzDeletingIsNothing(f *testing.F) { premise.Fuzz(f, propDeletingIsNothing) }

func TestArguments(t *testing.T) {
	premise.Check(t, propArguments, premise.Least{"chosen": 0.3})
}
func FuzzArguments(f *testing.F) { premise.Fuzz(f, propArguments) }

// Near the two ends of what a time can hold.
var (
	dawn = time.Unix(math.MinInt64, 0)
	dusk = time.Unix(math.MaxInt64-62_135_596_800, 999_999_999)
)

// drawJobs draws Jobs of few names and few times, so that ties are common, and of
// times so far apart that no Duration holds their distance.
func drawJobs(t *rapid.T) []history.Job {
	finished := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 12), at),
		rapid.Map(rapid.Int64(), func(n int64) time.Time { return time.Unix(0, n) }),
		rapid.Map(rapid.Int64(), func(s int64) time.Time { return time.Unix(s, 0) }),
		rapid.SampledFrom([]time.Time{{}, dawn, dusk, dusk.Add(-1), at(3).In(time.FixedZone("east", 3600))}),
	)
	job := rapid.Custom(func(t *rapid.T) history.Job {
		return history.Job{
			Name:     rapid.StringMatching(`[a-d]{0,2}`).Draw(t, "name"),
			Outcome:  rapid.SampledFrom([]history.Outcome{"", history.Succeeded, history.Failed, "lost"}).Draw(t, "outcome"),
			Deleting: rapid.IntRange(0, 4).Draw(t, "deleting") == 0,
			Finished: finished.Draw(t, "finished"),
		}
	})
	return rapid.OneOf(rapid.SliceOf(job), rapid.SliceOfN(job, 20, 60)).Draw(t, "jobs")
}

func drawPolicy(t *rapid.T) history.Policy {
	limit := func(name string) *int64 {
		n := rapid.OneOf(rapid.Int64Range(-2, 20), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64})).Draw(t, name)
		if n == -1 {
			return nil
		}
		return history.Keep(n)
	}
	return history.Policy{Succeeded: limit("succeeded"), Failed: limit("failed")}
}

// without returns the Jobs that are not chosen.
func without(jobs []history.Job, chosen []history.Deletion) []history.Job {
	var rest []history.Job
	for i, j := range jobs {
		if !slices.ContainsFunc(chosen, func(d history.Deletion) bool { return d.Index == i }) {
			rest = append(rest, j)
		}
	}
	return rest
}

// of returns the Jobs of an outcome that are not being deleted.
func of(outcome history.Outcome, jobs []history.Job) []history.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j history.Job) bool { return j.Outcome != outcome || j.Deleting })
}

// older reports whether a goes before b.
func older(a, b history.Job) bool {
	if a.Finished.Equal(b.Finished) {
		return a.Name < b.Name
	}
	return a.Finished.Before(b.Finished)
}

// Of each outcome as many are left as the limit says, none of them older than one
// that goes, and nothing else is touched.
func propKeepsTheNewest(t *rapid.T, c *premise.Counts) {
	jobs, policy := drawJobs(t), drawPolicy(t)
	chosen := decide(policy, jobs)
	left := without(jobs, chosen)
	if len(left)+len(chosen) != len(jobs) {
		t.Fatalf("of %d Jobs %v: %d left", len(jobs), chosen, len(left))
	}
	touched := 0
	for outcome, limit := range map[history.Outcome]*int64{
		history.Succeeded: policy.Succeeded, history.Failed: policy.Failed,
	} {
		had, kept := of(outcome, jobs), of(outcome, left)
		touched += len(had) - len(kept)
		want := len(had)
		if limit != nil {
			want = int(min(max(0, *limit), int64(want)))
		}
		if len(kept) != want {
			t.Fatalf("limit %v: %d of %d %v left", policy, len(kept), len(had), outcome)
		}
		for _, d := range chosen {
			i := d.Index
			for _, k := range kept {
				if jobs[i].Outcome == outcome && older(k, jobs[i]) {
					t.Fatalf("%v goes, %v stays", jobs[i], k)
				}
			}
		}
	}
	if touched != len(chosen) {
		t.Fatalf("%v: only %d have an outcome and are not being deleted", chosen, touched)
	}
	kept := len(of(history.Succeeded, left)) + len(of(history.Failed, left))
	c.Note("chosen", touched > 0)
	c.Note("kept beside chosen", touched > 0 && kept > 0)
	c.Note("a tie of times", slices.ContainsFunc(chosen, func(d history.Deletion) bool {
		return slices.ContainsFunc(left, func(k history.Job) bool {
			return k.Finished.Equal(jobs[d.Index].Finished) && k.Outcome == jobs[d.Index].Outcome
		})
	}))
}

// Once the chosen are on their way out, or gone, no more are chosen.
func propIdempotent(t *rapid.T, c *premise.Counts) {
	jobs, policy := drawJobs(t), drawPolicy(t)
	chosen := decide(policy, jobs)
	if again := decide(policy, without(jobs, chosen)); again != nil {
		t.Fatalf("when they are gone: %v", again)
	}
	for _, d := range chosen {
		jobs[d.Index].Deleting = true
	}
	if again := decide(policy, jobs); again != nil {
		t.Fatalf("while they go: %v", again)
	}
	c.Note("chosen", len(chosen) > 0)
}

// The same names are chosen, in the same order, however the Jobs are listed.
func propOrderOfJobs(t *rapid.T, c *premise.Counts) {
	jobs, policy := drawJobs(t), drawPolicy(t)
	other := rapid.Permutation(jobs).Draw(t, "other")
	c.Note("another order", !slices.Equal(decide(policy, other), decide(policy, jobs)))
	got, want := names(other, decide(policy, other)), names(jobs, decide(policy, jobs))
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// Jobs that are being deleted make no difference, and neither do unfinished ones.
func propDeletingIsNothing(t *rapid.T, c *premise.Counts) {
	jobs, policy := drawJobs(t), drawPolicy(t)
	rest := slices.DeleteFunc(slices.Clone(jobs), func(j history.Job) bool {
		return j.Deleting || j.Outcome == ""
	})
	got, want := names(jobs, decide(policy, jobs)), names(rest, decide(policy, rest))
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, without them %v", got, want)
	}
	c.Note("chosen beside others", len(want) > 0 && len(rest) < len(jobs))
}

// The Jobs are as they were, and asked twice the answer is the same, in memory of
// its own.
func propArguments(t *rapid.T, c *premise.Counts) {
	jobs, policy := drawJobs(t), drawPolicy(t)
	before := slices.Clone(jobs)
	first := decide(policy, jobs)
	want := slices.Clone(first)
	for i := range first {
		first[i].Index = -1
	}
	if again := decide(policy, jobs); !slices.Equal(again, want) {
		t.Fatalf("%v, then %v", want, again)
	}
	if !slices.Equal(before, jobs) {
		t.Fatalf("%v became %v", before, jobs)
	}
	c.Note("chosen", len(want) > 0)
}
