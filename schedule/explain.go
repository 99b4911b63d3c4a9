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
	s := d.State
	var b strings.Builder
	fmt.Fprintf(&b, "due      %d: %d started, %d waiting, %d missed, %d dropped", s.Due, s.Started, s.Waiting(), s.Missed, s.Dropped)
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
	for _, r := range s.Pending {
		if !slices.Contains(d.Start, r) {
			line("waiting", r.Tag+": "+d.why(r))
		}
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

// why returns why a pending run does not start.
func (d Decision) why(r Run) string {
	switch {
	case r.tried():
		return "its Job was asked for and has not been observed"
	case d.JobsUnknown:
		return "the Jobs are not known"
	case d.State.Blocked && !r.OnDemand:
		return "blocked, because a run failed"
	case d.Suspended && !r.OnDemand:
		return "the schedule is suspended"
	}
	if d.State.Tries >= failing {
		return "creates fail; the next is tried at " + d.State.RetryAt.Format(time.RFC3339)
	}
	return "another run is active"
}
