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
	states, chosen, reasons := 0, map[bool]int{}, map[rollout.Reason]int{}
	for strategy := range rollout.Strategy(5) {
		for _, every := range bools {
			for now := range 15 {
				for of := range 15 {
					for flags := range 16 {
						p := rollout.Policy{Strategy: strategy, EveryEdit: every}
						current := revision(int64(now/3-1), hashes[now%3])
						j := rollout.Job{
							Revision:     revision(int64(of/3-1), hashes[of%3]),
							NeverStarted: bools[flags%2], Finished: bools[flags/2%2], Deleting: bools[flags/4%2],
						}
						o := rollout.Observation{Job: j, Current: current, PodsUnknown: bools[flags/8]}
						got := rollout.Decide(p, o)
						chosen[got.Delete]++
						reasons[got.Reason]++
						if want := expected(p, o); got.Reason != want || got.Delete != (want == rollout.ReasonOutdated) {
							t.Fatalf("%+v under %+v: %v, want %v", o, p, got, want)
						}
						states++
					}
				}
			}
		}
	}
	require.Equal(t, 5*2*15*15*16, states)
	require.Equal(t, 198, chosen[true])
	require.Len(t, reasons, 11, "each reason is given")
	for reason := range reasons {
		require.NotEqual(t, string(reason), reason.Text())
	}
}

// expected is the oracle: the first reason that applies.
func expected(p rollout.Policy, o rollout.Observation) rollout.Reason {
	j, r, now := o.Job, o.Job.Revision, o.Current
	for _, rule := range []struct {
		reason  rollout.Reason
		applies bool
	}{
		{rollout.ReasonGradual, p.Strategy == rollout.Gradual},
		{rollout.ReasonStrategyUnknown, p.Strategy > rollout.Drain},
		{rollout.ReasonFinished, j.Finished},
		{rollout.ReasonDeleting, j.Deleting},
		{rollout.ReasonRevisionUnknown, r.Generation < 1},
		{rollout.ReasonRevisionUnknown, now.Generation < 1},
		{rollout.ReasonCurrent, r.Generation == now.Generation},
		{rollout.ReasonNewer, r.Generation > now.Generation},
		{rollout.ReasonRevisionUnknown, !p.EveryEdit && (r.TemplateHash == "" || now.TemplateHash == "")},
		{rollout.ReasonSameTemplate, !p.EveryEdit && r.TemplateHash == now.TemplateHash},
		{rollout.ReasonPodsUnknown, p.Strategy == rollout.Drain && !j.NeverStarted && o.PodsUnknown},
		{rollout.ReasonStarted, p.Strategy == rollout.Drain && !j.NeverStarted},
	} {
		if rule.applies {
			return rule.reason
		}
	}
	return rollout.ReasonOutdated
}

func TestValidate(t *testing.T) {
	require.NoError(t, rollout.Policy{}.Validate())
	require.NoError(t, rollout.Policy{Strategy: rollout.Drain, Propagation: rollout.Orphan}.Validate())
	require.EqualError(t, rollout.Policy{Strategy: 3, Propagation: 3}.Validate(),
		"Strategy: found Strategy(3); use Gradual, Immediate or Drain\nPropagation: found Propagation(3); use Background, Foreground or Orphan")
	require.EqualError(t, rollout.Policy{EveryEdit: true, Propagation: rollout.Orphan}.Warnings(),
		"EveryEdit: found true; use false: gradual deletes no outdated Job\nPropagation: found orphan; use no value: gradual deletes no outdated Job")
	require.NoError(t, rollout.Policy{Strategy: rollout.Drain, EveryEdit: true, Propagation: rollout.Orphan}.Warnings())
}

func parseStrategy(name string) (s rollout.Strategy, err error) {
	err = s.UnmarshalText([]byte(name))
	return s, err
}

func parsePropagation(name string) (p rollout.Propagation, err error) {
	err = p.UnmarshalText([]byte(name))
	return p, err
}

