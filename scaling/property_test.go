package scaling_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

var half, _ = strategy.ParsePercentage("0.5")

var strategies = []strategy.Strategy{nil, strategy.Default{}, strategy.Accurate{}, strategy.Accurate{SubtractPending: true},
	strategy.Eager{}, strategy.NewCustom(1, half), strategy.NewCustom(-3, half), strategy.PendingAware{}}

// wildest is what a stranger's strategy may answer.
var wildest = []strategy.Strategy{
	strategy.Func(func(strategy.Load) int64 { return math.MaxInt64 }),
	strategy.Func(func(strategy.Load) int64 { return math.MinInt64 }),
}

var wildFloats = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0,
	math.SmallestNonzeroFloat64, math.MaxFloat64, 1 << 53, 1 << 63}), rapid.Float64Range(0, 100))

var wildInts = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}),
	rapid.Int64Range(0, 20))

func drawPolicy(n *rapid.Generator[int64], s []strategy.Strategy) *rapid.Generator[scaling.Policy] {
	return rapid.Custom(func(t *rapid.T) scaling.Policy {
		return scaling.Policy{
			Bounds: scaling.Bounds{
				Min: n.Draw(t, "min"), Max: n.Draw(t, "max"),
				Mode: rapid.SampledFrom([]scaling.MinMode{scaling.OnTop, scaling.Floor, 7}).Draw(t, "mode"),
			},
			Aggregation:   scaling.Aggregation(rapid.Uint8Range(0, 5).Draw(t, "aggregation")),
			Strategy:      rapid.SampledFrom(s).Draw(t, "strategy"),
			HoldOnFailure: rapid.Bool().Draw(t, "hold"),
			Paused:        rapid.IntRange(0, 9).Draw(t, "paused") == 0,
		}
	})
}

func drawState(n *rapid.Generator[int64], x *rapid.Generator[float64]) *rapid.Generator[scaling.State] {
	return rapid.Custom(func(t *rapid.T) scaling.State {
		metric := rapid.Custom(func(t *rapid.T) scaling.Metric {
			return scaling.Metric{
				Name:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"),
				Value: x.Draw(t, "value"), Target: x.Draw(t, "target"), ActivationThreshold: x.Draw(t, "threshold"),
				Activity: scaling.Activity(rapid.Uint8Range(0, 3).Draw(t, "activity")),
				Failed:   rapid.IntRange(0, 4).Draw(t, "failed") == 0,
			}
		})
		s := scaling.State{Metrics: rapid.SliceOfN(metric, 0, 6).Draw(t, "metrics")}
		if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
			s.Jobs = &scaling.Jobs{
				Running: n.Draw(t, "running"), Pending: n.Draw(t, "pending"), Suspended: n.Draw(t, "suspended"),
				Stuck: n.Draw(t, "stuck"), Terminating: n.Draw(t, "terminating"), InFlight: n.Draw(t, "in flight"),
				AgesUnknown: rapid.Bool().Draw(t, "ages unknown"),
			}
		}
		return s
	})
}

// same compares decisions; a NaN would be the only difference of equal ones, and
// none may come out.
func same(t *rapid.T, a, b scaling.Decision) {
	if a != b {
		t.Fatalf("%s\n\nand\n\n%s", a, b)
	}
}

// R + terminating + create is at most max unless R + terminating was more, create
// is at least 0, and nothing is created that nobody knows the Jobs of; whatever
// the numbers, and whatever the strategy answers.
func propBounds(t *rapid.T) {
	p := drawPolicy(wildInts, append(wildest, strategies...)).Draw(t, "policy")
	s := drawState(wildInts, wildFloats).Draw(t, "state")
	d := scaling.Decide(p, s)
	if d.Create < 0 || d.Create > 0 && (s.Jobs == nil || p.Paused) {
		t.Fatalf("%s", d)
	}
	if s.Jobs == nil {
		return
	}
	held := new(big.Int)
	for _, n := range []int64{s.Jobs.Running, s.Jobs.InFlight, s.Jobs.Terminating} {
		held.Add(held, big.NewInt(max(0, n)))
	}
	most := big.NewInt(max(0, p.Bounds.Max))
	if all := new(big.Int).Add(held, big.NewInt(d.Create)); d.Create > 0 && all.Cmp(most) > 0 {
		t.Fatalf("%s held, %s with those created\n%s", held, all, d)
	}
	_ = d.String()
}

// Two calls are equal, the arguments are as they were, and the order of the
// metrics does not matter, in the trace neither.
func propOrder(t *rapid.T) {
	p := drawPolicy(wildInts, strategies).Draw(t, "policy")
	s := drawState(wildInts, wildFloats).Draw(t, "state")
	d := scaling.Decide(p, s)
	metrics := slices.Clone(s.Metrics)
	var jobs scaling.Jobs
	if s.Jobs != nil {
		jobs = *s.Jobs
	}
	same(t, d, scaling.Decide(p, s))
	for i, m := range metrics {
		if got := s.Metrics[i]; got != m && got.Value == got.Value && got.Target == got.Target && got.ActivationThreshold == got.ActivationThreshold {
			t.Fatalf("metric %d was changed", i)
		}
	}
	if s.Jobs != nil && *s.Jobs != jobs {
		t.Fatal("the Jobs were changed")
	}
	s.Metrics = rapid.Permutation(metrics).Draw(t, "order")
	same(t, d, scaling.Decide(p, s))
}

