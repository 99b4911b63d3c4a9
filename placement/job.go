package placement

import (
	"fmt"
	"math"
	"time"

	"github.com/scaledjob/scaledjob/rollout"
)

// Phase is where a Job is in its life. The zero value is Running.
type Phase uint8

const (
	Running     Phase = iota // unfinished, and a pod of it is Running or Succeeded
	Pending                  // unfinished, and none is
	InFlight                 // created, but not yet seen: pending, and never stuck
	Suspended                // unfinished, and spec.suspend is true: pending, and never stuck
	Terminating              // unfinished, on its way out: holds room, serves nothing
	Succeeded
	Failed
)

var phases = [...]string{"running", "pending", "in flight", "suspended", "terminating", "succeeded", "failed"}

// String returns the phase in words.
func (p Phase) String() string {
	if int(p) < len(phases) {
		return phases[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// A Job is what the rules need to know of one. The zero value runs.
type Job struct {
	Name         string
	UID          string // no two Jobs have the same
	Phase        Phase
	PendingSince time.Time // of a Pending one: when it was created, or when it was last running; the zero time is unknown
	Replaces     Source    // what it was created to replace; the zero value is nothing
	Deleting     bool      // has a deletion timestamp: if it has not finished, it is terminating
	Finished     time.Time // of a Succeeded or Failed one: see history.Times
	Revision     rollout.Revision
	NeverStarted bool // no pod of it has ever started; where that is not known, false
	// Unconfirmed is that its create was not answered, so that nobody knows whether it
	// exists. It takes up room and needs no replacement beside it, but no other Job is
	// deleted for it.
	Unconfirmed bool
}

// A Source is the Job that a replacement stands in for. It is kept on the
// replacement, in labels.
type Source struct {
	UID string // of the first Job of the chain, also where a replacement was replaced
	// Attempt counts the replacements of that Job, from 1. It orders them, because
	// times of two API servers do not.
	Attempt int32
}

// Stuck reports whether the Job has been pending for the grace period at least. If
// it has not, next is when it will have been; the zero time is never. One that is pending
// since an unknown time is not stuck. An age below 0, of a clock that was set back, is 0.
func (j *Job) Stuck(grace time.Duration, now time.Time) (stuck bool, next time.Time) {
	if j.Phase != Pending || j.Deleting || j.PendingSince.IsZero() {
		return false, time.Time{}
	}
	return elapsed(j.PendingSince, grace, now)
}

// finished reports whether the Job has come to an end.
func (j *Job) finished() bool { return j.Phase == Succeeded || j.Phase == Failed }

// live reports whether the Job is neither at its end nor on its way there.
func (j *Job) live() bool { return !j.Deleting && j.Phase < Terminating }

// Counts are unfinished Jobs. They make sense when 0 <= Stuck <= Pending <= Running
// and 0 <= Terminating; what does not is taken as strategy.Load.Normalize does.
type Counts struct {
	Running     int64 `json:"running,omitempty"` // have not finished and are not terminating
	Pending     int64 `json:"pending,omitempty"` // the part of Running that is pending, in flight or suspended
	Stuck       int64 `json:"stuck,omitempty"`   // the part of Pending that has been so for the grace period
	Terminating int64 `json:"terminating,omitempty"`
}

// add counts a Job that is live.
func (c *Counts) add(p Phase, stuck bool) {
	c.Running++
	if p != Running {
		c.Pending++
	}
	if stuck {
		c.Stuck++
	}
}

// plus adds two counts, neither below 0, and saturates.
func (c Counts) plus(o Counts) Counts {
	sum := func(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }
	return Counts{sum(c.Running, o.Running), sum(c.Pending, o.Pending), sum(c.Stuck, o.Stuck), sum(c.Terminating, o.Terminating)}
}

// sane is with no number below 0, and no Stuck, which a time tells.
func (c Counts) sane() Counts {
	return Counts{Running: max(0, c.Running), Pending: max(0, min(c.Pending, c.Running)), Terminating: max(0, c.Terminating)}
}

// total are the Jobs that take up room.
func (c Counts) total() int64 {
	return Counts{Running: c.Running}.plus(Counts{Running: c.Terminating}).Running
}
