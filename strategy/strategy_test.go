package strategy_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
	"github.com/scaledjob/scaledjob/test/premise"
	"github.com/scaledjob/scaledjob/testdata"
)

func custom(t testing.TB, deduction int64, percentage string) *strategy.Custom {
	t.Helper()
	p, err := strategy.ParsePercentage(percentage)
	require.NoError(t, err)
	return strategy.NewCustom(deduction, p)
}

// An oracle is a documented formula in whole numbers without bounds.
type oracle func(t, r, p, s, m *big.Int) *big.Int

func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

func least(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func orZero(a *big.Int) *big.Int {
	if a.Sign() < 0 {
		return new(big.Int)
	}
	return a
}

func customOracle(deduction int64, percentage string) oracle {
	share, ok := new(big.Rat).SetString(percentage)
	if !ok {
		panic(percentage)
	}
	return func(t, r, _, _, m *big.Int) *big.Int {
		x := new(big.Rat).Mul(new(big.Rat).SetInt(r), share)
		trunc := new(big.Int).Quo(x.Num(), x.Denom())
		return least(m, minus(minus(t, big.NewInt(deduction)), trunc))
	}
}

var oracles = []struct {
	name   string
	s      func(testing.TB) strategy.Strategy
	want   oracle
	except []strategytest.Property
}{
	{
		"default", func(testing.TB) strategy.Strategy { return strategy.Default{} },
		func(t, r, _, _, _ *big.Int) *big.Int { return minus(t, r) },
		nil,
	},
	{
		"accurate", func(testing.TB) strategy.Strategy { return strategy.Accurate{} },
		func(t, r, p, _, m *big.Int) *big.Int {
			if plus(t, r).Cmp(m) > 0 {
				return minus(m, r)
			}
			return minus(t, p)
		},
		[]strategytest.Property{strategytest.MonotoneInRunning, strategytest.MonotoneInMax},
	},
	{
		"accurate, pending subtracted", func(testing.TB) strategy.Strategy { return strategy.Accurate{SubtractPending: true} },
		func(t, r, p, _, m *big.Int) *big.Int { return least(minus(t, p), minus(m, r)) },
		nil,
	},
	{
		"eager", func(testing.TB) strategy.Strategy { return strategy.Eager{} },
		func(t, r, p, _, m *big.Int) *big.Int { return least(minus(minus(m, r), p), t) },
		nil,
	},
	{
		"custom 1, 0.5", func(t testing.TB) strategy.Strategy { return custom(t, 1, "0.5") }, customOracle(1, "0.5"),
		[]strategytest.Property{strategytest.WithinHeadroom},
	},
	{
		"custom -2, 1.3", func(t testing.TB) strategy.Strategy { return custom(t, -2, "1.3") }, customOracle(-2, "1.3"),
		[]strategytest.Property{strategytest.EmptyQueueCreatesNothing, strategytest.WithinHeadroom},
	},
	{
		"pendingAware", func(testing.TB) strategy.Strategy { return strategy.PendingAware{} },
		func(t, r, _, s, m *big.Int) *big.Int {
			return least(orZero(plus(minus(t, r), s)), orZero(minus(m, r)))
		},
		nil,
	},
}

func (o oracle) at(l strategy.Load) *big.Int {
	return o(big.NewInt(l.Target), big.NewInt(l.Running), big.NewInt(l.Pending), big.NewInt(l.Stuck), big.NewInt(l.Max))
}

// Every combination of five numbers up to 8, also those that make no sense.
func TestStrategiesEqualTheOracle(t *testing.T) {
	const n = 9 * 9 * 9 * 9 * 9
	for _, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			s := o.s(t)
			for i := range int64(n) {
				l := strategy.Load{Target: i % 9, Running: i / 9 % 9, Pending: i / 81 % 9, Stuck: i / 729 % 9, Max: i / 6561}
				if got, want := s.Propose(l), o.want.at(l).Int64(); got != want {
					t.Fatalf("at %+v: got %d, want %d", l, got, want)
				}
			}
		})
	}
}

// At the extremes the answer is that of the oracle, cut to int64, as long as the
// load makes sense and the percentage does not alone pass MaxInt64.
func propOracle(t *rapid.T, c *premise.Counts) {
	drawn := rapid.OneOf(strategytest.Loads(), strategytest.Extreme()).Draw(t, "load")
	cut := false
	for _, o := range oracles {
		l := drawn
		if o.name == "custom -2, 1.3" {
			l.Running = min(l.Running, math.MaxInt64/2)
			l = l.Normalize()
		}
		want := o.want.at(l)
		for _, end := range []int64{math.MinInt64, math.MaxInt64} {
			if e := big.NewInt(end); !want.IsInt64() && want.Sign() == e.Sign() {
				want = e
			}
		}
		if got := o.s(nilTB{}).Propose(l); got != want.Int64() {
			t.Fatalf("%s at %+v: got %d, want %s", o.name, l, got, want)
		}
		c.Note(o.name+" creates", want.Sign() > 0 && l.Running < l.Max)
		cut = cut || !o.want.at(l).IsInt64()
	}
	c.Note("a proposal is cut to int64", cut)
}

