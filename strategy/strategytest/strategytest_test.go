package strategytest_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
	"github.com/scaledjob/scaledjob/test/premise"
)

// Each property has a strategy that breaks it, and finds it.
func TestPropertiesFindTheirBreakers(t *testing.T) {
	calls := int64(0)
	broken := []struct {
		property strategytest.Property
		broken   strategy.Func
		want     strategy.Load
		shown    string
	}{
		{strategytest.Pure, func(strategy.Load) int64 { calls++; return calls }, strategy.Load{},
			"at T=0 R=0 P=0 S=0 M=0 it proposes 1 and creates 0; at T=0 R=0 P=0 S=0 M=0 it proposes 3 and creates 0"},
		{strategytest.MonotoneInTarget, func(l strategy.Load) int64 { return 1 - l.Target }, strategy.Load{Max: 1},
			"at T=1 R=0 P=0 S=0 M=1 it proposes 0 and creates 0; at T=0 R=0 P=0 S=0 M=1 it proposes 1 and creates 1"},
		{strategytest.MonotoneInRunning, func(l strategy.Load) int64 { return l.Running }, strategy.Load{Max: 2},
			"at T=0 R=0 P=0 S=0 M=2 it proposes 0 and creates 0; at T=0 R=1 P=0 S=0 M=2 it proposes 1 and creates 1"},
		{strategytest.MonotoneInPending, func(l strategy.Load) int64 { return l.Pending }, strategy.Load{Running: 1, Max: 2},
			"at T=0 R=1 P=0 S=0 M=2 it proposes 0 and creates 0; at T=0 R=1 P=1 S=0 M=2 it proposes 1 and creates 1"},
		{strategytest.MonotoneInStuck, func(l strategy.Load) int64 { return 1 - l.Stuck }, strategy.Load{Running: 1, Pending: 1, Max: 2},
			"at T=0 R=1 P=1 S=1 M=2 it proposes 0 and creates 0; at T=0 R=1 P=1 S=0 M=2 it proposes 1 and creates 1"},
		{strategytest.MonotoneInMax, func(l strategy.Load) int64 { return 2 - l.Max }, strategy.Load{Max: 2},
			"at T=0 R=0 P=0 S=0 M=2 it proposes 0 and creates 0; at T=0 R=0 P=0 S=0 M=1 it proposes 1 and creates 1"},
		{strategytest.EmptyQueueCreatesNothing, func(strategy.Load) int64 { return 1 }, strategy.Load{Max: 1},
			"at T=0 R=0 P=0 S=0 M=1 it proposes 1 and creates 1"},
		{strategytest.WithinHeadroom, func(l strategy.Load) int64 { return l.Target }, strategy.Load{Target: 1, Running: 1, Max: 1},
			"at T=1 R=1 P=0 S=0 M=1 it proposes 1 and creates 0"},
		{strategytest.SettlesInOnePoll, func(l strategy.Load) int64 { return 1 }, strategy.Load{Max: 2},
			"at T=0 R=0 P=0 S=0 M=2 it proposes 1 and creates 1; at T=0 R=1 P=1 S=0 M=2 it proposes 1 and creates 1"},
	}
	require.Len(t, broken, len(strategytest.All()))
	for i, tt := range broken {
		t.Run(tt.property.Name, func(t *testing.T) {
			var found *strategytest.Counterexample
			err := strategytest.Smallest(tt.broken, tt.property)
			require.ErrorAs(t, err, &found)
			require.Equal(t, tt.want, found.Load, "%v", found)
			require.Equal(t, tt.property.Name, found.Property)
			require.Equal(t, tt.property.Name, strategytest.All()[i].Name)
			require.NotEmpty(t, tt.property.Meaning)
			for _, shown := range []string{tt.property.Name, tt.property.Meaning, tt.shown} {
				require.ErrorContains(t, err, shown)
			}
		})
	}
}

// A total is the strategy default, with one more Job at loads of a target.
type total struct{ from, to int64 }

func (total) TargetIsTotal() bool { return true }

func (s total) Propose(l strategy.Load) int64 {
	if s.from <= l.Target && l.Target <= s.to {
		return max(0, l.Target-l.Running) + 1
	}
	return min(max(0, l.Target-l.Running), max(0, l.Max-l.Running))
}

const breaker = "STRATEGYTEST_BREAKER"

// TestBreakers is run by TestRunFails, in a process of its own.
func TestBreakers(t *testing.T) {
	switch os.Getenv(breaker) {
	case "small":
		strategytest.Run(t, total{1, 1}, strategytest.InProgress)
	case "random":
		strategytest.Run(t, total{9, math.MaxInt64}, strategytest.InProgress)
	case "property":
		rapid.Check(t, strategytest.Random(total{9, math.MaxInt64}, strategytest.WithinHeadroom))
	case "exception":
		strategytest.Run(t, strategy.Default{}, strategytest.InProgress, strategytest.WithinHeadroom)
	case "none":
		strategytest.Run(t, strategy.Default{}, strategytest.InProgress)
	}
}

