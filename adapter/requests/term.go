package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Lease lets a single process act at a time. This process has taken it.
type Lease interface {
	// Valid reports whether no other process can hold the lease now. It must be right in a
	// process that was stopped and continues. It must neither block nor fail.
	Valid() bool
	// Mark stores the mark, with a write that fails if another process has taken the lease.
	Mark(context.Context) error
}

// ErrEnded is the error of acting without a term, or after its end.
var ErrEnded = errors.New("this process is not the leader")

// ErrNoAnswer is the cause of a context of [Timeout] after its time. It is then a
// context.DeadlineExceeded too.
var ErrNoAnswer = errors.New("no answer")

// ErrNoMark is the error of a lease that stores no mark.
var ErrNoMark = errors.New("the lease stores no mark")

// A Term is the time for which this process leads. It ends for good when its lease is not
// valid, or [Terms.End] is called.
type Term struct {
	lease  Lease
	found  bool // the lease had the mark when it was taken
	start  time.Time
	ended  atomic.Bool
	marked atomic.Bool // the lease has the mark

	mu      sync.Mutex
	works   []Work
	late    time.Duration // the longest of them
	marking sync.Mutex    // held while the mark is written
}

// A Work is what acts in a term, such as a tracker of Jobs. It reports whether it knows the
// outcome of all its creates, and skips no number.
type Work func() (settled bool)

// Marked reports whether the lease had the mark when it was taken; a nil Term had none.
func (t *Term) Marked() bool { return t != nil && t.found }

// Err returns nil while the process may act, and else [ErrEnded].
func (t *Term) Err() error {
	if t == nil || t.ended.Load() {
		return ErrEnded
	}
	if !t.lease.Valid() {
		t.ended.Store(true)
		return ErrEnded
	}
	return nil
}

// Join adds a work to the term, whose requests have their effect within late.
func (t *Term) Join(late time.Duration, w Work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.works, t.late = append(t.works, w), max(t.late, late)
}

// Mark stores the mark, unless the lease has it. The term keeps it until its end.
func (t *Term) Mark(ctx context.Context) error {
	t.marking.Lock()
	defer t.marking.Unlock()
	if err := t.Err(); err != nil || t.marked.Load() {
		return err
	}
	err := t.lease.Mark(ctx)
	t.marked.Store(err == nil) // after an error the lease may have it, which does no harm
	return err
}

// end ends the term, and reports whether the lease keeps the mark: unless nothing is skipped or in
// doubt, and no create of an earlier term may still arrive.
func (t *Term) end() (marked bool) {
	if t == nil {
		return false
	}
	t.ended.Store(true)
	if !t.marked.Load() {
		return false
	}
	t.mu.Lock()
	works, late := t.works, t.late
	t.mu.Unlock()
	unsettled := slices.ContainsFunc(works, func(settled Work) bool { return !settled() })
	return len(works) == 0 || unsettled || time.Since(t.start) < late
}

// Terms are the terms of a process, one after another. The zero value has none. They are the
// one place that decides whether the process may act.
type Terms struct{ term atomic.Pointer[Term] }

// OneShot returns terms whose first has begun and lasts until End, for a program that runs once and has no
// replicas: nothing prevents that two of them act. A number with refused creates blocks its owner.
func OneShot() *Terms { return withoutLease(false) }

// WithoutLease is [OneShot] for a program that runs for long and starts again. Each start waits as
// a term with the mark does, and then a number with refused creates blocks nobody.
func WithoutLease() *Terms { return withoutLease(true) }

func withoutLease(marked bool) *Terms {
	t := &Terms{}
	t.Begin(noLease{}, marked)
	return t
}

type noLease struct{}

func (noLease) Valid() bool                { return true }
func (noLease) Mark(context.Context) error { return ErrNoMark }

// Begin begins a term, after the process has taken the lease, and ends the term before. marked says
// whether the lease had the mark.
func (t *Terms) Begin(l Lease, marked bool) *Term {
	begun := &Term{lease: l, found: marked, start: time.Now()}
	begun.marked.Store(marked)
	if before := t.term.Swap(begun); before != nil {
		before.ended.Store(true)
	}
	return begun
}

// End ends the term, right before the process releases the lease, and reports whether the lease keeps
// the mark.
func (t *Terms) End() (marked bool) { return t.Term().end() }

// Term returns the present term, which may have ended. It is nil before the first, and for a
// nil Terms.
func (t *Terms) Term() *Term {
	if t == nil {
		return nil
	}
	return t.term.Load()
}

// Err returns nil while the process may act, and else [ErrEnded].
func (t *Terms) Err() error { return t.Term().Err() }

// MayAct reports whether the process may act.
func (t *Terms) MayAct() bool { return t.Err() == nil }

// Request returns a context for a request, which ends after the timeout, or [ErrEnded].
func (t *Term) Request(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	ctx, cancel := Timeout(WithTerm(ctx, t), timeout)
	if err := t.Err(); err != nil {
		cancel()
		return ctx, func() {}, err
	}
	return ctx, cancel, nil
}

type termKey struct{}

// WithTerm returns a context whose requests change nothing after the end of a [Term], or while a
// process has none.
func WithTerm(ctx context.Context, term interface{ Err() error }) context.Context {
	return context.WithValue(ctx, termKey{}, term)
}

// CheckTerm returns nil if a request with this context may be sent, and else [ErrEnded]. Without
// [WithTerm] it may.
func CheckTerm(ctx context.Context) error {
	if term, ok := ctx.Value(termKey{}).(interface{ Err() error }); ok {
		return term.Err()
	}
	return nil
}

// Timeout returns a context for a request, which ends after the timeout with [ErrNoAnswer].
func Timeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w within %s: %w", ErrNoAnswer, timeout, context.DeadlineExceeded))
}