// nilTB is for constructors that cannot fail on the values given here.
type nilTB struct{ testing.TB }

func (nilTB) Helper() {}

func TestExtremes(t *testing.T) {
	least := premise.Least{"a proposal is cut to int64": 0.08}
	for _, o := range oracles {
		least[o.name+" creates"] = 0.2
	}
	premise.Check(t, propOracle, least)
}
func FuzzStrategies(f *testing.F) { premise.Fuzz(f, propOracle) }

// additive embeds a strategy with a total, and is none itself.
type additive struct{ strategy.Default }

func (additive) TargetIsTotal() bool { return false }

// The target is a total if running Jobs are subtracted from it.
func TestTargetIsTotal(t *testing.T) {
	for _, s := range []strategy.Strategy{strategy.Default{}, strategy.PendingAware{}} {
		require.True(t, strategy.TargetIsTotal(s), "%v", s)
	}
	for _, s := range []strategy.Strategy{strategy.Accurate{}, strategy.Accurate{SubtractPending: true}, strategy.Eager{}, custom(t, 0, "1"),
		additive{}, strategy.Func(one), nil} {
		require.False(t, strategy.TargetIsTotal(s), "%v", s)
	}
}

// Numbers that make sense are kept, and others are replaced by the nearest that do.
func TestNormalize(t *testing.T) {
	for _, tt := range []struct{ load, want strategy.Load }{
		{strategy.Load{}, strategy.Load{}},
		{strategy.Load{Target: 5, Running: 4, Pending: 3, Stuck: 2, Max: 1}, strategy.Load{Target: 5, Running: 4, Pending: 3, Stuck: 2, Max: 1}},
		{strategy.Load{Running: 3, Pending: 4, Stuck: 5}, strategy.Load{Running: 3, Pending: 3, Stuck: 3}},
		{strategy.Load{Running: 4, Pending: 2, Stuck: 3}, strategy.Load{Running: 4, Pending: 2, Stuck: 2}},
		{strategy.Load{Target: -1, Running: -1, Pending: 1, Stuck: 1, Max: -1}, strategy.Load{}},
		{strategy.Load{Running: 2, Pending: -1, Stuck: -1}, strategy.Load{Running: 2}},
		{strategy.Load{Running: 2, Pending: 1, Stuck: -1}, strategy.Load{Running: 2, Pending: 1}},
	} {
		require.Equal(t, tt.want, tt.load.Normalize(), "%+v", tt.load)
	}
}

func TestArbitraryLoads(t *testing.T) {
	premise.Check(t, propTotal, premise.Least{"beyond int64": 0.2, "not normalized": 0.5})
}
func FuzzArbitraryLoads(f *testing.F) { premise.Fuzz(f, propTotal) }

func TestPercentages(t *testing.T) {
	premise.Check(t, propPercentage, premise.Least{"a float64 gives another number": 0.05, "cut to int64": 0.05, "a part of n": 0.2})
}
func FuzzPercentages(f *testing.F) { premise.Fuzz(f, propPercentage) }

// A text that reads as a percentage has the value of the decimal, and its spelling reads
// the same.
func FuzzParsePercentage(f *testing.F) {
	for _, text := range []string{"0.5", ".5", "5.", "+0.50", "5e-1", "1e308", "1e-400", "0.30000000000000004", "-0", "Inf", "NaN", "0x1p-1", "1_0", "1/2", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := strategy.ParsePercentage(text)
		if err != nil {
			require.Equal(t, "0", p.String())
			return
		}
		value, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		read, err := strconv.ParseFloat(p.String(), 64)
		require.NoError(t, err)
		require.Equal(t, value, read, "%q reads as %s", text, p)
		again, err := strategy.ParsePercentage(p.String())
		require.NoError(t, err)
		require.Equal(t, p.String(), again.String())
	})
}

