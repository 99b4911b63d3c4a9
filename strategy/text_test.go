package strategy_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
	"github.com/scaledjob/scaledjob/test/premise"
)

type half struct{ Odd bool }

func (half) Propose(l strategy.Load) int64 { return l.Target / 2 }

type byPointer struct{}

func (*byPointer) Propose(strategy.Load) int64 { return 1 }

type generic[T any] struct{}

func (generic[T]) Propose(strategy.Load) int64 { return 1 }

type named struct{ half }

func (named) String() string { return "named: T / 2" }

type rule func(strategy.Load) int64

func (r rule) Propose(l strategy.Load) int64 { return r(l) }

func one(strategy.Load) int64 { return 1 }

func TestDescribe(t *testing.T) {
	for want, s := range map[string]strategy.Strategy{
		"":                                    nil,
		"default: T - R":                      strategy.Default{},
		"named: T / 2":                        named{},
		"accurate: T + R > M ? M - R : T - P": strategy.Accurate{},
		"accurate: T + R - P > M ? M - R : T - P":                  strategy.Accurate{SubtractPending: true},
		"eager: min(M - R - P, T)":                                 strategy.Eager{},
		"pendingAware: min(max(0, T - R + S), max(0, M - R))":      strategy.PendingAware{},
		"strategy_test.half":                                       half{},
		"*strategy_test.half":                                      &half{},
		"*strategy_test.byPointer":                                 &byPointer{},
		"strategy_test.generic[string]":                            generic[string]{},
		"strategy.Func: function strategy_test.one":                strategy.Func(one),
		"strategy_test.rule: function strategy_test.one":           rule(one),
		"strategy.Func: function strategy_test.TestDescribe.func1": strategy.Func(func(strategy.Load) int64 { return 0 }),
		"strategy.Func: function strategy_test.half.Propose-fm":    strategy.Func(half{}.Propose),
		"strategy.Func: function ":                                 strategy.Func(nil),
	} {
		require.Equal(t, want, strategy.Describe(s))
	}
}

func TestLoadJSON(t *testing.T) { premise.Check(t, propLoadJSON, premise.Least{"unlimited": 0.05}) }
func FuzzLoadJSON(f *testing.F) { premise.Fuzz(f, propLoadJSON) }

// A load reads back from its JSON.
func propLoadJSON(t *rapid.T, c *premise.Counts) {
	l := strategytest.Arbitrary().Draw(t, "load")
	c.Note("unlimited", l.Max == math.MaxInt64)
	data, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var back strategy.Load
	if err := json.Unmarshal(data, &back); err != nil || back != l {
		t.Fatalf("%s reads as %+v: %v", data, back, err)
	}
}

func TestPercentageJSON(t *testing.T) {
	p, err := strategy.ParsePercentage("0.29")
	require.NoError(t, err)
	data, err := json.Marshal(map[string]strategy.Percentage{"share": p})
	require.NoError(t, err)
	require.JSONEq(t, `{"share":"0.29"}`, string(data))
	var back map[string]strategy.Percentage
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, p, back["share"])
	require.ErrorContains(t, p.UnmarshalText([]byte("-1")), "-1")
	require.Equal(t, "0.29", p.String(), "kept")
}

func ExampleLoad() {
	data, _ := json.Marshal(strategy.Load{Target: 10, Running: 4, Pending: 2, Max: math.MaxInt64})
	fmt.Println(string(data))
	// Output: {"target":10,"running":4,"pending":2,"stuck":0,"max":"unlimited"}
}

// The strategy has no String method.
func ExampleDescribe() {
	fmt.Println(strategy.Describe(half{}))
	fmt.Println(strategy.Describe(strategy.Func(one)))
	// Output:
	// strategy_test.half
	// strategy.Func: function strategy_test.one
}

// The text of each strategy is read back as that strategy, and a name of a manifest as its strategy.
func TestParse(t *testing.T) {
	half, _ := strategy.ParsePercentage("0.5")
	for _, s := range []strategy.Strategy{strategy.Default{}, strategy.Accurate{}, strategy.Accurate{SubtractPending: true}, strategy.Eager{},
		strategy.PendingAware{}, strategy.NewCustom(0, strategy.Percentage{}), strategy.NewCustom(3, half), strategy.NewCustom(math.MinInt64, half)} {
		got, err := strategy.Parse(strategy.Describe(s))
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for _, name := range strategy.Names() {
		fromName, err := strategy.FromSpec(name, strategy.Parameters{CustomScalingRunningJobPercentage: "0.5"})
		require.NoError(t, err)
		got, err := strategy.Parse(strategy.Describe(fromName))
		require.NoError(t, err)
		require.Equal(t, fromName, got, "what Parse lacks")
		if got, err = strategy.Parse(name); name != "custom" {
			require.NoError(t, err)
			require.Equal(t, fromName, got)
		}
	}
	for _, text := range []string{"", "custom", "mine", "custom: min(M, T - x - trunc(R * 0.5))", "strategy.Func: function half"} {
		_, err := strategy.Parse(text)
		require.ErrorContains(t, err, "use the text of a strategy")
	}
}
