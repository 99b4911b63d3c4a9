// Package strategytest checks the laws of a [strategy.Strategy].
//
//	func TestMine(t *testing.T) {
//		strategytest.Run(t, Mine{}, strategytest.Pure, strategytest.MoreTargetNeverFewer)
//	}
//
// Each law runs as a subtest. It is tried on every load with numbers up to 8,
// smallest first, so that a counterexample among them is the smallest there is;
// then on random loads, small, realistic and extreme ones, whose counterexamples
// rapid shrinks. A strategy that panics breaks every law.
//
// Laws speak of what is created: the proposal bounded to 0 ... max(0, M - R), as
// callers do. Loads are normalized, and T is at most M, as callers give them.
// Not every law suits every strategy: the documented formulas break some, and
// the tests of package strategy say which.
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

// A Law is something that a strategy does or does not do at a load. Callers may
// write their own.
type Law struct {
	// Name is the law in words; it names the subtest.
	Name string
	// Check returns an error that tells both sides if s breaks the law at l. Laws
	// that compare two loads take the second at the distance step, which is
	// positive.
	Check func(s strategy.Strategy, l strategy.Load, step int64) error
}

// Run checks each law in a subtest that fails with the smallest counterexample
// found.
func Run(t *testing.T, s strategy.Strategy, laws ...Law) {
	t.Helper()
	for _, law := range laws {
		t.Run(law.Name, func(t *testing.T) {
			if err := Smallest(s, law); err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, Property(s, law))
		})
	}
}

// Property is the random part of Run, for rapid.Check and, through
// rapid.MakeFuzz, for fuzz targets.
func Property(s strategy.Strategy, laws ...Law) func(*rapid.T) {
	return func(t *rapid.T) {
		l := Loads().Draw(t, "load")
		step := rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "step")
		for _, law := range laws {
			if err := check(s, law, l, step); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Smallest returns the counterexample with the smallest sum of numbers among the
// loads with numbers up to 8, at step 1, as a [*Counterexample], or nil.
func Smallest(s strategy.Strategy, law Law) error {
	for _, l := range smallLoads() {
		if err := check(s, law, l, 1); err != nil {
			return err
		}
	}
	return nil
}

// A Counterexample is a load at which a strategy breaks a law.
type Counterexample struct {
	Law  string
	Load strategy.Load
	Err  error // what was seen
}

// Error tells the law, the load and what was seen.
func (c *Counterexample) Error() string {
	return fmt.Sprintf("%s: broken at %s: %v", c.Law, format(c.Load), c.Err)
}

// Unwrap returns what was seen.
func (c *Counterexample) Unwrap() error { return c.Err }

func check(s strategy.Strategy, law Law, l strategy.Load, step int64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Counterexample{law.Name, l, fmt.Errorf("panic: %v", p)}
		}
	}()
	if err := law.Check(s, l, step); err != nil {
		return &Counterexample{law.Name, l, err}
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
