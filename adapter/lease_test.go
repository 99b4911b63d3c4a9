package adapter

import (
	"context"
	"sync/atomic"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A testLease is a lease that a test takes, marks and loses.
type testLease struct {
	*requests.Terms
	lost  atomic.Bool
	fails error
	marks int
}

// newLease returns a lease that is held or not.
func newLease(held bool) *testLease {
	l := &testLease{Terms: &requests.Terms{}}
	if held {
		l.take(false)
	}
	return l
}

func (l *testLease) take(marked bool) {
	l.lost.Store(false)
	l.Begin(l, marked)
}

func (l *testLease) Valid() bool { return !l.lost.Load() }

func (l *testLease) Mark(context.Context) error {
	l.marks++
	return l.fails
}
