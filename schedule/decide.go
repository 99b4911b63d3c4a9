package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Decision holds the state after it, and the actions. The zero value does nothing.
type Decision struct {
	State State // the caller must store it before it carries out the actions

	// Start holds the runs whose Jobs to create, in this order. A Job that exists
	// already counts as created. If Start is not empty, State differs from the state
	// before.
	Start []Run
	// Stop holds the tags of unfinished Jobs to delete in the foreground, so that a Job exists
	// as long as its pods: of runs that are cancelled or replaced, of Jobs that are being
	// deleted in another way, and of Jobs that were created after their run had completed.
	Stop []string
	// Delete holds the tags of runs that history has dropped: delete their Jobs and pods.
	Delete []string
	// Expire holds the tags of completed runs whose Jobs keep their time to live: let it begin.
	Expire []string
	Events []Event // changes since the state before

	// NextRun is the next occurrence. The zero time means that there is none.
	NextRun time.Time

	// NextCheck is the next time at which the decision can change without a change of
	// its other arguments. The zero time means never.
	NextCheck time.Time
	// JobsUnknown reports that nothing starts and nothing is deleted because the Jobs are
	// not known.
	JobsUnknown bool
	Suspended   bool // Spec.Suspended
	Held        Hold // why runs that may start are left out: CatchingUp, StateFull, or empty
}

// Decide returns the state of a job's runs at a time, and the actions. No input makes
// it panic, and equal inputs give equal decisions. The package comment has its rules. With a state that
// [State.Validate] rejects, nothing is decided.
//
// The cost is that of sorting the runs, requests and Jobs, and of comparing each adopted Job,
// rejected create and cancelled tag with each run and request. With an interval as the schedule,
// it does not depend on the number of missed occurrences (BenchmarkDecide).
func Decide(spec Spec, state State, seen Observed, now time.Time) Decision {
	if state.Validate() != nil {
		return Decision{State: state.clone(), JobsUnknown: true}
	}
	d := newDecider(spec, state, seen, now)
	d.connect()
	d.renew()
	maps.Copy(d.lost, d.State.MissedBy)
	d.lost[dropped] = d.State.Dropped
	d.State.Version, d.State.UID = stateVersion, cmp.Or(d.State.UID, d.spec.UID) // restore changes the UID
	d.due = occurrences(d.spec.Schedule, d.State.Since)
	d.read(seen)
	d.reject(seen.Rejected)
	d.becomeDue()
	if !d.JobsUnknown {
		d.observe()
	}
	d.takeUp(seen)
	d.block()
	if !d.JobsUnknown {
		d.cancel(seen.Cancelled)
		d.replace()
		d.start()
		d.forbid()
	}
	d.prune()
	d.tellLost()
	d.forgetRequested()
	return d.decision(seen.Revision)
}

// Refresh returns the state in which the runs agree with their Jobs. It is for a job
// whose spec cannot be read: nothing becomes due, starts or is dropped by history. Jobs
// of runs that the state does not have are ignored. NextCheck is the zero time.
func Refresh(state State, seen Observed, now time.Time) Decision {
	if state.Validate() != nil || state.fresh() {
		return Decision{State: state.clone(), JobsUnknown: true}
	}
	d := newDecider(Spec{UID: state.UID}, state, seen, now)
	d.due = interval.Occurrences{}
	d.reject(seen.Rejected)
	if !d.JobsUnknown {
		known := tagsOf(d.State.PendingDeletion, d.State.Pending, d.State.Running, d.State.Completed)
		maps.DeleteFunc(d.jobs, func(tag string, _ Job) bool { return !known[tag] })
		d.observe()
	}
	r := d.decision(seen.Revision)
	r.NextCheck = time.Time{}
	return r
}

// A decider is a decision in the making.
type decider struct {
	Decision
	spec      Spec
	jobs      map[string]Job // by tag
	now       time.Time
	due       Counter
	requests  []Run             // that are listed, by due time
	answered  map[string]bool   // tags of the listed requests, and whether they are answered
	changed   bool              // by the list of Jobs
	rejected  bool              // a create, since the decision before
	missed    Missed            // runs that this decision misses or drops
	lost      Missed            // all runs that were missed or dropped
	deletedBy map[string]string // Observed.DeletedBy
}

