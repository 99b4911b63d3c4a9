package strategytest

import (
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/strategy"
)

// A Property is a rule that a strategy obeys or breaks at a load. Callers may
// write their own.
type Property struct {
	Name    string // names the subtest
	Meaning string // the rule, as a sentence
	// Check returns an error that shows both proposals if s breaks the rule at l. A
	// rule that compares two loads takes the second at the distance step, which is
	// positive.
	Check func(s strategy.Strategy, l strategy.Load, step int64) error
	// OnlyTotals reports whether the rule applies only to strategies whose target is
	// a total: see [strategy.TargetIsTotal].
	OnlyTotals bool
}

// The properties of [All]: name and meaning of each. SettlesInOnePoll applies only to totals,
// and a damped strategy, which creates a part of the missing Jobs in each poll, breaks it alone.
// "Creates" is the proposal within 0 ... max(0, M - R).
var (
	Pure                     = Property{"Pure", "equal loads get equal proposals", pure, false}
	MonotoneInTarget         = Property{"MonotoneInTarget", "a larger target never creates fewer Jobs", monotoneInTarget, false}
	MonotoneInRunning        = Property{"MonotoneInRunning", "more running Jobs never create more", monotoneInRunning, false}
	MonotoneInPending        = Property{"MonotoneInPending", "more pending Jobs, of the same running ones, never create more", monotoneInPending, false}
	MonotoneInStuck          = Property{"MonotoneInStuck", "more stuck Jobs, of the same pending ones, never create fewer", monotoneInStuck, false}
	MonotoneInMax            = Property{"MonotoneInMax", "a smaller maximum never creates more Jobs", monotoneInMax, false}
	EmptyQueueCreatesNothing = Property{"EmptyQueueCreatesNothing", "a target of 0 creates no Job", emptyQueueCreatesNothing, false}
	WithinHeadroom           = Property{"WithinHeadroom", "the proposal itself is at most max(0, M - R)", withinHeadroom, false}
	SettlesInOnePoll         = Property{"SettlesInOnePoll", "after the created Jobs are running and pending, the same target creates no more", settlesInOnePoll, true}
)

// All returns every property of this package.
func All() []Property {
	return []Property{Pure, MonotoneInTarget, MonotoneInRunning, MonotoneInPending, MonotoneInStuck, MonotoneInMax,
		EmptyQueueCreatesNothing, WithinHeadroom, SettlesInOnePoll}
}

// Applicable returns the properties of [All] that apply to s, except the given properties.
func Applicable(s strategy.Strategy, except ...Property) []Property {
	return slices.DeleteFunc(All(), func(p Property) bool {
		return (p.OnlyTotals && !strategy.TargetIsTotal(s)) || contains(except, p)
	})
}

func contains(properties []Property, p Property) bool {
	return slices.ContainsFunc(properties, func(other Property) bool { return other.Name == p.Name })
}

func pure(s strategy.Strategy, l strategy.Load, step int64) error {
	first, other := propose(s, l), l
	other.Target = plus(l.Target, step)
	s.Propose(other)
	second := propose(s, l)
	return violation(first, second, first.proposal != second.proposal)
}

func monotoneInTarget(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Target = min(plus(l.Target, step), l.Max)
	return neverMore(propose(s, other), propose(s, l))
}

func monotoneInRunning(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Running = plus(l.Running, step)
	return neverMore(propose(s, l), propose(s, other))
}

func monotoneInPending(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Pending = min(plus(l.Pending, step), l.Running)
	return neverMore(propose(s, l), propose(s, other))
}

func monotoneInStuck(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Stuck = min(plus(l.Stuck, step), l.Pending)
	return neverMore(propose(s, other), propose(s, l))
}

func monotoneInMax(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Max = max(0, l.Max-step)
	other.Target = min(l.Target, other.Max)
	return neverMore(propose(s, l), propose(s, other))
}

func emptyQueueCreatesNothing(s strategy.Strategy, l strategy.Load, _ int64) error {
	empty := l
	empty.Target = 0
	second := propose(s, empty)
	return violation(propose(s, l), second, second.create() > 0)
}

func withinHeadroom(s strategy.Strategy, l strategy.Load, _ int64) error {
	p := propose(s, l)
	return violation(p, p, p.proposal > headroom(l))
}

func settlesInOnePoll(s strategy.Strategy, l strategy.Load, _ int64) error {
	first, after := propose(s, l), l
	after.Running, after.Pending = plus(l.Running, first.create()), plus(l.Pending, first.create())
	second := propose(s, after)
	return violation(first, second, second.create() > 0)
}

// An answer is a strategy's proposal for a load.
type answer struct {
	load     strategy.Load
	proposal int64
}

func propose(s strategy.Strategy, l strategy.Load) answer { return answer{l, s.Propose(l)} }

// create is the proposal as callers bound it.
func (a answer) create() int64 { return min(max(0, a.proposal), headroom(a.load)) }

func (a answer) String() string {
	return fmt.Sprintf("at %s it proposes %d and creates %d", format(a.load), a.proposal, a.create())
}

func headroom(l strategy.Load) int64 { return max(0, l.Max-l.Running) }

// neverMore returns an error if the second answer creates more than the first.
func neverMore(first, second answer) error {
	return violation(first, second, second.create() > first.create())
}

func violation(first, second answer, broken bool) error {
	switch {
	case !broken:
		return nil
	case first == second:
		return fmt.Errorf("%v", first)
	}
	return fmt.Errorf("%v; %v", first, second)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