// At any numbers, nothing panics, equal loads get equal proposals, and no number
// wraps around: the sign is that of the formula in whole numbers without bounds.
func propTotal(t *rapid.T, c *premise.Counts) {
	l := strategytest.Arbitrary().Draw(t, "load")
	n := l.Normalize()
	beyond := false
	if n.Stuck < 0 || n.Pending < n.Stuck || n.Running < n.Pending || n.Target < 0 || n.Max < 0 {
		t.Fatalf("%+v becomes %+v", l, n)
	}
	for _, o := range oracles {
		s := o.s(nilTB{})
		got := s.Propose(l)
		if again := s.Propose(l); got != again {
			t.Fatalf("%s at %+v: %d, then %d", o.name, l, got, again)
		}
		// A percentage of a negative number is 0, and one of R is at most MaxInt64.
		l.Running = min(l.Running, math.MaxInt64/2)
		if strings.HasPrefix(o.name, "custom") {
			l.Running = max(0, l.Running)
		}
		exact := o.want.at(l)
		if got := s.Propose(l); cmp.Compare(got, 0)*exact.Sign() < 0 {
			t.Fatalf("%s at %+v: got %d, want the sign of %s", o.name, l, got, exact)
		}
		beyond = beyond || !exact.IsInt64()
	}
	c.Note("beyond int64", beyond)
	c.Note("not normalized", n != l)
}

// played names what a played queue shows of each strategy: the documented accurate forgets pending
// Jobs near the maximum, eager fills up while Jobs start, and custom follows its parameters.
var played = map[string][]string{
	"accurate": {"NoJobWithoutItem"}, "eager": {"NoJobWithoutItem"},
	"custom 1, 0.5": {"NoJobWithoutItem", "ServesEachItem"}, "custom -2, 1.3": {"NoJobWithoutItem", "ServesEachItem"},
}

func TestProperties(t *testing.T) {
	for _, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			counted, except := strategytest.Waiting, o.except
			if strategy.TargetIsTotal(o.s(t)) {
				counted = strategytest.InProgress
			}
			for _, p := range strategytest.QueueProperties(counted) {
				if slices.Contains(played[o.name], p.Name) {
					except = append(except[:len(except):len(except)], p)
				}
			}
			strategytest.Run(t, o.s(t), counted, except...)
		})
	}
}

// A spy records the loads that a strategy is asked for.
type spy struct {
	strategy.Strategy
	asked   []strategy.Load
	creates bool // at one of them
}

func (s *spy) Propose(l strategy.Load) int64 {
	n := s.Strategy.Propose(l)
	s.asked = append(s.asked, l)
	s.creates = s.creates || n > 0 && l.Running < l.Max
	return n
}

// noting returns the property, which notes whether its premise holds: its loads
// differ, if there are two, and Jobs are created at one of them.
func noting(p strategytest.Property, c *premise.Counts) strategytest.Property {
	check := p.Check
	p.Check = func(s strategy.Strategy, l strategy.Load, step int64) error {
		spy := &spy{Strategy: s}
		err := check(spy, l, step)
		differ := len(spy.asked) == 1 || spy.asked[0] != spy.asked[len(spy.asked)/2]
		c.Note(p.Name, differ && spy.creates)
		return err
	}
	return p
}

func TestPropertiesHaveAPremise(t *testing.T) {
	for _, o := range oracles {
		t.Run(o.name, func(t *testing.T) {
			s, least := o.s(t), premise.Least{}
			properties := strategytest.Applicable(s, o.except...)
			for _, p := range properties {
				least[p.Name] = 0.1
			}
			premise.Check(t, func(t *rapid.T, c *premise.Counts) {
				var all []strategytest.Property
				for _, p := range properties {
					all = append(all, noting(p, c))
				}
				strategytest.Random(s, all...)(t)
			}, least)
		})
	}
}

