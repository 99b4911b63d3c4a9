package rollout_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/rollout"
)

func TestNeverTouched(t *testing.T) { rapid.Check(t, propNeverTouched) }
func FuzzNeverTouched(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propNeverTouched)) }
func TestSubsets(t *testing.T)      { rapid.Check(t, propSubsets) }
func FuzzSubsets(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(propSubsets)) }
func TestEachByItself(t *testing.T) { rapid.Check(t, propEachByItself) }
func FuzzEachByItself(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propEachByItself)) }
func TestIdempotent(t *testing.T)   { rapid.Check(t, propIdempotent) }
func FuzzIdempotent(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propIdempotent)) }
func TestOrderOfJobs(t *testing.T)  { rapid.Check(t, propOrderOfJobs) }
func FuzzOrderOfJobs(f *testing.F)  { f.Fuzz(rapid.MakeFuzz(propOrderOfJobs)) }
func TestArguments(t *testing.T)    { rapid.Check(t, propArguments) }
func FuzzArguments(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(propArguments)) }

// drawRevision draws revisions that are mostly known.
func drawRevision(t *rapid.T, generations []int64) rollout.Revision {
	return rollout.Revision{
		Generation: rapid.OneOf(rapid.SampledFrom(generations), rapid.SampledFrom(generations),
			rapid.SampledFrom([]int64{math.MinInt64, -1, 0, math.MaxInt64 - 1, math.MaxInt64})).Draw(t, "generation"),
		TemplateHash: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "hash"),
	}
}

// drawInput draws any input, strategies that do not exist included, but mostly
// such that there is something to delete.
func drawInput(t *rapid.T) (rollout.Policy, rollout.Revision, []rollout.Job) {
	p := rollout.Policy{
		Strategy: rapid.SampledFrom([]rollout.Strategy{rollout.Immediate, rollout.Drain, rollout.Immediate, rollout.Drain,
			rollout.Gradual, 3, 255}).Draw(t, "strategy"),
		Propagation:  rollout.Propagation(rapid.IntRange(0, 3).Draw(t, "propagation")),
		TemplateOnly: rapid.Bool().Draw(t, "template only"),
	}
	job := rapid.Custom(func(t *rapid.T) rollout.Job {
		return rollout.Job{
			Revision: drawRevision(t, []int64{1, 2, 3, 4}), NeverStarted: rapid.Bool().Draw(t, "never started"),
			Finished: rapid.IntRange(0, 3).Draw(t, "finished") == 1, Deleting: rapid.IntRange(0, 3).Draw(t, "deleting") == 1,
		}
	})
	jobs := rapid.OneOf(rapid.SliceOf(job), rapid.SliceOfN(job, 10, 30)).Draw(t, "jobs")
	return p, drawRevision(t, []int64{2, 3, 4}), jobs
}

// What is chosen is unfinished, not on its way out, and of a known generation
// below the current one.
func propNeverTouched(t *rapid.T) {
	p, now, jobs := drawInput(t)
	for _, i := range rollout.Choose(p, now, jobs) {
		j := jobs[i]
		if j.Finished || j.Deleting || j.Revision.Generation < 1 || j.Revision.Generation >= now.Generation {
			t.Fatalf("%+v: chose %+v of %+v", p, j, now)
		}
	}
}

// Drain deletes no Job that immediate does not, TemplateOnly none that is not
// deleted without it, and gradual none at all.
func propSubsets(t *rapid.T) {
	p, now, jobs := drawInput(t)
	wider := func(change func(*rollout.Policy)) {
		w := p
		change(&w)
		all := rollout.Choose(w, now, jobs)
		for _, i := range rollout.Choose(p, now, jobs) {
			if !slices.Contains(all, i) {
				t.Fatalf("%+v chose %d, %+v only %v", p, i, w, all)
			}
		}
	}
	wider(func(w *rollout.Policy) { w.Strategy = rollout.Immediate })
	wider(func(w *rollout.Policy) { w.TemplateOnly = false })
	p.Strategy = rollout.Gradual
	if chosen := rollout.Choose(p, now, jobs); chosen != nil {
		t.Fatalf("%+v chose %v", p, chosen)
	}
}

// A Job is chosen among others if and only if it is chosen alone; the indexes
// ascend.
func propEachByItself(t *rapid.T) {
	p, now, jobs := drawInput(t)
	var want []int
	for i, j := range jobs {
		if rollout.Choose(p, now, []rollout.Job{j}) != nil {
			want = append(want, i)
		}
	}
	if got := rollout.Choose(p, now, jobs); !slices.Equal(got, want) {
		t.Fatalf("%+v: %v, alone %v", p, got, want)
	}
}

// Once the chosen are on their way out, no more are chosen.
func propIdempotent(t *rapid.T) {
	p, now, jobs := drawInput(t)
	for _, i := range rollout.Choose(p, now, jobs) {
		jobs[i].Deleting = true
	}
	if again := rollout.Choose(p, now, jobs); again != nil {
		t.Fatalf("%+v: again %v", p, again)
	}
}

// The same Jobs are chosen however they are listed.
func propOrderOfJobs(t *rapid.T) {
	p, now, jobs := drawInput(t)
	places := make([]int, len(jobs))
	for i := range places {
		places[i] = i
	}
	places = rapid.Permutation(places).Draw(t, "places")
	other := make([]rollout.Job, len(jobs))
	for i, place := range places {
		other[i] = jobs[place]
	}
	var got []int
	for _, i := range rollout.Choose(p, now, other) {
		got = append(got, places[i])
	}
	slices.Sort(got)
	if want := rollout.Choose(p, now, jobs); !slices.Equal(got, want) {
		t.Fatalf("%+v: %v, in another order %v", p, want, got)
	}
}

// The Jobs are as they were; asked twice the answer is the same, and Propagation
// is no part of the question.
func propArguments(t *rapid.T) {
	p, now, jobs := drawInput(t)
	before := slices.Clone(jobs)
	first := rollout.Choose(p, now, jobs)
	want := slices.Clone(first)
	for i := range first {
		first[i] = -1
	}
	p.Propagation++
	if again := rollout.Choose(p, now, jobs); !slices.Equal(again, want) {
		t.Fatalf("%+v: %v, then %v", p, want, again)
	}
	if !slices.Equal(before, jobs) {
		t.Fatalf("%v became %v", before, jobs)
	}
}
