package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// String returns the decision in aligned lines, without a newline at the end: the
// counts, the runs that are active, start and wait, why they wait, the Jobs to delete,
// and NextCheck.
func (d Decision) String() string {
	s := d.State.clone() // with tags
	var b strings.Builder
	fmt.Fprintf(&b, "due      %d: %d started, %d pending, %d missed, %d dropped", s.Due, s.Started, s.PendingScheduled(), s.Missed, s.Dropped)
	line := func(name, text string) { fmt.Fprintf(&b, "\n%-8s %s", name, text) }
	for _, r := range s.Running {
		if r.Stopped != "" {
			line("stopping", r.Tag+": "+r.Stopped)
		} else {
			line("running", r.Tag)
		}
	}
	for _, r := range d.Start {
		line("start", r.Tag)
	}
	for i, r := range s.Pending {
		if i >= 2*mostWhole {
			line("waiting", fmt.Sprintf("%d more runs, from %s", len(s.Pending)-i, r.Due.Format(time.RFC3339)))
			break
		}
		if slices.Contains(d.Start, r) {
			continue
		}
		name := "waiting"
		if !r.Tried.IsZero() {
			name = "active"
		}
		_, why := d.WaitOf(r)
		line(name, r.Tag+": "+why)
	}
	for _, tag := range d.Delete {
		line("delete", tag)
	}
	if d.NextCheck.IsZero() {
		line("next", "never")
	} else {
		line("next", d.NextCheck.Format(time.RFC3339Nano))
	}
	return b.String()
}

// A Hold is why a run does not start.
type Hold string

const (
	NotHeld     Hold = ""
	Unknown     Hold = "JobsUnknown"      // the Jobs are not known
	Rejecting   Hold = "CreateRejected"   // the API server rejects Jobs
	Unanswered  Hold = "CreateUnanswered" // the API server was asked for a Job, which has not been observed
	IsBlocked   Hold = "Blocked"          // a run failed
	IsSuspended Hold = "Suspended"
	CatchingUp  Hold = "CatchingUp" // as many runs as may catch up are unfinished
	StateFull   Hold = "StateFull"  // the state has no room for another active run
	OtherActive Hold = "OtherRunIsActive"
)

// Waits returns why the schedule does not progress, and in words: why its first waiting run does
// not start, or, without a waiting run, that Jobs are unknown, or that the schedule is rejected,
// blocked or suspended. A run whose Job was asked for waits after three decisions without a Job.
func (d Decision) Waits() (Hold, string) {
	for _, r := range d.State.Pending {
		if !slices.Contains(d.Start, r) && !(r.tried() && d.State.Tries < failing) {
			return d.WaitOf(r)
		}
	}
	switch hold, why := d.WaitOf(Run{}); hold {
	case Unknown, Rejecting, IsBlocked, IsSuspended:
		return hold, why
	}
	return NotHeld, ""
}

func (d Decision) rejecting() string {
	text := d.State.Rejected
	if !d.State.RetryAt.IsZero() {
		text += "; the next create is tried at " + d.State.RetryAt.Format(time.RFC3339)
	}
	return text
}

// WaitOf returns why a pending run does not start, and in words.
func (d Decision) WaitOf(r Run) (Hold, string) {
	s := &d.State
	switch {
	case d.JobsUnknown:
		return Unknown, "the Jobs are not known"
	case s.Rejected != "" && (r.tried() || r.OnDemand || !s.Blocked && !d.Suspended):
		return Rejecting, d.rejecting()
	case r.tried():
		return Unanswered, "its Job was asked for and has not been observed"
	case s.Blocked && !r.OnDemand:
		return IsBlocked, fmt.Sprintf("run %s failed; a requested run that succeeds ends the block", s.Last.Tag)
	case d.Suspended && !r.OnDemand:
		return IsSuspended, "the schedule is suspended"
	case s.Tries >= failing:
		return Unanswered, "creates are not answered; the next is tried at " + s.RetryAt.Format(time.RFC3339)
	case d.Held != "":
		return d.Held, map[Hold]string{CatchingUp: "as many runs as may catch up are unfinished", StateFull: "the state has no room for another active run"}[d.Held]
	}
	return OtherActive, "another run is active"
}