// The properties that the documented formulas break, each at its smallest load.
func TestCounterexamples(t *testing.T) {
	for _, tt := range []struct {
		s        strategy.Strategy
		property strategytest.Property
		want     string
	}{
		{strategy.Accurate{}, strategytest.MonotoneInRunning,
			"at T=2 R=2 P=2 S=0 M=4 it proposes 0 and creates 0; at T=2 R=3 P=2 S=0 M=4 it proposes 1 and creates 1"},
		{strategy.Accurate{}, strategytest.MonotoneInMax,
			"at T=2 R=2 P=2 S=0 M=4 it proposes 0 and creates 0; at T=2 R=2 P=2 S=0 M=3 it proposes 1 and creates 1"},
		{strategy.Accurate{}, strategytest.SettlesInOnePoll,
			"at T=2 R=0 P=0 S=0 M=3 it proposes 2 and creates 2; at T=2 R=2 P=2 S=0 M=3 it proposes 1 and creates 1"},
		{strategy.Eager{}, strategytest.SettlesInOnePoll,
			"at T=1 R=0 P=0 S=0 M=3 it proposes 1 and creates 1; at T=1 R=1 P=1 S=0 M=3 it proposes 1 and creates 1"},
		{custom(t, 0, "0"), strategytest.WithinHeadroom, "at T=1 R=1 P=0 S=0 M=1 it proposes 1 and creates 0"},
		{custom(t, 0, "0"), strategytest.SettlesInOnePoll,
			"at T=1 R=0 P=0 S=0 M=2 it proposes 1 and creates 1; at T=1 R=1 P=1 S=0 M=2 it proposes 1 and creates 1"},
		{custom(t, -1, "0"), strategytest.EmptyQueueCreatesNothing, "at T=0 R=0 P=0 S=0 M=1 it proposes 1 and creates 1"},
	} {
		t.Run(fmt.Sprintf("%v/%s", tt.s, tt.property.Name), func(t *testing.T) {
			require.ErrorContains(t, strategytest.Smallest(tt.s, tt.property), tt.want)
		})
	}
	require.NoError(t, strategytest.Smallest(strategy.Accurate{SubtractPending: true}, strategytest.SettlesInOnePoll))
}

func TestGolden(t *testing.T) {
	data, err := testdata.Files.ReadFile("strategies.json")
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			Cites int // of counts, which a caller limits
			Input struct {
				MaxScale, Running, Pending, Stuck, MaxReplicaCount int64
				strategy.Parameters
			}
			EffectiveMaxScale map[string]int64
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	proposals := 0
	for i, c := range file.Cases {
		l := strategy.Load{Target: c.Input.MaxScale, Running: c.Input.Running, Pending: c.Input.Pending, Stuck: c.Input.Stuck, Max: c.Input.MaxReplicaCount}
		for name, want := range c.EffectiveMaxScale {
			if c.Cites > 0 {
				continue
			}
			s, err := strategy.FromSpec(name, c.Input.Parameters)
			require.NoError(t, err)
			require.Equal(t, want, s.Propose(l), "case %d: %s at %+v", i, name, l)
			proposals++
		}
	}
	require.Greater(t, proposals, 200)
}

func TestFromSpec(t *testing.T) {
	for name, want := range map[string]strategy.Strategy{
		"": strategy.Default{}, "basic": strategy.Default{}, "accurate": strategy.Accurate{}, "eager": strategy.Eager{},
		"custom": custom(t, -3, "0.29"), "default": strategy.Default{}, "pendingAware": strategy.PendingAware{},
	} {
		got, err := strategy.FromSpec(name, strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(-3)), CustomScalingRunningJobPercentage: "0.290"})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := strategy.FromSpec("custom", strategy.Parameters{CustomScalingQueueLengthDeduction: new(int32(2))})
	require.NoError(t, err)
	require.Equal(t, strategy.Default{}, got, "without a percentage, as documented")
	_, err = strategy.FromSpec("custom", strategy.Parameters{CustomScalingRunningJobPercentage: "half"})
	require.EqualError(t, err, `customScalingRunningJobPercentage: found "half"; use a decimal of 0 or more, such as "0.5"`)
	_, err = strategy.FromSpec("Eager", strategy.Parameters{})
	require.EqualError(t, err, `strategy: found "Eager"; use one of default, accurate, eager, custom, pendingAware`)
	for _, name := range strategy.Names() {
		_, err := strategy.FromSpec(name, strategy.Parameters{CustomScalingRunningJobPercentage: "1"})
		require.NoError(t, err, "each name")
	}
}

func TestCustomText(t *testing.T) {
	require.Equal(t, "custom: min(M, T - 1 - trunc(R * 0.5))", custom(t, 1, "0.50").String())
	require.Equal(t, "custom: min(M, T + 12 - trunc(R * 0))", custom(t, -12, "0").String())
	require.Equal(t, "custom: min(M, T + 9223372036854775808 - trunc(R * 1))", custom(t, math.MinInt64, "1").String())
	require.Equal(t, "custom: min(M, T - 0 - trunc(R * 0))", new(strategy.Custom).String())
}

func TestPercentageText(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "0.0": "0", "0.5": "0.5", ".5": "0.5", "5.": "5", "+0.50": "0.5", "5e-1": "0.5", "1e3": "1000",
		"0.333": "0.333", "1.5": "1.5", "1e-400": "0", "0.30000000000000004": "0.30000000000000004",
	} {
		p, err := strategy.ParsePercentage(text)
		require.NoError(t, err, text)
		require.Equal(t, want, p.String(), text)
	}
	for _, text := range []string{"", " 0.5", "0.5 ", "50%", "0,5", "abc", "NaN", "Inf", "-Inf", "infinity", "0x1p-1",
		"-0.5", "1e400", "1_0", "1/2", "--1"} {
		_, err := strategy.ParsePercentage(text)
		require.ErrorContains(t, err, fmt.Sprintf("running job percentage: found %q; use a decimal that is not negative, such as 0.5", text))
	}
}

