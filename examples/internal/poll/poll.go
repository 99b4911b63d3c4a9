// Package poll has the parts of a poller that are the same whatever it polls.
//
// A poller is a goroutine that belongs to one object, from when it is seen until it is
// gone. It gets the object's changes through a [Latest], polls for the first time after
// a delay that [Spread] says, and tells what goes wrong through [Warnings].
package poll

import (
	"fmt"
	"log/slog"
	"time"
)

// A Latest passes values on, of which only the newest counts: one that has not been
// received when the next is sent is dropped.
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

// Delay is from now until the first poll of the next object: some time below 30 s, and
// 0 where the object is new.
func (s *Spread) Delay(initial bool) time.Duration {
	if !initial {
		return 0
	}
	s.initial++
	return time.Duration(s.initial) * 10 * time.Millisecond % (30 * time.Second)
}

// Warnings logs what is wrong once, and not again at every poll. The zero value is not
// of use: it needs a Log.
type Warnings struct {
	Log  *slog.Logger
	told map[string]string
}

// Warn logs the error under that heading, unless it is the same as last time; nil is
// that nothing is wrong. What is over 1,000 characters of a text is cut off: who wrote
// it is not known.
func (w *Warnings) Warn(what string, err error) {
	text := ""
	if err != nil {
		text = fmt.Sprintf("%.1000s", err)
	}
	if text != "" && text != w.told[what] {
		w.Log.Warn(what, "err", text)
	}
	switch {
	case text == "":
		delete(w.told, what)
	case w.told == nil:
		w.told = map[string]string{what: text}
	default:
		w.told[what] = text
	}
}
