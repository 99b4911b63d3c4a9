package schedule

import (
	"fmt"
	"time"
)

// An Event reports a change once. The zero value reports nothing.
type Event struct {
	Reason Reason
	Run    Run // of RunStarted, RunSucceeded, RunFailed and RunStopped; of Blocked and Unblocked the run that caused it
	// Count is the number of runs, of RunsMissed and RunsDropped. More runs that are lost for
	// the same Cause have no event, until a scheduled run starts.
	Count int64
	Cause Cause
}

// A Reason is the kind of an event, in the form of a reason of Kubernetes.
type Reason string

const (
	RunStarted   Reason = "RunStarted" // its Job was observed
	RunSucceeded Reason = "RunSucceeded"
	RunFailed    Reason = "RunFailed"
	RunLost      Reason = "RunLost"     // its Job was deleted before it had finished
	RunStopped   Reason = "RunStopped"  // cancelled or replaced; its Job, if any, is deleted or has failed
	RunsMissed   Reason = "RunsMissed"  // they never start, because of Event.Cause
	RunsDropped  Reason = "RunsDropped" // more than may wait
	Restored     Reason = "Restored"    // the state is older than the cluster, or from another
	Blocked      Reason = "Blocked"     // scheduled runs no longer start
	Unblocked    Reason = "Unblocked"   // scheduled runs start again
)

// Warning reports whether the event asks for attention.
func (e Event) Warning() bool {
	switch e.Reason {
	case RunFailed, RunLost, RunsMissed, RunsDropped, Blocked, Restored:
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
	case RunLost:
		by := ""
		if e.Run.DeletedBy != "" {
			by = " by " + e.Run.DeletedBy
		}
		return fmt.Sprintf("Run %s is lost: its Job was deleted%s before it had finished; %s", e.Run.Tag, by, e.Run.Pods)
	case RunsMissed:
		return fmt.Sprintf("Scheduled runs are missed, because %s: %d so far", because[e.Cause], e.Count)
	case RunsDropped:
		return fmt.Sprintf("Scheduled runs are dropped, because too many wait: %d so far", e.Count)
	case Restored:
		return "The state was written for another API server or for newer data; runs that it does not show may run again"
	case Blocked:
		return fmt.Sprintf("Scheduled runs no longer start, because run %s failed; a requested run that succeeds ends the block", e.Run.Tag)
	case Unblocked:
		return "Scheduled runs start again"
	}
	return string(e.Reason)
}

// because has the causes as parts of a sentence.
var because = map[Cause]string{
	Outdated: "later runs were due", TooLate: "their starting deadline passed",
	Forbidden: "another run was active", CreateRejected: "the API server rejects their Jobs",
}

// String returns the counts, such as "1 pod active, 2 failed".
func (p Pods) String() string {
	return fmt.Sprintf("pods when last observed: %d active, %d succeeded, %d failed", p.Active, p.Succeeded, p.Failed)
}

func (r Run) failure() string {
	if r.ExitCode != 0 {
		return fmt.Sprintf(" with exit code %d", r.ExitCode)
	}
	return fmt.Sprintf(" after %v", r.took())
}

// took returns the duration of a completed run.
func (r Run) took() time.Duration { return r.Completed.Sub(r.Started).Round(time.Millisecond) }
