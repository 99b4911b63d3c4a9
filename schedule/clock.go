package schedule

import (
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// tolerance is the time by which the clocks of two controllers may differ before it is reported.
const tolerance = 10 * time.Second

// isAhead reports whether occurrences were handled that are not due yet, or the schedule has not begun: the
// clock was ahead when that was decided.
func (d *decider) isAhead() bool {
	return d.Checkpoint.Handled.Sub(d.now) > tolerance
}

// isFuture reports whether a scheduled run is not due yet: the clock was ahead when it was.
func (d *decider) isFuture(r Run) bool { return !r.OnDemand && r.due().After(d.now) }

// obey carries out the commands of the policy that are new.
func (d *decider) obey() {
	c := &d.Checkpoint
	if d.isNew("unblock", d.policy.Unblock) {
		c.FailedRun = ""
	}
	if d.isNew("rewind", d.policy.Rewind) && c.Handled.After(d.now) {
		handled := d.now
		if c.Begin.After(d.now) {
			c.Begin, handled = d.now, interval.Clamp(d.now.Add(-1))
		}
		d.handle(handled)
		d.tell(Event{Reason: Rewound})
	}
}

// rememberedCommands is the number of values that never act again.
const rememberedCommands = 20

// isNew reports whether a value has not acted, and remembers it.
func (d *decider) isNew(command, value string) bool {
	c, mark := &d.Checkpoint, digest(4, command, value)
	if value == "" || slices.Contains(c.Commands, mark) {
		return false
	}
	c.Commands = append(c.Commands, mark)
	c.Commands = c.Commands[max(0, len(c.Commands)-rememberedCommands):]
	return true
}

// handle sets the time up to which occurrences were handled, which may be earlier than before. Later
// occurrences whose runs have started start nothing.
func (d *decider) handle(until time.Time) {
	c := &d.Checkpoint
	c.Handled, c.LastMissed = until, ""
	started := slices.DeleteFunc(slices.Concat(c.Pending, c.Running, c.Completed), func(r Run) bool { return r.Status == Pending && !r.tried() })
	early := slices.Clone(c.Early)
	for tag := range tagsOf(c.PendingDeletion, started) {
		if t, ok := TagOccurrence(d.policy.UID, tag); ok {
			early = append(early, t)
		}
	}
	c.Early = nil
	for _, t := range early {
		d.noteEarly(t)
	}
}

// noteEarly notes an occurrence whose run has started, if it is later than those handled.
func (d *decider) noteEarly(t time.Time) {
	c := &d.Checkpoint
	if i, found := slices.BinarySearchFunc(c.Early, t, time.Time.Compare); t.After(c.Handled) && !found {
		c.Early = slices.Insert(c.Early, i, t)
	}
}

// settle lets runs wait again whose creates had no effect and never will, if they are not due.
func (d *decider) settle() {
	if !d.observation.Settled || d.JobsUnknown {
		return
	}
	c := &d.Checkpoint
	for i := range c.Pending {
		r := &c.Pending[i]
		if _, exists := d.jobs[r.Tag]; exists || !r.tried() || !d.isFuture(*r) {
			continue
		}
		r.Tried = time.Time{}
		c.Early = slices.DeleteFunc(c.Early, r.Due.Equal)
	}
}

// dropFuture drops the waiting runs of occurrences that become due again, because the checkpoint was rewound.
func (d *decider) dropFuture() {
	d.discardTold(ClockAhead, func(r Run) bool { return d.isFuture(r) && r.Due.After(d.Checkpoint.Handled) })
}