// Under Sum, more items in one queue never get fewer Jobs.
func propMonotone(t *rapid.T) {
	p := drawPolicy(wildInts, strategies).Draw(t, "policy")
	p.Aggregation = scaling.Sum
	s := drawState(wildInts, wildFloats).Draw(t, "state")
	if len(s.Metrics) == 0 {
		return
	}
	before := scaling.Decide(p, s)
	m := &s.Metrics[rapid.IntRange(0, len(s.Metrics)-1).Draw(t, "which")]
	// From unreadable to readable is another matter, and so is the way back.
	if !(m.Value >= 0 && m.Value < math.MaxFloat64) {
		return
	}
	m.Value = min(math.MaxFloat64, m.Value+rapid.Float64Range(0, 1000).Draw(t, "more"))
	if after := scaling.Decide(p, s); after.Create < before.Create {
		t.Fatalf("%s\n\nbut with more in the queue\n\n%s", before, after)
	}
}

// DESIGN's rules once more, on decimals with one place, with exact quotients.
func propOracle(t *rapid.T) {
	n := rapid.Int64Range(0, 12)
	p := drawPolicy(n, strategies).Draw(t, "policy")
	if p.Bounds.Mode > scaling.Floor || p.Aggregation > scaling.Sum {
		return
	}
	tenths := rapid.Map(rapid.IntRange(-2, 60), func(i int) float64 { return float64(i) / 10 })
	s := drawState(n, tenths).Draw(t, "state")
	d := scaling.Decide(p, s)
	if want := oracle(p, s); d.Create != want {
		t.Fatalf("want %d\n%s", want, d)
	}
}

func oracle(p scaling.Policy, s scaling.State) int64 {
	if p.Paused || s.Jobs == nil {
		return 0
	}
	j := *s.Jobs
	pending := min(j.Pending, j.Running)
	stuck := min(j.Stuck, pending-min(j.Suspended, pending))
	if j.AgesUnknown {
		stuck = pending - min(j.Suspended, pending)
	}
	running, pending := j.Running+j.InFlight, pending+j.InFlight
	most := p.Bounds.Max
	least := min(p.Bounds.Min, most)
	bound := func(create int64) int64 {
		return max(0, min(create, most-running-j.Terminating))
	}

	var active []scaling.Metric
	read := 0
	for _, m := range s.Metrics {
		if m.Failed || m.Value < 0 || m.Target <= 0 {
			continue
		}
		read++
		if m.Activity == scaling.Active || m.Activity == scaling.ByThreshold && m.Value > m.ActivationThreshold {
			active = append(active, m)
		}
	}
	if len(active) == 0 || read < len(s.Metrics) && p.HoldOnFailure {
		return bound(max(0, least-running))
	}
	want := jobsWanted(p.Aggregation, active)
	st := p.Strategy
	if st == nil {
		st = strategy.Default{}
	}
	if p.Bounds.Mode == scaling.Floor {
		target := min(want, most)
		switch st.(type) {
		case strategy.Default, strategy.PendingAware:
			target = max(target, least)
		}
		return bound(max(least-running, st.Propose(strategy.Load{Target: target, Running: running, Pending: pending, Stuck: stuck, Max: most})))
	}
	r := max(0, running-least)
	pend := min(pending, r)
	load := strategy.Load{Target: min(want, most-least), Running: r, Pending: pend, Stuck: min(stuck, pend), Max: most - least}
	return bound(max(0, least-running) + max(0, st.Propose(load)))
}

func jobsWanted(a scaling.Aggregation, active []scaling.Metric) int64 {
	tenths := func(x float64) int64 { return int64(math.Round(x * 10)) }
	quotient := func(m scaling.Metric) *big.Rat { return big.NewRat(tenths(m.Value), tenths(m.Target)) }
	x, n := new(big.Rat), big.NewRat(int64(len(active)), 1)
	switch a {
	case scaling.Sum, scaling.Avg:
		for _, m := range active {
			x.Add(x, quotient(m))
		}
		if a == scaling.Avg {
			x.Quo(x, n)
		}
	default:
		slices.SortFunc(active, func(m, o scaling.Metric) int {
			if c := tenths(m.Value) - tenths(o.Value); c != 0 && a == scaling.Max {
				return int(-c)
			} else if c != 0 {
				return int(c)
			}
			return quotient(o).Cmp(quotient(m))
		})
		x = quotient(active[0])
	}
	up := new(big.Int).Add(x.Num(), new(big.Int).Sub(x.Denom(), big.NewInt(1)))
	return up.Quo(up, x.Denom()).Int64()
}

func TestBounds(t *testing.T)   { rapid.Check(t, propBounds) }
func FuzzBounds(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propBounds)) }
func TestOrder(t *testing.T)    { rapid.Check(t, propOrder) }
func FuzzOrder(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(propOrder)) }
func TestMonotone(t *testing.T) { rapid.Check(t, propMonotone) }
func FuzzMonotone(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propMonotone)) }
func TestOracle(t *testing.T)   { rapid.Check(t, propOracle) }
func FuzzOracle(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propOracle)) }