func newDecider(spec Spec, state State, seen Observed, now time.Time) *decider {
	d := &decider{spec: spec, jobs: byTag(seen.Jobs), deletedBy: seen.DeletedBy, now: interval.Clamp(now), missed: Missed{}, lost: Missed{}, answered: map[string]bool{}}
	d.State, d.JobsUnknown, d.Suspended = state.clone(), !seen.JobsKnown, spec.Suspended
	d.spec.Created = cmp.Or(utc(spec.Created), d.now)
	d.spec.MaxWaiting, d.spec.MaxCatchUp = cmp.Or(max(0, spec.MaxWaiting), 1000), cmp.Or(max(0, spec.MaxCatchUp), 10)
	if d.restore(seen); d.JobsUnknown {
		d.jobs = nil
	}
	known := tagsOf(d.State.PendingDeletion, d.State.Running, d.State.Completed)
	d.State.Pending = slices.DeleteFunc(d.State.Pending, func(r Run) bool { // a state that was edited by hand
		again := known[r.Tag]
		known[r.Tag] = true
		return again
	})
	slices.SortFunc(d.State.Pending, byDue)
	slices.SortFunc(d.State.Running, byDue)
	slices.SortFunc(d.State.Completed, byCompletion)
	return d
}

// restore accepts a state of another job, or a state that is newer than the Jobs, if they were
// read consistently. Until then the Jobs are not known.
func (d *decider) restore(seen Observed) {
	s := &d.State
	newer := seen.Revision > 0 && seen.Revision < s.JobsRevision
	if !newer && (s.UID == "" || s.UID == d.spec.UID || d.spec.UID == "") {
		return
	}
	if d.JobsUnknown = !seen.Consistent || !seen.JobsKnown; d.JobsUnknown {
		return
	}
	s.UID, s.JobsRevision = d.spec.UID, seen.Revision
	d.changed = true
	d.tell(Event{Reason: Restored})
}

// connect notes from when on each dependency holds: those of a new job from its
// creation, others from the decision that first sees them.
func (d *decider) connect() {
	since := d.now.Truncate(time.Second) // the times of completions are whole seconds
	if d.State.fresh() {
		since = d.spec.Created
	}
	var after []Connection
	for _, dependency := range d.spec.After {
		c := Connection{Dependency: dependency, Since: since}
		for _, old := range d.State.After {
			if old.Dependency == dependency {
				c = old
			}
		}
		after = append(after, c)
	}
	d.State.After = after
}

// renew is rule 1. The occurrences that have been handled stay handled.
func (d *decider) renew() {
	s, text := &d.State, ""
	if d.spec.Schedule != nil {
		text = d.spec.Schedule.String()
	}
	switch {
	case d.State.fresh():
		s.Since = d.spec.Created
	case s.TimeSpec == text:
		return
	default:
		s.Since = d.now
	}
	s.TimeSpec, s.Handled = text, interval.Clamp(latest(s.Handled, s.Since.Add(-1)))
	s.Due, s.Started, s.Missed, s.Dropped, s.MissedBy, s.Missing = s.PendingScheduled(), 0, 0, 0, nil, nil
}

func (d *decider) tell(e Event) { d.Events = append(d.Events, e) }

func (d *decider) decision(revision int64) Decision {
	if d.changed {
		d.State.JobsRevision = max(d.State.JobsRevision, revision)
	}
	d.NextRun, _ = d.due.Next(latest(d.now, d.State.Handled))
	d.NextCheck = earliest(d.NextRun, d.nextLate())
	if d.JobsUnknown {
		return d.Decision
	}
	d.NextCheck = earliest(d.NextCheck, d.nextTry())
	for _, r := range d.State.Running {
		if d.jobs[r.Tag].Deleting || r.Stopped != "" {
			d.Stop = append(d.Stop, r.Tag)
		}
	}
	d.Stop = slices.DeleteFunc(d.Stop, func(tag string) bool { return d.jobs[tag].Deleting && d.jobs[tag].Foreground })
	for _, r := range d.State.Completed {
		if j := d.jobs[r.Tag]; j.Keeps && !j.Deleting && j.finished() {
			d.Expire = append(d.Expire, r.Tag)
		}
	}
	for _, tag := range d.State.PendingDeletion {
		if j, ok := d.jobs[tag]; ok && !j.Deleting {
			d.Delete = append(d.Delete, tag)
		}
	}
	return d.Decision
}

// earliest returns the earlier time; the zero time means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
