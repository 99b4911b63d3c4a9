package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/rollout"
)

var policies = []rollout.Policy{
	{},
	{TemplateOnly: true},
	{Strategy: rollout.Immediate},
	{Strategy: rollout.Immediate, TemplateOnly: true},
	{Strategy: rollout.Drain},
	{Strategy: rollout.Drain, TemplateOnly: true},
	{Strategy: 9},
}

// Every combination of a policy, a revision and a Job, each rule told apart.
func TestEveryState(t *testing.T) {
	hashes := []string{"", "a", "b"}
	states := 0
	for _, p := range policies {
		for generation := int64(-1); generation <= 3; generation++ {
			for current := int64(-1); current <= 3; current++ {
				for i := range 3 * 3 * 2 * 2 * 2 {
					j := rollout.Job{
						Revision:     rollout.Revision{generation, hashes[i%3]},
						NeverStarted: i/9%2 == 1, Finished: i/18%2 == 1, Deleting: i/36%2 == 1,
					}
					now := rollout.Revision{current, hashes[i/3%3]}
					want := allowed(p, j, now)
					got := rollout.Choose(p, now, []rollout.Job{j}) != nil
					require.Equal(t, want, got, "%+v: %+v of %+v", p, j, now)
					states++
				}
			}
		}
	}
	require.Equal(t, 7*5*5*72, states)
}

// allowed strikes out whatever must not be touched.
func allowed(p rollout.Policy, j rollout.Job, now rollout.Revision) bool {
	no := map[string]bool{
		"gradual, or no strategy we know": p.Strategy == rollout.Gradual || p.Strategy > rollout.Drain,
		"history's":                       j.Finished,
		"deleted already":                 j.Deleting,
		"of no generation":                j.Revision.Generation < 1,
		"of this generation":              j.Revision.Generation == now.Generation,
		"of a newer generation":           j.Revision.Generation > now.Generation,
		"of an unknown template":          p.TemplateOnly && (j.Revision.TemplateHash == "" || now.TemplateHash == ""),
		"of this template":                p.TemplateOnly && j.Revision.TemplateHash == now.TemplateHash,
		"at work":                         p.Strategy == rollout.Drain && !j.NeverStarted,
	}
	for _, struck := range no {
		if struck {
			return false
		}
	}
	return true
}

func drawRevision(t *rapid.T) rollout.Revision {
	return rollout.Revision{
		Generation:   rapid.Int64Range(-1, 4).Draw(t, "generation"),
		TemplateHash: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "hash"),
	}
}

// Each Job is judged by itself and in order; drain deletes no more than
// immediate, and TemplateOnly no more than without; nothing is changed, and what
// is being deleted is not chosen again.
func propChoose(t *rapid.T) {
	jobs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) rollout.Job {
		return rollout.Job{
			Revision: drawRevision(t), NeverStarted: rapid.Bool().Draw(t, "never started"),
			Finished: rapid.Bool().Draw(t, "finished"), Deleting: rapid.Bool().Draw(t, "deleting"),
		}
	})).Draw(t, "jobs")
	now := drawRevision(t)
	before := slices.Clone(jobs)
	chosen := map[rollout.Policy][]int{}
	for _, p := range policies {
		chosen[p] = rollout.Choose(p, now, jobs)
		for i, j := range jobs {
			alone := rollout.Choose(p, now, []rollout.Job{j}) != nil
			if alone != slices.Contains(chosen[p], i) {
				t.Fatalf("%+v: Job %d alone: %v", p, i, alone)
			}
		}
		if !slices.IsSorted(chosen[p]) {
			t.Fatalf("%+v: %v", p, chosen[p])
		}
		rest := slices.Clone(jobs)
		for _, i := range chosen[p] {
			rest[i].Deleting = true
		}
		if again := rollout.Choose(p, now, rest); again != nil {
			t.Fatalf("%+v: again %v", p, again)
		}
	}
	if !slices.Equal(before, jobs) {
		t.Fatal("the Jobs were changed")
	}
	for p, some := range chosen {
		all := chosen[rollout.Policy{Strategy: rollout.Immediate}]
		for _, i := range some {
			if !slices.Contains(all, i) {
				t.Fatalf("%+v: chose %d, immediate does not", p, i)
			}
		}
	}
}

func TestProperties(t *testing.T) { rapid.Check(t, propChoose) }
func FuzzChoose(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(propChoose)) }

func TestParse(t *testing.T) {
	for name, want := range map[string]rollout.Strategy{
		"default": rollout.Immediate, "immediate": rollout.Immediate, "gradual": rollout.Gradual, "drain": rollout.Drain,
	} {
		got, err := rollout.ParseStrategy(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := rollout.ParseStrategy("recreate")
	require.EqualError(t, err, `unknown rollout strategy "recreate": want gradual, immediate (or default, which is the same) or drain`)
	for _, p := range []rollout.Propagation{rollout.Background, rollout.Foreground, rollout.Orphan} {
		got, err := rollout.ParsePropagation(p.String())
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	_, err = rollout.ParsePropagation("Foreground")
	require.EqualError(t, err, `unknown propagation policy "Foreground": want background, foreground or orphan`)
	require.Equal(t, "drain", rollout.Drain.String())
	require.Equal(t, "Strategy(9)", rollout.Strategy(9).String())
}

func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		jobs := make([]rollout.Job, n)
		for i := range jobs {
			jobs[i].Revision = rollout.Revision{Generation: 2, TemplateHash: "a"}
		}
		b.Run(fmt.Sprintf("n=%d/delete=0", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rollout.Choose(rollout.DefaultPolicy(), rollout.Revision{Generation: 2, TemplateHash: "a"}, jobs)
			}
		})
	}
}

func ExampleChoose() {
	jobs := []rollout.Job{
		{Revision: rollout.Revision{Generation: 1}},
		{Revision: rollout.Revision{Generation: 1}, NeverStarted: true},
		{Revision: rollout.Revision{Generation: 2}},
		{}, // nobody knows what it was made from
	}
	now := rollout.Revision{Generation: 2}
	for _, s := range []rollout.Strategy{rollout.Gradual, rollout.Immediate, rollout.Drain} {
		fmt.Println(s, rollout.Choose(rollout.Policy{Strategy: s}, now, jobs))
	}
	// Output:
	// gradual []
	// immediate [0 1]
	// drain [1]
}
