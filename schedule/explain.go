package schedule

import (
	"fmt"
	"strings"
	"time"
)

// String tells the decision in aligned lines, without a newline at the end: the
// counts, what runs, starts and is deleted, what waits and why, and NextCheck.
// Nothing is formatted before.
func (d Decision) String() string {
	s := d.State
	var b strings.Builder
	fmt.Fprintf(&b, "due      %d: %d started, %d waiting, %d missed, %d dropped", s.Due, s.Started, s.Waiting(), s.Missed, s.Dropped)
	line := func(name, text string) { fmt.Fprintf(&b, "\n%-8s %s", name, text) }
	for _, r := range s.Running {
		if r.Seen || d.JobsUnknown {
			line("running", r.Tag)
		}
	}
	for _, r := range d.Start {
		line("start", r.Tag)
	}
	for _, r := range s.Pending {
		line("waiting", r.Tag+": "+d.why(r))
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

// why says why a pending run does not start.
func (d Decision) why(r Run) string {
	switch {
	case d.JobsUnknown:
		return "the Jobs are not known"
	case d.State.Blocked && !r.OnDemand:
		return "blocked, as " + d.State.Last.Tag + " failed"
	}
	return "another run is active"
}
