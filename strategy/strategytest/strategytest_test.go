package strategytest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
)

// Each law has a strategy that breaks it, and is found out by it.
func TestLawsCatchWhoBreaksThem(t *testing.T) {
	calls := int64(0)
	for _, tt := range []struct {
		law    strategytest.Law
		broken strategy.Func
		want   strategy.Load
	}{
		{strategytest.Pure, func(strategy.Load) int64 { calls++; return calls }, strategy.Load{}},
		{strategytest.MoreTargetNeverFewer, func(l strategy.Load) int64 { return 1 - l.Target }, strategy.Load{Max: 1}},
		{strategytest.MoreRunningNeverMore, func(l strategy.Load) int64 { return l.Running }, strategy.Load{Max: 2}},
		{strategytest.MorePendingNeverMore, func(l strategy.Load) int64 { return l.Pending }, strategy.Load{Running: 1, Max: 2}},
		{strategytest.MoreStuckNeverFewer, func(l strategy.Load) int64 { return 1 - l.Stuck }, strategy.Load{Running: 1, Pending: 1, Max: 2}},
		{strategytest.SmallerMaxNeverMore, func(l strategy.Load) int64 { return 2 - l.Max }, strategy.Load{Max: 2}},
		{strategytest.EmptyQueueCreatesNothing, func(strategy.Load) int64 { return 1 }, strategy.Load{Max: 1}},
		{strategytest.WithinRoom, func(l strategy.Load) int64 { return l.Target }, strategy.Load{Target: 1, Running: 1, Max: 1}},
		{strategytest.Settles, func(l strategy.Load) int64 { return 1 }, strategy.Load{Max: 2}},
	} {
		t.Run(tt.law.Name, func(t *testing.T) {
			var found *strategytest.Counterexample
			require.ErrorAs(t, strategytest.Smallest(tt.broken, tt.law), &found)
			require.Equal(t, tt.want, found.Load, "%v", found)
			require.Equal(t, tt.law.Name, found.Law)
		})
	}
}

func TestAPanicBreaksALaw(t *testing.T) {
	s := strategy.Func(func(l strategy.Load) int64 { return 1 / (l.Target - 2) })
	err := strategytest.Smallest(s, strategytest.Pure)
	require.ErrorContains(t, err, "T=1 R=0 P=0 S=0 M=1: panic: runtime error: integer divide by zero")
}

func TestLoadsMakeSense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := strategytest.Loads().Draw(t, "load")
		if l != l.Normalize() || l.Target > l.Max {
			t.Fatalf("%+v", l)
		}
	})
}

func ExampleSmallest() {
	// A strategy that forgets the Jobs that run already.
	forgetful := strategy.Func(func(l strategy.Load) int64 { return l.Target })
	fmt.Println(strategytest.Smallest(forgetful, strategytest.Settles))
	// Output:
	// asked again it creates no more: broken at T=1 R=0 P=0 S=0 M=2: it creates 1, then 1 more
}