func propPercentage(t *rapid.T, c *premise.Counts) {
	text := rapid.StringMatching(`[0-9]{0,3}\.[0-9]{1,45}(e-?[0-9]{1,2})?`).Draw(t, "percentage")
	n := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, math.MaxInt64), rapid.Custom(func(t *rapid.T) int64 {
		return 1 << rapid.IntRange(0, 62).Draw(t, "power")
	})).Draw(t, "n")
	p, err := strategy.ParsePercentage(text)
	if err != nil {
		t.Fatal(err)
	}
	exact, _ := new(big.Rat).SetString(text)
	exact.Mul(exact, new(big.Rat).SetInt64(n))
	want := new(big.Int).Quo(exact.Num(), exact.Denom())
	c.Note("cut to int64", !want.IsInt64())
	if !want.IsInt64() {
		want.SetInt64(math.MaxInt64)
	}
	float, _ := strconv.ParseFloat(text, 64)
	c.Note("a float64 gives another number", int64(float*float64(n)) != want.Int64())
	c.Note("a part of n", 0 < want.Int64() && want.Int64() < n)
	if got := p.Of(n); got != want.Int64() {
		t.Fatalf("%s of %d: got %d, want %s", text, n, got, want)
	}
	if back, err := strategy.ParsePercentage(p.String()); err != nil || back.String() != p.String() || back.Of(n) != p.Of(n) {
		t.Fatalf("%s prints as %s, which reads as %s: %v", text, p, back, err)
	}
}

func BenchmarkPropose(b *testing.B) {
	l := strategy.Load{Target: 12, Running: 5, Pending: 2, Stuck: 1, Max: 30}
	for _, s := range []strategy.Strategy{strategy.Default{}, strategy.Accurate{}, strategy.Eager{}, custom(b, 1, "0.29"), strategy.PendingAware{}} {
		b.Run(fmt.Sprintf("%T", s)[len("strategy."):], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Propose(l)
			}
		})
	}
}

func Example() {
	l := strategy.Load{Target: 10, Running: 4, Pending: 2, Stuck: 1, Max: 20}
	for _, name := range []string{"default", "accurate", "eager", "pendingAware"} {
		s, _ := strategy.FromSpec(name, strategy.Parameters{})
		fmt.Println(s.Propose(l), s)
	}
	half, _ := strategy.ParsePercentage("0.5")
	s := strategy.NewCustom(1, half)
	fmt.Println(s.Propose(l), s)
	// Output:
	// 6 default: T - R
	// 8 accurate: T + R > M ? M - R : T - P
	// 10 eager: min(M - R - P, T)
	// 7 pendingAware: min(max(0, T - R + S), max(0, M - R))
	// 7 custom: min(M, T - 1 - trunc(R * 0.5))
}

func ExampleFunc() {
	// One Job at a time, whatever the queue.
	s := strategy.Func(func(l strategy.Load) int64 { return min(l.Target, 1-l.Running) })
	fmt.Println(s.Propose(strategy.Load{Target: 9, Max: 100}), s.Propose(strategy.Load{Target: 9, Running: 1, Max: 100}))
	// Output: 1 0
}

// A strategy that wraps another keeps its property, as errors.Is sees through errors, and Total
// declares it for a function.
func TestWrapping(t *testing.T) {
	require.True(t, strategy.TargetIsTotal(wrapper{wrapper{strategy.PendingAware{}}}))
	require.False(t, strategy.TargetIsTotal(wrapper{strategy.Eager{}}))
	require.False(t, strategy.TargetIsTotal(wrapper{}))
	difference := strategy.Func(func(l strategy.Load) int64 { return l.Target - l.Running })
	require.False(t, strategy.TargetIsTotal(difference))
	require.True(t, strategy.TargetIsTotal(wrapper{strategy.Total{Strategy: difference}}))
	require.Equal(t, strategy.Describe(difference), strategy.Describe(strategy.Total{Strategy: difference}))
}

type wrapper struct{ inner strategy.Strategy }

func (w wrapper) Propose(l strategy.Load) int64 { return w.inner.Propose(l) / 2 }
func (w wrapper) Unwrap() strategy.Strategy     { return w.inner }
