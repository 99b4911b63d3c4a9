package rollout_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/rollout"
)

func revision(generation int64, hash string) rollout.Revision {
	return rollout.Revision{Generation: generation, TemplateHash: hash}
}

// Every combination of a policy, a current revision and a Job.
func TestEveryState(t *testing.T) {
	hashes := []string{"", "a", "b"}
	bools := []bool{false, true}
	states, chosen := 0, map[bool]int{}
	for strategy := range rollout.Strategy(5) {
		for _, only := range bools {
			for now := range 15 {
				for of := range 15 {
					for flags := range 8 {
						p := rollout.Policy{Strategy: strategy, TemplateOnly: only}
						current := revision(int64(now/3-1), hashes[now%3])
						j := rollout.Job{
							Revision:     revision(int64(of/3-1), hashes[of%3]),
							NeverStarted: bools[flags%2], Finished: bools[flags/2%2], Deleting: bools[flags/4],
						}
						got := p.Deletes(j, current)
						chosen[got]++
						if got != (whyNot(p, current, j) == "") {
							t.Fatalf("%+v of %+v under %+v: deleted: %v, though %q", j, current, p, got, whyNot(p, current, j))
						}
						states++
					}
				}
			}
		}
	}
	require.Equal(t, 5*2*15*15*8, states)
	require.Equal(t, 99, chosen[true])
}

// whyNot is the oracle: the first reason not to delete a Job, or "".
func whyNot(p rollout.Policy, now rollout.Revision, j rollout.Job) string {
	for _, rule := range []struct {
		reason  string
		applies bool
	}{
		{"outdated Jobs may finish", p.Strategy == rollout.Gradual},
		{"the strategy is unknown", p.Strategy > rollout.Drain},
		{"it has finished", j.Finished},
		{"it is being deleted", j.Deleting},
		{"its generation is unknown", j.Revision.Generation < 1},
		{"the current generation is unknown", now.Generation < 1},
		{"it is current", j.Revision.Generation == now.Generation},
		{"it is newer", j.Revision.Generation > now.Generation},
		{"its template is unknown", p.TemplateOnly && j.Revision.TemplateHash == ""},
		{"the current template is unknown", p.TemplateOnly && now.TemplateHash == ""},
		{"its template is current", p.TemplateOnly && j.Revision.TemplateHash == now.TemplateHash},
		{"it may have started", p.Strategy == rollout.Drain && !j.NeverStarted},
	} {
		if rule.applies {
			return rule.reason
		}
	}
	return ""
}

func TestParseStrategy(t *testing.T) {
	for name, want := range map[string]rollout.Strategy{
		"gradual": rollout.Gradual, "immediate": rollout.Immediate, "drain": rollout.Drain,
	} {
		got, err := rollout.ParseStrategy(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	got, err := rollout.ParseStrategy("default")
	require.NoError(t, err)
	require.Equal(t, rollout.Immediate, got)
	_, err = rollout.ParseStrategy("recreate")
	require.EqualError(t, err, `unknown rollout strategy "recreate"; use gradual, immediate (or default, which is the same) or drain`)
	for _, name := range []string{"", "Immediate", " drain", "Strategy(0)"} {
		got, err := rollout.ParseStrategy(name)
		require.Error(t, err, name)
		require.Zero(t, got)
	}
	require.Equal(t, "Strategy(3)", rollout.Strategy(3).String())
}

func TestParsePropagation(t *testing.T) {
	for name, want := range map[string]rollout.Propagation{
		"background": rollout.Background, "foreground": rollout.Foreground, "orphan": rollout.Orphan,
	} {
		got, err := rollout.ParsePropagation(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	_, err := rollout.ParsePropagation("Foreground")
	require.EqualError(t, err, `unknown Propagation "Foreground"; use background, foreground or orphan`)
	got, err := rollout.ParsePropagation("")
	require.Error(t, err)
	require.Zero(t, got)
	require.Equal(t, "Propagation(3)", rollout.Propagation(3).String())
}

func TestPolicyJSON(t *testing.T) {
	p := rollout.Policy{Strategy: rollout.Drain, Propagation: rollout.Orphan, TemplateOnly: true}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	require.JSONEq(t, `{"strategy":"drain","propagation":"orphan","templateOnly":true}`, string(data))
	var back rollout.Policy
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, p, back)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"strategy":"recreate"}`), &back), "unknown rollout strategy")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"propagation":"none"}`), &back), "unknown Propagation")
	require.Equal(t, p, back, "kept")
	require.NoError(t, json.Unmarshal([]byte(`{"strategy":"default"}`), &back))
	require.Equal(t, rollout.Immediate, back.Strategy)
}

func TestZeroPolicy(t *testing.T) {
	require.Equal(t, rollout.Policy{}, rollout.Policy{Strategy: rollout.Gradual, Propagation: rollout.Background})
	require.Equal(t, rollout.Policy{Strategy: rollout.Immediate, Propagation: rollout.Background}, rollout.DefaultPolicy())
}

// Generation 2 changed the polling interval, generation 3 the Job template.
func ExamplePolicy_Deletes() {
	running := rollout.Job{Revision: rollout.Revision{Generation: 1, TemplateHash: "5f1c"}}
	pending := running
	pending.NeverStarted = true
	for _, current := range []rollout.Revision{{Generation: 2, TemplateHash: "5f1c"}, {Generation: 3, TemplateHash: "a07b"}} {
		for _, p := range []rollout.Policy{
			{Strategy: rollout.Gradual},
			{Strategy: rollout.Drain},
			{Strategy: rollout.Immediate},
			{Strategy: rollout.Immediate, TemplateOnly: true},
		} {
			fmt.Println(current.Generation, p.Strategy, p.TemplateOnly, p.Deletes(running, current), p.Deletes(pending, current))
		}
	}
	// Output:
	// 2 gradual false false false
	// 2 drain false false true
	// 2 immediate false true true
	// 2 immediate true false false
	// 3 gradual false false false
	// 3 drain false false true
	// 3 immediate false true true
	// 3 immediate true true true
}

func BenchmarkDeletes(b *testing.B) {
	p, j := rollout.DefaultPolicy(), rollout.Job{Revision: revision(1, "a")}
	b.ReportAllocs()
	for b.Loop() {
		p.Deletes(j, revision(2, "b"))
	}
}
