package schedule

import (
	"fmt"
	"time"
)

// An Event reports a change once. The zero value reports nothing.
type Event struct {
	Reason Reason
	Run    Run   // of RunStarted, RunSucceeded, RunFailed and RunStopped; of Blocked and Unblocked the run that caused it
	Count  int64 // number of runs, of RunsMissed and RunsDropped
}

// A Reason is the kind of an event, in the form of a reason of Kubernetes.
type Reason string

const (
	RunStarted   Reason = "RunStarted" // its Job was observed
	RunSucceeded Reason = "RunSucceeded"
	RunFailed    Reason = "RunFailed"
	RunStopped   Reason = "RunStopped"  // cancelled or replaced; its Job, if it had one, is deleted or has failed
	RunsMissed   Reason = "RunsMissed"  // outdated, too late or forbidden before they started
	RunsDropped  Reason = "RunsDropped" // more than may wait
	Blocked      Reason = "Blocked"     // scheduled runs no longer start
	Unblocked    Reason = "Unblocked"   // scheduled runs start again
)

// Warning reports whether the event asks for attention.
func (e Event) Warning() bool {
	switch e.Reason {
	case RunFailed, RunsMissed, RunsDropped, Blocked:
		return true
	}
	return false
}

// String returns a message for people.
func (e Event) String() string {
	switch e.Reason {
	case RunStarted:
		return fmt.Sprintf("Run %s started", e.Run.Tag)
	case RunStopped:
		return fmt.Sprintf("Run %s was %s", e.Run.Tag, e.Run.Stopped)
	case RunSucceeded:
		return fmt.Sprintf("Run %s succeeded after %v", e.Run.Tag, e.Run.took())
	case RunFailed:
		return fmt.Sprintf("Run %s failed%s", e.Run.Tag, e.Run.failure())
	case RunsMissed:
		return fmt.Sprintf("Scheduled runs missed, because a later run was due, the starting deadline passed, or another run was active: %d", e.Count)
	case RunsDropped:
		return fmt.Sprintf("Scheduled runs dropped, because too many wait: %d", e.Count)
	case Blocked:
		return fmt.Sprintf("Scheduled runs no longer start, because run %s failed; a requested run that succeeds ends the block", e.Run.Tag)
	case Unblocked:
		return "Scheduled runs start again"
	}
	return string(e.Reason)
}

func (r Run) failure() string {
	switch {
	case r.Lost:
		return ": its Job was deleted"
	case r.ExitCode != 0:
		return fmt.Sprintf(" with exit code %d", r.ExitCode)
	}
	return fmt.Sprintf(" after %v", r.took())
}

// took returns the duration of a completed run.
func (r Run) took() time.Duration { return r.Completed.Sub(r.Started).Round(time.Millisecond) }
