// Package poll has the common parts of pollers.
//
// A poller is a goroutine of an object, from its first observation until its deletion. It
// gets the object's changes through a [Latest], polls for the first time after a delay from
// [Spread], and logs problems through [Warnings].
package poll

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
)

// A Latest passes values on, and only the newest counts: a value that has not been received
// when the next is sent is dropped.
type Latest[T any] chan T

// NewLatest returns a Latest that has nothing to receive.
func NewLatest[T any]() Latest[T] { return make(chan T, 1) }

// Send does not wait. Only one goroutine may call it.
func (l Latest[T]) Send(value T) {
	select {
	case <-l:
	default:
	}
	l <- value
}

// A Spread spreads the first polls of the objects that are there already when a program
// starts, so that a restart with thousands does not read every queue at once. The zero
// value has spread none.
type Spread struct{ initial int }

// Delay returns the time until the first poll of the next object: below 30 s, and 0 for a
// new object.
func (s *Spread) Delay(initial bool) time.Duration {
	if !initial {
		return 0
	}
	s.initial++
	return time.Duration(s.initial) * 10 * time.Millisecond % (30 * time.Second)
}

// Handle calls h with the informer's events until the context ends. handled reports whether h
// got every object that was there already. remove is called after the end: it removes h, and returns
// when no call of it is under way, so that what a call has started can be waited for. A context that has
// ended is no error, though its informer takes no handler any more.
func Handle(ctx context.Context, informer cache.SharedInformer, h cache.ResourceEventHandlerDetailedFuncs) (handled func() bool, remove func() error, err error) {
	handling := make(chan struct{}, 1)
	unlessEnded := func(call func()) {
		handling <- struct{}{}
		defer func() { <-handling }()
		if ctx.Err() == nil {
			call()
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { unlessEnded(func() { h.OnAdd(object, initial) }) },
		UpdateFunc: func(old, object any) { unlessEnded(func() { h.OnUpdate(old, object) }) },
		DeleteFunc: func(object any) { unlessEnded(func() { h.OnDelete(object) }) },
	})
	if ctx.Err() != nil && err != nil {
		return func() bool { return false }, func() error { return nil }, nil
	}
	handled = func() bool { return err == nil && registration.HasSynced() }
	return handled, func() error {
		err := informer.RemoveEventHandler(registration)
		handling <- struct{}{}
		<-handling // what comes late still finds out that the context has ended
		return err
	}, err
}

// Warnings logs a problem once, and not again in every poll. It needs a Log: the zero value
// is not ready.
type Warnings struct {
	Log    *slog.Logger
	logged map[string]string
}

// Warn logs the error with a heading, unless it is the same as last time. A nil error means
// no problem.
func (w *Warnings) Warn(heading string, err error) {
	text := ""
	if err != nil {
		text = adapter.Words(err)
	}
	if text != "" && text != w.logged[heading] {
		w.Log.Warn(heading, "err", text)
	}
	switch {
	case text == "":
		delete(w.logged, heading)
	case w.logged == nil:
		w.logged = map[string]string{heading: text}
	default:
		w.logged[heading] = text
	}
}
