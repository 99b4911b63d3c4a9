package schedule

import (
	"fmt"
	"time"
)

// An Event tells something once. The zero value tells nothing.
type Event struct {
	Reason Reason
	Run    Run   // of RunSucceeded and RunFailed; of Blocked and Unblocked the one that did it
	Count  int64 // of RunsMissed and RunsDropped
}

// A Reason is what an event is about, in the form that Kubernetes wants.
type Reason string

const (
	RunSucceeded Reason = "RunSucceeded"
	RunFailed    Reason = "RunFailed"
	RunsMissed   Reason = "RunsMissed"  // outdated before they started
	RunsDropped  Reason = "RunsDropped" // more than may wait
	Blocked      Reason = "Blocked"     // the schedule starts nothing
	Unblocked    Reason = "Unblocked"
)

// String is a message for people.
func (e Event) String() string {
	switch e.Reason {
	case RunSucceeded:
		return fmt.Sprintf("Run %s succeeded after %v", e.Run.Tag, e.Run.Completed.Sub(e.Run.Started))
	case RunFailed:
		return fmt.Sprintf("Run %s failed%s", e.Run.Tag, e.Run.failure())
	case RunsMissed:
		return fmt.Sprintf("Scheduled runs that were outdated before they started: %d", e.Count)
	case RunsDropped:
		return fmt.Sprintf("Scheduled runs that were dropped, as too many wait: %d", e.Count)
	case Blocked:
		return fmt.Sprintf("The schedule starts nothing, as run %s failed; a run on demand that succeeds ends this", e.Run.Tag)
	case Unblocked:
		return "The schedule starts runs again"
	}
	return string(e.Reason)
}

func (r Run) failure() string {
	switch {
	case r.Lost:
		return ": its Job is gone"
	case r.ExitCode != 0:
		return fmt.Sprintf(" with exit code %d", r.ExitCode)
	}
	return fmt.Sprintf(" after %v", r.Completed.Sub(r.Started).Round(time.Millisecond))
}
