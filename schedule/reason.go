package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Reason is why a run does not start, or the kind of an [Event]. It has the form of a reason of
// Kubernetes. "" means none.
type Reason string

// Reasons for which a scheduled run waits or was missed. If several apply, the first one counts.
const (
	Blocked          Reason = "Blocked"          // a run failed; also an event
	Suspended        Reason = "Suspended"        // the schedule is suspended
	OtherRunIsActive Reason = "OtherRunIsActive" // another run is active, and runs may not overlap
	CreateRejected   Reason = "CreateRejected"   // the API server rejects Jobs
	DeadlineExceeded Reason = "DeadlineExceeded" // the run waited for longer than the starting deadline
	Outdated         Reason = "Outdated"         // a later run was due
	TooManyWaiting   Reason = "TooManyWaiting"   // more runs waited than may; counted as Checkpoint.Dropped
	Ended            Reason = "Ended"            // the schedule was removed, or ended before the occurrence
	ClockAhead       Reason = "ClockAhead"       // the clock was ahead when the run became due
	Cancelled        Reason = "Cancelled"        // before it started
)

// Other reasons for which a run waits.
const (
	JobsUnknown      Reason = "JobsUnknown"      // the Jobs are not known
	CreateUnanswered Reason = "CreateUnanswered" // the API server was asked for a Job, which has not been observed
	CatchingUp       Reason = "CatchingUp"       // as many runs as may catch up are unfinished
	StateFull        Reason = "StateFull"        // the checkpoint has no room for another active run
)

// Reasons of events.
const (
	RunStarted   Reason = "RunStarted" // its Job was observed
	RunSucceeded Reason = "RunSucceeded"
	RunFailed    Reason = "RunFailed"
	RunLost      Reason = "RunLost"     // its Job was deleted before it had finished
	RunStopped   Reason = "RunStopped"  // cancelled or replaced; its Job, if any, is deleted or has failed
	RunsMissed   Reason = "RunsMissed"  // they never start, because of Event.Cause
	RunsDropped  Reason = "RunsDropped" // waiting runs never start, because of Event.Cause
	Restored     Reason = "Restored"    // the checkpoint is older than the cluster, or from another
	Rewound      Reason = "Rewound"     // a checkpoint that was ahead of the clock begins again
	Unblocked    Reason = "Unblocked"   // scheduled runs start again
)

// Annotations whose values are Policy.Unblock and Policy.Rewind.
const (
	AnnotationUnblock = "scaledjob.github.io/unblock"
	AnnotationRewind  = "scaledjob.github.io/rewind"
)

// missed has the reasons of missed runs as parts of a sentence.
var missed = map[Reason]string{
	Blocked: "a failed run blocks the schedule", Suspended: "the schedule is suspended",
	OtherRunIsActive: "another run was active", CreateRejected: "the API server rejects their Jobs",
	DeadlineExceeded: "their starting deadline passed", Outdated: "later runs were due",
	TooManyWaiting: "too many wait", Ended: "the schedule was removed or has ended",
	ClockAhead: "the clock was ahead; they become due again", Cancelled: "they were cancelled",
}

