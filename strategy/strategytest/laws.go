package strategytest

import (
	"fmt"
	"math"

	"github.com/scaledjob/scaledjob/strategy"
)

// Pure: equal loads get equal proposals, whatever is asked in between.
var Pure = Law{"equal loads get equal proposals", func(s strategy.Strategy, l strategy.Load, step int64) error {
	before := s.Propose(l)
	other := l
	other.Target = plus(l.Target, step)
	s.Propose(other)
	if after := s.Propose(l); after != before {
		return fmt.Errorf("it proposes %d, then %d", before, after)
	}
	return nil
}}

// MoreTargetNeverFewer: a larger target, with the maximum it needs, never
// creates fewer Jobs.
var MoreTargetNeverFewer = Law{"a larger target never creates fewer Jobs", func(s strategy.Strategy, l strategy.Load, step int64) error {
	more := l
	more.Target = min(plus(l.Target, step), l.Max)
	return compare(s, l, more, fewer)
}}

// MoreRunningNeverMore: more running Jobs never create more.
var MoreRunningNeverMore = Law{"more running Jobs never create more", func(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Running = plus(l.Running, step)
	return compare(s, l, other, more)
}}

// MorePendingNeverMore: more of the running Jobs being pending never creates
// more.
var MorePendingNeverMore = Law{"more pending Jobs never create more", func(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Pending = min(plus(l.Pending, step), l.Running)
	return compare(s, l, other, more)
}}

// MoreStuckNeverFewer: more of the pending Jobs being stuck never creates fewer.
var MoreStuckNeverFewer = Law{"more stuck Jobs never create fewer", func(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Stuck = min(plus(l.Stuck, step), l.Pending)
	return compare(s, l, other, fewer)
}}

// SmallerMaxNeverMore: a smaller maximum never creates more Jobs.
var SmallerMaxNeverMore = Law{"a smaller maximum never creates more Jobs", func(s strategy.Strategy, l strategy.Load, step int64) error {
	other := l
	other.Max = max(0, l.Max-step)
	other.Target = min(l.Target, other.Max)
	return compare(s, l, other, more)
}}

// EmptyQueueCreatesNothing: a target of 0 creates no Job.
var EmptyQueueCreatesNothing = Law{"an empty queue creates nothing", func(s strategy.Strategy, l strategy.Load, _ int64) error {
	l.Target = 0
	if n := create(s, l); n > 0 {
		return fmt.Errorf("at %s it creates %d", format(l), n)
	}
	return nil
}}

// WithinRoom: the proposal itself is at most max(0, M - R), before anybody
// bounds it.
var WithinRoom = Law{"the proposal alone stays within the maximum", func(s strategy.Strategy, l strategy.Load, _ int64) error {
	if n, room := s.Propose(l), room(l); n > room {
		return fmt.Errorf("it proposes %d where there is room for %d", n, room)
	}
	return nil
}}

// Settles: asked again when the Jobs that it created are running and pending, and
// nothing else has changed, it creates no more.
var Settles = Law{"asked again it creates no more", func(s strategy.Strategy, l strategy.Load, _ int64) error {
	n := create(s, l)
	after := l
	after.Running, after.Pending = plus(l.Running, n), plus(l.Pending, n)
	if again := create(s, after); again > 0 {
		return fmt.Errorf("it creates %d, then %d more", n, again)
	}
	return nil
}}

// create is the proposal as callers bound it.
func create(s strategy.Strategy, l strategy.Load) int64 {
	return min(max(0, s.Propose(l)), room(l))
}

func room(l strategy.Load) int64 { return max(0, l.Max-l.Running) }

func fewer(before, after int64) bool { return after < before }

func more(before, after int64) bool { return after > before }

func compare(s strategy.Strategy, l, other strategy.Load, broken func(before, after int64) bool) error {
	before, after := create(s, l), create(s, other)
	if broken(before, after) {
		return fmt.Errorf("it creates %d, and at %s %d", before, format(other), after)
	}
	return nil
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