// Run and Random fail the test of a strategy that breaks a property, at a small
// load or only at a larger one.
func TestRunFails(t *testing.T) {
	for name, want := range map[string]string{
		"small":     "--- FAIL: TestBreakers/WithinHeadroom",
		"random":    "--- FAIL: TestBreakers/WithinHeadroom",
		"property":  "WithinHeadroom (the proposal itself is at most max(0, M - R)) is broken at T=",
		"exception": "default: T - R has the property WithinHeadroom; remove it from the exceptions",
		"none":      "",
	} {
		t.Run(name, func(t *testing.T) {
			run := exec.Command(os.Args[0], "-test.run=^TestBreakers$", "-rapid.nofailfile")
			run.Env = append(os.Environ(), breaker+"="+name)
			out, err := run.CombinedOutput()
			if want == "" {
				require.NoError(t, err, "%s", out)
				return
			}
			var failed *exec.ExitError
			require.ErrorAs(t, err, &failed, "%s", out)
			require.Contains(t, string(out), want)
		})
	}
}

func TestApplicable(t *testing.T) {
	names := func(properties []strategytest.Property) (all []string) {
		for _, p := range properties {
			all = append(all, p.Name)
		}
		return all
	}
	require.Equal(t, names(strategytest.All()), names(strategytest.Applicable(strategy.Default{})))
	require.Equal(t, []string{"MonotoneInTarget", "MonotoneInRunning", "MonotoneInPending", "MonotoneInStuck", "MonotoneInMax",
		"EmptyQueueCreatesNothing", "WithinHeadroom"}, names(strategytest.Applicable(strategy.Eager{}, strategytest.Pure)))
}

func TestAPanicBreaksAProperty(t *testing.T) {
	s := strategy.Func(func(l strategy.Load) int64 { return 1 / (l.Target - 2) })
	err := strategytest.Smallest(s, strategytest.Pure)
	require.ErrorContains(t, err, "T=1 R=0 P=0 S=0 M=1: panic: runtime error: integer divide by zero")
}

// Loads make sense, and the states in which strategies differ are common.
func propLoads(t *rapid.T, c *premise.Counts) {
	l := strategytest.Loads().Draw(t, "load")
	if l != l.Normalize() || l.Target > l.Max {
		t.Fatalf("%+v", l)
	}
	room := l.Max - l.Running
	c.Note("0 < S < P < R < M", 0 < l.Stuck && l.Stuck < l.Pending && l.Pending < l.Running && l.Running < l.Max)
	c.Note("R < T < M", l.Running < l.Target && l.Target < l.Max)
	c.Note("T < R < M", l.Target < l.Running && l.Running < l.Max)
	c.Note("T + R <= M", l.Target <= room)
	c.Note("T + R - P <= M < T + R", room < l.Target && l.Target <= room+l.Pending)
	c.Note("M < T + R - P", l.Target > room && l.Target-l.Pending > room)
	c.Note("R > M", l.Running > l.Max)
	c.Note("T + R is above MaxInt64", l.Target > math.MaxInt64-l.Running)
}

func TestLoads(t *testing.T) {
	premise.Check(t, propLoads, premise.Least{
		"0 < S < P < R < M": 0.1, "R < T < M": 0.1, "T < R < M": 0.1, "T + R <= M": 0.15, "T + R - P <= M < T + R": 0.1, "M < T + R - P": 0.1,
		"R > M": 0.1, "T + R is above MaxInt64": 0.05,
	})
}

func ExampleSmallest() {
	// A strategy that ignores the running Jobs.
	s := strategy.Func(func(l strategy.Load) int64 { return l.Target })
	fmt.Println(strategytest.Smallest(s, strategytest.SettlesInOnePoll))
	// Output:
	// SettlesInOnePoll (after the created Jobs are running and pending, the same target creates no more) is broken at T=1 R=0 P=0 S=0 M=2: at T=1 R=0 P=0 S=0 M=2 it proposes 1 and creates 1; at T=1 R=1 P=1 S=0 M=2 it proposes 1 and creates 1
}

// A strategy that ignores the running Jobs gives 3 items 12 Jobs, and one that subtracts them
// starves a queue that counts waiting items only. A damped strategy breaks SettlesInOnePoll alone.
func TestQueueProperties(t *testing.T) {
	blind := strategy.Func(func(l strategy.Load) int64 { return min(l.Target, max(0, l.Max-l.Running)) })
	damped := strategy.Total{Strategy: strategy.Func(func(l strategy.Load) int64 {
		return (min(max(0, l.Target-l.Running), max(0, l.Max-l.Running)) + 1) / 2
	})}
	broken := func(s strategy.Strategy, counted strategytest.Items) (names []string) {
		for _, p := range append(strategytest.Applicable(s), strategytest.QueueProperties(counted)...) {
			if strategytest.Smallest(s, p) != nil {
				names = append(names, p.Name)
			}
		}
		return names
	}
	require.Equal(t, []string{"NoJobWithoutItem"}, broken(blind, strategytest.InProgress))
	require.Equal(t, []string{"NoJobWithoutItem"}, broken(blind, strategytest.Waiting), "a Job that is starting has no item yet")
	require.Equal(t, []string{"SettlesInOnePoll"}, broken(damped, strategytest.InProgress))
	require.Equal(t, []string{"ServesEachItem"}, broken(strategy.Default{}, strategytest.Waiting))
	require.Empty(t, broken(strategy.Default{}, strategytest.InProgress))
	require.Empty(t, broken(strategy.Accurate{SubtractPending: true}, strategytest.Waiting))
	require.Empty(t, broken(strategy.PendingAware{}, strategytest.InProgress))
}
