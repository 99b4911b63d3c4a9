// Package term decides whether a process may act: from becoming the leader until its lease ends.
//
//	terms := &term.Holder{}       // one for each process
//	terms.Begin(lease, found)     // the process has taken the lease
//	ctx, cancel, err := terms.Request(ctx, timeout) // before each request
//
// Waiting requests need more: they may be sent after the end of the term. The clients of package
// client ask the context of each change right before they send it. [Term.Request] and the
// requests of a tracker have such a context. [With] makes one for other requests.
//
// The lease is an interface. Package kube has the lease of Kubernetes. A program with a world that is not
// Kubernetes writes its own.
//
// # Marks
//
// A lease stores a [Mark], which tells the next term what this term left behind. The write that
// takes the lease removes Clean, and the write that releases it stores what [Holder.End]
// returned. A process that is killed stores nothing:
//
//   - Keyed work then waits for twice the request timeout before its first create.
//   - Numbered work waits only if the lease has the mark Aside, which is written before a
//     number with refused creates is passed over, and goes at an orderly end.
//
// A lease without storage finds no mark, and its Mark returns [ErrNoMark]. Keyed work then
// always waits, and a number with refused creates blocks its owner.
//
// # Tests
//
//	a term ends for good, also if the lease is taken again   TestTerms
//	what the marks say                                       TestMarks, TestClean
//	a request has a deadline of its own, and says so         TestRequest
//	the term of a context                                    TestWith; TestMayAct in adapter/client
package term

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Lease lets a single process act at a time. This process has taken it.
type Lease interface {
	// Valid reports whether no other process can hold the lease now. It must be right in a
	// process that was stopped and continues. It must neither block nor fail.
	Valid() bool
	// Mark stores a mark, with a write that fails if another process has taken the lease.
	Mark(context.Context, Mark) error
}

// A Mark is the note of a lease about earlier terms. The zero value is none.
type Mark struct {
	Clean bool // the term before ended in order, with no create in doubt
	Aside bool // a term before may have set aside a number with refused creates
}

// ErrEnded is the error of acting without a term, or after its end.
var ErrEnded = errors.New("this process may not act: its term has ended")

// ErrNoAnswer is the cause of a context of [Timeout] after its time. It is then a
// context.DeadlineExceeded too.
var ErrNoAnswer = errors.New("no answer")

// ErrNoMark is the error of a lease that stores no marks.
var ErrNoMark = errors.New("the lease stores no marks")

// A Term is the time for which this process leads. It ends for good when its lease is not
// valid, or [Holder.End] is called.
type Term struct {
	lease  Lease
	found  Mark
	began  time.Time
	ended  atomic.Bool
	marked atomic.Bool // the lease has the mark Aside

	mu      sync.Mutex
	works   []Work
	late    time.Duration // the longest of them
	marking sync.Mutex    // held while the mark is written
}

// A Work is what acts in a term, such as a tracker of Jobs. It reports whether it knows the
// outcome of all its creates, and sets nothing aside.
type Work func() (settled bool)

// Found returns the mark that the lease had when it was taken.
func (t *Term) Found() Mark { return t.found }

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

// Aside stores the mark Aside, unless the lease has it. The term keeps it until its end.
func (t *Term) Aside(ctx context.Context) error {
	t.marking.Lock()
	defer t.marking.Unlock()
	if err := t.Err(); err != nil || t.marked.Load() {
		return err
	}
	err := t.lease.Mark(ctx, Mark{Aside: true})
	t.marked.Store(err == nil) // after an error the lease may have it, which does no harm
	return err
}

// end ends the term, and returns what the lease may say about it. The mark Aside goes if nothing is set
// aside or in doubt, and no create of an earlier term may still arrive.
func (t *Term) end() Mark {
	if t == nil {
		return Mark{}
	}
	t.ended.Store(true)
	t.mu.Lock()
	works, old := t.works, time.Since(t.began) >= t.late
	t.mu.Unlock()
	all := true
	for _, settled := range works {
		all = all && settled()
	}
	return Mark{
		Clean: all && (t.found.Clean || len(works) > 0 && old),
		Aside: t.marked.Load() && !(all && len(works) > 0 && old),
	}
}

// A Holder has the terms of a process, one after another. The zero value has none. It is the
// one place that decides whether the process may act.
type Holder struct{ term atomic.Pointer[Term] }

// Alone returns a holder whose term never ends, for a program that runs once and has no
// replicas: nothing prevents that two of them act. It is as after a kill: keyed work waits.
func Alone() *Holder {
	h := &Holder{}
	h.Begin(alone{}, Mark{})
	return h
}

type alone struct{}

func (alone) Valid() bool                      { return true }
func (alone) Mark(context.Context, Mark) error { return ErrNoMark }

// Begin begins a term, after the process has taken the lease, which had that mark. It ends the
// term before.
func (h *Holder) Begin(l Lease, found Mark) *Term {
	t := &Term{lease: l, found: found, began: time.Now()}
	t.marked.Store(found.Aside)
	if before := h.term.Swap(t); before != nil {
		before.ended.Store(true)
	}
	return t
}

// End ends the term, right before the process releases the lease, and returns the mark to
// store with the release.
func (h *Holder) End() Mark { return h.Term().end() }

// Term returns the present term, which may have ended. It is nil before the first, and for a
// nil Holder.
func (h *Holder) Term() *Term {
	if h == nil {
		return nil
	}
	return h.term.Load()
}

// Err returns nil while the process may act, and else [ErrEnded].
func (h *Holder) Err() error { return h.Term().Err() }

// MayAct reports whether the process may act.
func (h *Holder) MayAct() bool { return h.Err() == nil }

// Request returns a context for a request, which ends after the timeout, or [ErrEnded].
func (h *Holder) Request(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	return h.Term().Request(ctx, timeout)
}

// Request returns a context for a request, which ends after the timeout, or [ErrEnded].
func (t *Term) Request(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	ctx, cancel := Timeout(With(ctx, t), timeout)
	if err := t.Err(); err != nil {
		cancel()
		return ctx, func() {}, err
	}
	return ctx, cancel, nil
}

type termKey struct{}

// With returns a context whose requests change nothing after the end of a [Term], or while a
// [Holder] has none.
func With(ctx context.Context, of interface{ Err() error }) context.Context {
	return context.WithValue(ctx, termKey{}, of)
}

// Check returns nil if a request with this context may be sent, and else [ErrEnded]. Without
// [With] it may.
func Check(ctx context.Context) error {
	if of, ok := ctx.Value(termKey{}).(interface{ Err() error }); ok {
		return of.Err()
	}
	return nil
}

// Timeout returns a context for a request, which ends after the timeout with [ErrNoAnswer].
func Timeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w within %s: %w", ErrNoAnswer, timeout, context.DeadlineExceeded))
}
