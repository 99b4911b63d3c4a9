package scaling_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/test/premise"
)

// roundTrip reads v from its JSON into back, which is returned as a value.
func roundTrip[T any](t require.TestingT, v T) (back T) {
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &back), "%s", data)
	return back
}

// Each value has a name, in JSON too, and there are no other names.
func testNames[E ~uint8](t *testing.T, names ...string) {
	var back E
	for i, want := range names {
		require.Equal(t, want, fmt.Sprint(E(i)))
		require.Equal(t, E(i), roundTrip(t, E(i)))
	}
	require.ErrorContains(t, json.Unmarshal([]byte(`"other"`), &back), "use "+names[0])
}

func TestNames(t *testing.T) {
	testNames[scaling.Aggregation](t, scaling.Aggregations()...)
	testNames[scaling.Activity](t, "byThreshold", "active", "inactive")
	testNames[scaling.MinMode](t, "additive", "floor")
}

func TestJSON(t *testing.T) {
	premise.Check(t, propJSON, premise.Least{"an infinite queue": 0.05, "no maximum": 0.05, "a strategy is asked": 0.3, "a value without a name": 0.3})
}
func FuzzJSON(f *testing.F) { premise.Fuzz(f, propJSON) }

// Every decision has a JSON form, and reads back from it if its values have
// names.
func propJSON(t *rapid.T, c *premise.Counts) {
	p := drawWild(t)
	odd := p
	odd.Metrics = slices.Clone(p.Metrics)
	nameless(t, &odd)
	for _, v := range []any{odd.Policy, odd.Observation, odd.decide()} {
		if _, err := json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	d := p.decide()
	same(t, d, roundTrip(t, d))
	require.Equal(t, p.Bounds, roundTrip(t, p.Bounds))
	require.Equal(t, fmt.Sprintf("%+v", p.Metrics), fmt.Sprintf("%+v", roundTrip(t, p.Observation).Metrics), "NaN is unequal to itself")
	require.Equal(t, p.Jobs, roundTrip(t, p.Observation).Jobs)
	c.Note("an infinite queue", math.IsInf(d.Trace.Demand.Queue, 1))
	c.Note("no maximum", d.Trace.Load.Max == scaling.NoMax)
	c.Note("a strategy is asked", d.Trace.Strategy != "")
	c.Note("a value without a name", odd.Aggregation != p.Aggregation || odd.Bounds.Mode != p.Bounds.Mode)
}

// The error of a policy names the field, its value and the fix.
func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"bounds":{"mode":"flor"}}`: `bounds.mode: found "flor"; use additive or floor`,
		`{"bounds":{"max":"ten"}}`:   `bounds.max: found "ten"; use a whole number or "unlimited"`,
		`{"aggregation":"median"}`:   `aggregation: found "median"; use max, min, avg or sum`,
	} {
		var p scaling.Policy
		require.EqualError(t, json.Unmarshal([]byte(text), &p), want)
		_, wrong := field.Decoder{}.Decode([]byte(text), &p)
		require.EqualError(t, wrong, want)
	}
}

// Without a maximum, nothing that depends on it has a number.
func TestUnlimited(t *testing.T) {
	p := scaling.Policy{Bounds: scaling.Bounds{Min: 2, Max: scaling.NoMax}, Strategy: strategy.Eager{}}
	d := scaling.Decide(p, scaling.Observation{Metrics: []scaling.Metric{{Value: 9, Target: 2}}, Jobs: &scaling.JobCounts{Running: 3, Terminating: 1}})
	require.Equal(t, int64(5), d.Create)
	data, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(data), "92233720")
	require.Contains(t, string(data), `"headroom":"unlimited"`)
	require.NotContains(t, d.String(), "92233720")
	require.Contains(t, d.String(), "no maximum")
}

func ExamplePolicy_MarshalJSON() {
	data, _ := json.Marshal(scaling.Policy{Bounds: scaling.Bounds{Max: 100}})
	fmt.Println(string(data))
	// Output: {"bounds":{"min":0,"max":100,"mode":"additive"},"aggregation":"max","holdOnFailure":false,"paused":false,"strategy":"default: T - R"}
}

func ExampleDecision() {
	d := scaling.Decide(scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: scaling.NoMax}}, scaling.Observation{
		Metrics: []scaling.Metric{{Name: "orders", Value: 47, Target: 5}},
		Jobs:    &scaling.JobCounts{Running: 4, Pending: 1},
	})
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	_ = out.Encode(d)
	// Output:
	// {
	//   "create": 7,
	//   "reason": "Strategy",
	//   "desired": {
	//     "jobs": 11,
	//     "known": true,
	//     "reason": "Demand"
	//   },
	//   "surplus": {
	//     "jobs": 0,
	//     "known": true,
	//     "reason": "Creating"
	//   },
	//   "trace": {
	//     "aggregation": "max",
	//     "demand": {
	//       "metrics": 1,
	//       "read": 1,
	//       "active": 1,
	//       "name": "orders",
	//       "queue": 47,
	//       "quotient": 9.4,
	//       "jobs": 10
	//     },
	//     "bounds": {
	//       "min": 1,
	//       "max": "unlimited",
	//       "mode": "additive"
	//     },
	//     "jobsKnown": true,
	//     "jobs": {
	//       "running": 4,
	//       "pending": 1,
	//       "suspended": 0,
	//       "stuck": 0,
	//       "terminating": 0,
	//       "inFlight": 0,
	//       "agesUnknown": false
	//     },
	//     "belowMin": 0,
	//     "headroom": "unlimited",
	//     "strategy": "default: T - R",
	//     "load": {
	//       "target": 10,
	//       "running": 3,
	//       "pending": 1,
	//       "stuck": 0,
	//       "max": "unlimited"
	//     },
	//     "proposal": 7
	//   }
	// }
}
