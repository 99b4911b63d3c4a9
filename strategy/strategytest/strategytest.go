// Package strategytest checks the properties of a [strategy.Strategy].
//
//	func TestMine(t *testing.T) { strategytest.Run(t, Mine{}, strategytest.InProgress) }
//
// [Run] checks each property of [All] that applies to the strategy in a subtest, and those of a
// played queue ([QueueProperties]) for the load that the strategy assumes. It
// tries every load with numbers up to 8, smallest first, so that a counterexample is the
// smallest possible. Then it tries random loads: small, realistic and extreme. rapid
// shrinks their counterexamples. A strategy that panics breaks every property.
//
// Properties are about the Jobs created: the proposal, limited to 0 ... max(0, M - R) as
// callers do. Loads are normalized, and T is at most M.
package strategytest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/strategy"
)

// Run checks every property of [All] that applies to s, and every property of [QueueProperties] for the
// items that its target counts, each in a subtest that fails with the smallest counterexample
// found. A property in except must be broken: its subtest fails if no counterexample has numbers
// up to 8. Run logs what it did not check.
func Run(t *testing.T, s strategy.Strategy, counted Items, except ...Property) {
	t.Helper()
	for _, p := range Applicable(s, except...) {
		t.Run(p.Name, func(t *testing.T) {
			if err := Smallest(s, p); err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, Random(s, p))
		})
	}
	for _, p := range QueueProperties(counted) {
		if contains(except, p) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			if err := Smallest(s, p); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, p := range except {
		t.Run("except "+p.Name, func(t *testing.T) {
			err := Smallest(s, p)
			if err == nil {
				t.Fatalf("%v has the property %s; remove it from the exceptions", strategy.Describe(s), p.Name)
			}
			t.Log(err)
		})
	}
	if !strategy.TargetIsTotal(s) {
		t.Logf("not checked: %s, because the target of %s is not declared a total (strategy.TargetIsTotal)", SettlesInOnePoll.Name, strategy.Describe(s))
	}
	t.Logf("not checked: the queue of a load that counts %s, and Jobs that get stuck or finish while the queue is played", Waiting+InProgress-counted)
}

// Random returns a random check of the given properties, for rapid.Check and, through
// rapid.MakeFuzz, for fuzz targets. Pass [Applicable] for the properties of [Run]. Without
// properties it checks nothing.
func Random(s strategy.Strategy, properties ...Property) func(*rapid.T) {
	return func(t *rapid.T) {
		l := Loads().Draw(t, "load")
		step := rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "step")
		for _, p := range properties {
			if err := check(s, p, l, step); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Smallest returns the counterexample with the smallest sum of numbers among the
// loads with numbers up to 8, at step 1, as a [*Counterexample], or nil.
func Smallest(s strategy.Strategy, p Property) error {
	for _, l := range smallLoads() {
		if err := check(s, p, l, 1); err != nil {
			return err
		}
	}
	return nil
}

// A Counterexample is a load at which a strategy breaks a property.
type Counterexample struct {
	Property string // its name
	Meaning  string
	Load     strategy.Load
	Err      error // the proposals, or a panic
}

// Error returns the property, the load and the proposals.
func (c *Counterexample) Error() string {
	return fmt.Sprintf("%s (%s) is broken at %s: %v", c.Property, c.Meaning, format(c.Load), c.Err)
}

// Unwrap returns Err.
func (c *Counterexample) Unwrap() error { return c.Err }

func check(s strategy.Strategy, p Property, l strategy.Load, step int64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Counterexample{p.Name, p.Meaning, l, fmt.Errorf("panic: %v", r)}
		}
	}()
	if err := p.Check(s, l, step); err != nil {
		return &Counterexample{p.Name, p.Meaning, l, err}
	}
	return nil
}

func format(l strategy.Load) string {
	return fmt.Sprintf("T=%d R=%d P=%d S=%d M=%d", l.Target, l.Running, l.Pending, l.Stuck, l.Max)
}

const small = 8

// smallLoads lists the loads with numbers up to 8 by the sum of their numbers.
var smallLoads = sync.OnceValue(func() []strategy.Load {
	var loads []strategy.Load
	for m := range int64(small + 1) {
		for t := range m + 1 {
			for r := range int64(small + 1) {
				for p := range r + 1 {
					for s := range p + 1 {
						loads = append(loads, strategy.Load{Target: t, Running: r, Pending: p, Stuck: s, Max: m})
					}
				}
			}
		}
	}
	sum := func(l strategy.Load) int64 { return l.Target + l.Running + l.Pending + l.Stuck + l.Max }
	slices.SortStableFunc(loads, func(a, b strategy.Load) int { return int(sum(a) - sum(b)) })
	return loads
})

// Loads generates normalized loads with T at most M: small, realistic and extreme.
func Loads() *rapid.Generator[strategy.Load] {
	return rapid.OneOf(smallest(), realistic(), Extreme())
}

// smallest generates loads with numbers up to 8.
func smallest() *rapid.Generator[strategy.Load] { return loads(rapid.Int64Range(0, small)) }

// realistic generates loads with numbers up to 10,000.
func realistic() *rapid.Generator[strategy.Load] { return loads(rapid.Int64Range(0, 10_000)) }

// Extreme generates loads with numbers up to MaxInt64, many of them close to it.
func Extreme() *rapid.Generator[strategy.Load] {
	return loads(rapid.OneOf(
		rapid.Int64Range(0, math.MaxInt64),
		rapid.Int64Range(math.MaxInt64-small, math.MaxInt64),
		rapid.SampledFrom([]int64{0, 1, 1 << 31, 1 << 53, 1 << 62}),
	))
}

// Arbitrary generates loads of any numbers, also negative numbers and MinInt64, as a
// caller may pass by mistake.
func Arbitrary() *rapid.Generator[strategy.Load] {
	return rapid.Custom(func(t *rapid.T) strategy.Load {
		n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{
			math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))
		return strategy.Load{
			Target: n.Draw(t, "T"), Running: n.Draw(t, "R"), Pending: n.Draw(t, "P"),
			Stuck: n.Draw(t, "S"), Max: n.Draw(t, "M"),
		}
	})
}

// loads draws each part within its whole, so that loads with pending and stuck Jobs are
// common.
func loads(n *rapid.Generator[int64]) *rapid.Generator[strategy.Load] {
	return rapid.Custom(func(t *rapid.T) strategy.Load {
		l := strategy.Load{Running: n.Draw(t, "R"), Max: n.Draw(t, "M")}
		l.Target, l.Pending = part(t, "T", l.Max), part(t, "P", l.Running)
		l.Stuck = part(t, "S", l.Pending)
		return l
	})
}

// part draws any part of a whole, or all but a few.
func part(t *rapid.T, label string, whole int64) int64 {
	return rapid.OneOf(rapid.Int64Range(0, whole), rapid.Int64Range(max(0, whole-small), whole)).Draw(t, label)
}
