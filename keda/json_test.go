package keda_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/keda"
	"github.com/scaledjob/scaledjob/test/premise"
)

// A profile reads back from its JSON, with any rule of any behavior replaced.
func TestProfileJSON(t *testing.T) {
	check := func(p keda.Profile) string {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		var back keda.Profile
		require.NoError(t, json.Unmarshal(data, &back), "%s", data)
		require.Equal(t, p, back, "%s", data)
		return string(data)
	}
	for _, name := range keda.Releases() {
		p := release(t, name)
		require.JSONEq(t, `{"release":"`+name+`"}`, check(p))
		all := p
		for _, r := range keda.Rules() {
			check(p.With(r))
			all = all.With(r)
			check(all)
		}
	}
	require.JSONEq(t, `{"release":"2.0.0"}`, check(keda.Profile{}))
	require.JSONEq(t, `{"release":"2.17.3","rules":{"accurate":"2.19"}}`, check(release(t, "2.17").With(keda.Newest().Rule("accurate"))))

	p := keda.Newest()
	for data, want := range map[string]string{
		`{"release":"3.0"}`: `unknown KEDA release "3.0"; use 2.0 to 2.21, or a patch such as 2.21.0`,
		`{}`:                `unknown KEDA release ""; use 2.0`,
		`"2.18"`:            `cannot unmarshal string`,
		`{"release":"2.18","rules":{"accurate":"2.18"}}`:  `rules[accurate]: found "2.18"; use 2.0, 2.1, 2.19`,
		`{"release":"2.18","rules":{"accurately":"2.1"}}`: `rules: found "accurately"; use a behavior`,
	} {
		require.ErrorContains(t, json.Unmarshal([]byte(data), &p), want)
		require.Equal(t, keda.Newest(), p, "kept")
	}
	require.NoError(t, json.Unmarshal([]byte(`{"release":"v2.8"}`), &p))
	require.Equal(t, release(t, "2.8.2"), p)
}

func TestJSON(t *testing.T) {
	premise.Check(t, propJSON, premise.Least{"an infinite number in a decision": 0.01, "an infinite number in a poll": 0.05,
		"a NaN in a decision": 0.01, "a NaN in a poll": 0.05, "a strategy is asked": 0.3})
}
func FuzzJSON(f *testing.F) { premise.Fuzz(f, propJSON) }

// Every decision has a JSON form, whatever its numbers. A poll that is read back
// from its form gets the same decision.
func propJSON(t *rapid.T, c *premise.Counts) {
	p, j, s := drawProfile(t), drawScaledJob(t), drawState(t)
	d := p.Decide(j, s)
	var again keda.State
	reread(t, s, &again)
	require.Equal(t, d.String(), p.Decide(j, again).String())
	decision, err := json.Marshal(d)
	require.NoError(t, err)
	poll, err := json.Marshal(s)
	require.NoError(t, err)
	c.Note("an infinite number in a decision", bytes.Contains(decision, []byte(`Inf"`)))
	c.Note("an infinite number in a poll", bytes.Contains(poll, []byte(`Inf"`)))
	c.Note("a NaN in a decision", bytes.Contains(decision, []byte(`"NaN"`)))
	c.Note("a NaN in a poll", bytes.Contains(poll, []byte(`"NaN"`)))
	c.Note("a strategy is asked", d.Asked)
}

func reread(t *rapid.T, v, back any) {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, back), "%s", data)
	again, err := json.Marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))
}

func ExampleDecision() {
	job := keda.ScaledJob{Spec: keda.Spec{
		MaxReplicaCount: new(int32(20)),
		ScalingStrategy: keda.ScalingStrategy{Strategy: "accurate"},
	}}
	release, err := keda.Release("2.18")
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	_ = out.Encode(release.Decide(&job, keda.State{
		Scalers: []keda.Scaler{{QueueLength: 15, Target: 1}},
		Running: 15, Pending: 15,
	}))
	// Output:
	// {
	//   "create": 5,
	//   "reason": "Strategy",
	//   "profile": {
	//     "release": "2.18.3"
	//   },
	//   "replicas": {
	//     "min": 0,
	//     "queueMax": 20,
	//     "fault": "none"
	//   },
	//   "demand": {
	//     "scalers": 1,
	//     "failed": 0,
	//     "active": true,
	//     "queue": 15,
	//     "uncapped": 15,
	//     "jobs": 15,
	//     "queueLength": 15,
	//     "maxScale": 15,
	//     "fault": "none"
	//   },
	//   "jobsUnknown": false,
	//   "running": 15,
	//   "pending": 15,
	//   "asked": true,
	//   "strategy": "accurate: T + R > M ? M - R : T - P",
	//   "load": {
	//     "target": 15,
	//     "running": 15,
	//     "pending": 15,
	//     "stuck": 0,
	//     "max": 20
	//   },
	//   "effectiveMaxScale": 5,
	//   "scaleTo": 15,
	//   "fault": "none"
	// }
}
