package adapter

import (
	"context"
	"sync/atomic"

	"github.com/scaledjob/scaledjob/adapter/term"
)

// An office is a lease that a test takes, marks and loses.
type office struct {
	*term.Holder
	lost  atomic.Bool
	fails error
	marks []term.Mark
}

// newOffice returns a lease that is held or not.
func newOffice(held bool) *office {
	o := &office{Holder: &term.Holder{}}
	if held {
		o.takes(term.Mark{})
	}
	return o
}

func (o *office) takes(found term.Mark) {
	o.lost.Store(false)
	o.Begin(o, found)
}

func (o *office) Valid() bool { return !o.lost.Load() }

func (o *office) Mark(_ context.Context, m term.Mark) error {
	o.marks = append(o.marks, m)
	return o.fails
}
