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
		_, why := d.waitOf(r)
		switch {
		case slices.Contains(d.Start, r):
		case r.Tried.IsZero():
			line("waiting", r.Tag+": "+why)
		default:
			line("active", r.Tag+": "+why)
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
			return d.waitOf(r)
		}
	}
	switch hold, why := d.waitOf(Run{}); hold {
	case Unknown, Rejecting, IsBlocked, IsSuspended:
		return hold, why
	}
	return NotHeld, ""
}

// waitOf returns why a pending run does not start, and in words.
func (d Decision) waitOf(r Run) (Hold, string) {
	s := &d.State
	switch {
	case d.JobsUnknown:
		return Unknown, "the Jobs are not known"
	case s.Rejected != "" && (r.tried() || r.OnDemand || !s.Blocked && !d.Suspended):
		return Rejecting, s.Rejected + "; the next create is tried " + s.nextTry()
	case r.tried():
		return Unanswered, "its Job was asked for and has not been observed"
	case s.Blocked && !r.OnDemand:
		return IsBlocked, fmt.Sprintf("run %s failed; a requested run that succeeds ends the block", s.Last.Tag)
	case d.Suspended && !r.OnDemand:
		return IsSuspended, "the schedule is suspended"
	case s.Tries >= failing:
		return Unanswered, "creates are not answered; the next is tried " + s.nextTry()
	case d.Held == CatchingUp:
		return CatchingUp, "as many runs as may catch up are unfinished"
	case d.Held == StateFull:
		return StateFull, "the state has no room for another active run"
	}
	return OtherActive, "another run is active"
}

func (s *State) nextTry() string {
	if s.RetryAt.IsZero() {
		return "at once"
	}
	return "at " + s.RetryAt.Format(time.RFC3339)
}

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
	return slices.Contains([]Reason{RunFailed, RunLost, RunsMissed, RunsDropped, Blocked, Restored}, e.Reason)
}

// String returns a message for people.
func (e Event) String() string {
	took := e.Run.Completed.Sub(e.Run.Started).Round(time.Millisecond)
	switch e.Reason {
	case RunStarted:
		return fmt.Sprintf("Run %s started", e.Run.Tag)
	case RunStopped:
		return fmt.Sprintf("Run %s was %s", e.Run.Tag, e.Run.Stopped)
	case RunSucceeded:
		return fmt.Sprintf("Run %s succeeded after %v", e.Run.Tag, took)
	case RunFailed:
		if e.Run.ExitCode != 0 {
			return fmt.Sprintf("Run %s failed with exit code %d", e.Run.Tag, e.Run.ExitCode)
		}
		return fmt.Sprintf("Run %s failed after %v", e.Run.Tag, took)
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

// String returns the counts.
func (p Pods) String() string {
	return fmt.Sprintf("pods when last observed: %d active, %d succeeded, %d failed", p.Active, p.Succeeded, p.Failed)
}