func TestParseStrategy(t *testing.T) {
	for name, want := range map[string]rollout.Strategy{
		"gradual": rollout.Gradual, "immediate": rollout.Immediate, "drain": rollout.Drain,
	} {
		got, err := parseStrategy(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	got, err := parseStrategy("default")
	require.NoError(t, err)
	require.Equal(t, rollout.Immediate, got)
	_, err = parseStrategy("recreate")
	require.EqualError(t, err, `unknown rollout strategy "recreate"; use gradual, immediate (or default, which is the same) or drain`)
	for _, name := range []string{"", "Immediate", " drain", "Strategy(0)"} {
		got, err := parseStrategy(name)
		require.Error(t, err, name)
		require.Zero(t, got)
	}
	require.Equal(t, "Strategy(3)", rollout.Strategy(3).String())
}

func TestParsePropagation(t *testing.T) {
	for name, want := range map[string]rollout.Propagation{
		"background": rollout.Background, "foreground": rollout.Foreground, "orphan": rollout.Orphan,
	} {
		got, err := parsePropagation(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, name, got.String())
	}
	_, err := parsePropagation("Foreground")
	require.EqualError(t, err, `found "Foreground"; use background, foreground or orphan`)
	got, err := parsePropagation("")
	require.Error(t, err)
	require.Zero(t, got)
	require.Equal(t, "Propagation(3)", rollout.Propagation(3).String())
}

func TestPolicyJSON(t *testing.T) {
	p := rollout.Policy{Strategy: rollout.Drain, Propagation: rollout.Orphan, EveryEdit: true}
	data, err := json.Marshal(p)
	require.NoError(t, err)
	require.JSONEq(t, `{"strategy":"drain","propagation":"orphan","everyEdit":true}`, string(data))
	var back rollout.Policy
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, p, back)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"strategy":"recreate"}`), &back), "unknown rollout strategy")
	require.ErrorContains(t, json.Unmarshal([]byte(`{"propagation":"none"}`), &back), "; use background, foreground or orphan")
	require.Equal(t, p, back, "kept")
	require.NoError(t, json.Unmarshal([]byte(`{"strategy":"default"}`), &back))
	require.Equal(t, rollout.Immediate, back.Strategy)
}

func TestZeroPolicy(t *testing.T) {
	require.Equal(t, rollout.Policy{}, rollout.Policy{Strategy: rollout.Gradual, Propagation: rollout.Background})
	require.Equal(t, rollout.Policy{Strategy: rollout.Immediate, Propagation: rollout.Background}, rollout.DefaultPolicy())
}

// Generation 2 changed the polling interval, generation 3 the Job template.
func Example() {
	running := rollout.Job{Revision: rollout.Revision{Generation: 1, TemplateHash: "5f1c"}}
	pending := running
	pending.NeverStarted = true
	for _, current := range []rollout.Revision{{Generation: 2, TemplateHash: "5f1c"}, {Generation: 3, TemplateHash: "a07b"}} {
		for _, p := range []rollout.Policy{
			{Strategy: rollout.Gradual},
			{Strategy: rollout.Drain, EveryEdit: true},
			{Strategy: rollout.Immediate},
		} {
			fmt.Println(current.Generation, p.Strategy)
			fmt.Println("  running:", rollout.Decide(p, rollout.Observation{Job: running, Current: current}))
			fmt.Println("  pending:", rollout.Decide(p, rollout.Observation{Job: pending, Current: current}))
		}
	}
	// Output:
	// 2 gradual
	//   running: keep: outdated Jobs may finish
	//   pending: keep: outdated Jobs may finish
	// 2 drain
	//   running: keep: a pod of it has started, or may have
	//   pending: delete: it is outdated
	// 2 immediate
	//   running: keep: the Job template has not changed
	//   pending: keep: the Job template has not changed
	// 3 gradual
	//   running: keep: outdated Jobs may finish
	//   pending: keep: outdated Jobs may finish
	// 3 drain
	//   running: keep: a pod of it has started, or may have
	//   pending: delete: it is outdated
	// 3 immediate
	//   running: delete: it is outdated
	//   pending: delete: it is outdated
}

func BenchmarkDecide(b *testing.B) {
	p, j := rollout.DefaultPolicy(), rollout.Job{Revision: revision(1, "a")}
	b.ReportAllocs()
	for b.Loop() {
		rollout.Decide(p, rollout.Observation{Job: j, Current: revision(2, "b")})
	}
}