// String returns the decision in aligned lines, without a newline at the end: the
// counts, the runs that are active, start and wait, why they wait, the Jobs to delete,
// and NextCheck.
func (d Decision) String() string {
	c := d.Checkpoint.clone() // with tags
	var b strings.Builder
	fmt.Fprintf(&b, "due      %d: %d started, %d pending, %d missed, %d dropped", c.Due, c.Started, c.PendingScheduled(), c.Missed, c.Dropped)
	line := func(name, text string) { fmt.Fprintf(&b, "\n%-8s %s", name, text) }
	for _, r := range c.Running {
		if r.Stopped != "" {
			line("stopping", r.Tag+": "+r.Stopped)
		} else {
			line("running", r.Tag)
		}
	}
	for _, r := range d.Start {
		line("start", r.Tag)
	}
	for i, r := range c.Pending {
		if i >= 2*wholeRuns {
			line("waiting", fmt.Sprintf("%d more runs, from %s", len(c.Pending)-i, r.Due.Format(time.RFC3339)))
			break
		}
		if d.starts(r) {
			continue
		}
		_, text := d.waitOf(r)
		line(map[bool]string{true: "active", false: "waiting"}[r.tried()], r.Tag+": "+text)
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

func (d Decision) starts(r Run) bool {
	return slices.ContainsFunc(d.Start, func(s Run) bool { return s.Tag == r.Tag })
}

// Waits returns why the schedule does not progress, and in words: why its first waiting run does
// not start, or, without a waiting run, what keeps the next from starting, or why the last due run was
// missed. It returns "" only if the run that was due last has started. A run whose Job was asked for
// waits after three decisions without a Job.
func (d Decision) Waits() (Reason, string) {
	c := &d.Checkpoint
	if !d.JobsUnknown && !d.Clock.IsZero() {
		return ClockAhead, d.clockText()
	}
	for _, r := range c.Pending {
		isStarting := d.starts(r) || (r.tried() && c.Tries < maxTries)
		if d.JobsUnknown || !isStarting {
			return d.waitOf(r)
		}
	}
	switch reason, text := d.waitOf(Run{}); reason {
	case JobsUnknown, CreateRejected, Blocked, Suspended:
		return reason, text
	}
	if c.LastMissed != "" {
		return c.LastMissed, "the last due run was missed, because " + missed[c.LastMissed]
	}
	return "", ""
}

// waitOf returns why a pending run does not start, and in words.
func (d Decision) waitOf(r Run) (Reason, string) {
	c := &d.Checkpoint
	isHeld := !r.OnDemand && !r.tried() // by the schedule
	switch {
	case d.JobsUnknown:
		return JobsUnknown, "the Jobs are not known"
	case !d.Clock.IsZero() && r.due().After(d.Clock):
		return ClockAhead, d.clockText()
	case isHeld && c.Blocked:
		return Blocked, blockText(c.FailedRun)
	case isHeld && d.Suspended:
		return Suspended, "the schedule is suspended"
	case c.Rejected != "":
		return CreateRejected, c.Rejected + "; the next create is tried " + c.nextTry()
	case r.tried():
		return CreateUnanswered, "its Job was asked for and has not been observed"
	case c.Tries >= maxTries:
		return CreateUnanswered, "creates are not answered; the next is tried " + c.nextTry()
	case d.Held == CatchingUp:
		return CatchingUp, "as many runs as may catch up are unfinished"
	case d.Held == StateFull:
		return StateFull, "the checkpoint has no room for another active run"
	}
	return OtherRunIsActive, "another run is active"
}

func (d Decision) clockText() string {
	return fmt.Sprintf("the clock reads %s, and occurrences up to %s were handled already; if the clock was ahead then, "+
		"set the annotation %s to a new value, or change the start, recurrence or zone of the schedule",
		d.Clock.Format(time.RFC3339), d.Checkpoint.Handled.Format(time.RFC3339), AnnotationRewind)
}

func blockText(tag string) string {
	return fmt.Sprintf("run %s failed; a requested run that succeeds ends the block, as does an earlier scheduled one, or a new value of the annotation %s", tag, AnnotationUnblock)
}

func (c *Checkpoint) nextTry() string {
	if c.RetryAt.IsZero() {
		return "at once"
	}
	return "at " + c.RetryAt.Format(time.RFC3339)
}

// An Event reports a change once. The zero value reports nothing.
type Event struct {
	Reason Reason
	Run    Run // of a run's event; of Blocked the run that failed, and of Unblocked the run that completed last
	// Count is the number of runs, of RunsMissed and RunsDropped. More runs that are missed for
	// the same Cause have no event, until a scheduled run starts.
	Count int64
	Cause Reason
}

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
		return fmt.Sprintf("Run %s is lost: its Job was deleted by %s before it had finished; %s", e.Run.Tag, cmp.Or(e.Run.DeletedBy, "an unknown client"), e.Run.Pods)
	case RunsMissed:
		return fmt.Sprintf("Scheduled runs are missed, because %s: %d so far", missed[e.Cause], e.Count)
	case RunsDropped:
		return fmt.Sprintf("Waiting runs are dropped, because %s: %d so far", missed[e.Cause], e.Count)
	case Restored:
		return "The checkpoint was written for another API server or for newer data; runs that it does not show may run again"
	case Rewound:
		return "The checkpoint was ahead of the clock; the schedule begins again now"
	case Blocked:
		return "Scheduled runs no longer start: " + blockText(e.Run.Tag)
	case Unblocked:
		return "Scheduled runs start again"
	}
	return string(e.Reason)
}

// String returns the counts.
func (p Pods) String() string {
	return fmt.Sprintf("pods when last observed: %d active, %d succeeded, %d failed", p.Active, p.Succeeded, p.Failed)
}
