package schedule

import (
	"cmp"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/field"
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
	// Problems is the input that was ignored: a state of an unknown version, with which
	// nothing is decided, and requests without an ID.
	Problems []*field.Error
}

// Decide returns the state of a job's runs at a time, and the actions. No input makes
// it panic, and equal inputs give equal decisions. The package comment has its rules.
//
// The cost is that of sorting the runs, requests and Jobs. Besides, each adopted Job, rejected
// create and cancelled tag is compared with each waiting run, request and active run. With an
// interval as the schedule, it does not depend on the number of missed occurrences
// (BenchmarkDecide).
func Decide(spec Spec, state State, seen Observed, now time.Time) Decision {
	if err := state.Validate(); err != nil {
		return Decision{State: state.clone(), JobsUnknown: true, Problems: field.All(err)}
	}
	d := newDecider(spec, state, seen, now)
	d.connect()
	d.renew()
	d.state.Version, d.state.UID = stateVersion, cmp.Or(d.state.UID, d.spec.UID) // restore changes the UID
	d.due = occurrences(d.spec.Schedule, d.state.Since)
	d.read(seen)
	d.reject(seen.Rejected)
	d.becomeDue()
	if d.jobsKnown {
		d.observe()
	}
	d.backOff()
	d.takeUp(seen)
	d.block()
	if d.jobsKnown {
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
	if err := state.Validate(); err != nil || state.fresh() {
		return Decision{State: state.clone(), JobsUnknown: true, Problems: field.All(err)}
	}
	d := newDecider(Spec{UID: state.UID}, state, seen, now)
	d.due = interval.Occurrences{}
	if d.jobsKnown {
		known := d.tagsOf(d.state.Pending, d.state.Running, d.state.Completed)
		d.jobs = slices.DeleteFunc(d.jobs, func(j Job) bool { return !known[j.Tag] })
		d.observe()
	}
	d.reject(seen.Rejected)
	d.backOff()
	r := d.decision(seen.Revision)
	r.NextCheck = time.Time{}
	return r
}

// A decider is a decision in the making.
type decider struct {
	spec      Spec
	state     State // a copy
	jobs      []Job // by tag
	jobsKnown bool
	now       time.Time
	due       Counter
	requests  []Run             // that are listed, by due time
	answered  map[string]bool   // tags of the listed requests, and whether they are answered
	changed   bool              // by the list of Jobs
	rejected  string            // the reason of the last rejection that is new
	missed    Missed            // runs that this decision misses or drops
	again     []string          // tags of completed runs with an unfinished Job
	deletedBy map[string]string // Observed.DeletedBy
	waits     Hold              // of runs that bounded leaves out
	starts    []Run
	events    []Event
	problems  field.Errors
}

func newDecider(spec Spec, state State, seen Observed, now time.Time) *decider {
	d := &decider{spec: spec, state: state.clone(), jobs: sorted(seen.Jobs), jobsKnown: seen.JobsKnown, deletedBy: seen.DeletedBy,
		now: interval.Clamp(now), missed: Missed{}, answered: map[string]bool{}}
	d.restore(seen)
	if d.spec.MaxWaiting <= 0 {
		d.spec.MaxWaiting = DefaultMaxWaiting
	}
	if d.spec.MaxCatchUp <= 0 {
		d.spec.MaxCatchUp = DefaultMaxCatchUp
	}
	slices.SortFunc(d.state.Pending, byDue)
	slices.SortFunc(d.state.Running, byDue)
	slices.SortFunc(d.state.Completed, byCompletion)
	return d
}

// restore accepts a state of another job, or a state that is newer than the Jobs, if they were
// read consistently. Until then the Jobs are not known.
func (d *decider) restore(seen Observed) {
	s := &d.state
	newer := seen.Revision > 0 && seen.Revision < s.JobsRevision
	if !newer && (s.UID == "" || s.UID == d.spec.UID || d.spec.UID == "") {
		return
	}
	if d.jobsKnown = seen.Consistent && seen.JobsKnown; !d.jobsKnown {
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
	if d.state.fresh() {
		since = d.created()
	}
	var after []Connection
	for _, dependency := range d.spec.After {
		c := Connection{Dependency: dependency, Since: since}
		for _, old := range d.state.After {
			if old.Dependency == dependency {
				c = old
			}
		}
		after = append(after, c)
	}
	d.state.After = after
}

// created is when the job was, or this decision where nobody knows.
func (d *decider) created() time.Time {
	if d.spec.Created.IsZero() {
		return d.now
	}
	return interval.Clamp(d.spec.Created)
}

// renew is rule 1. The occurrences that have been handled stay handled.
func (d *decider) renew() {
	s, text := &d.state, ""
	if d.spec.Schedule != nil {
		text = d.spec.Schedule.String()
	}
	switch {
	case d.state.fresh():
		s.Since = d.created()
	case s.TimeSpec == text:
		return
	default:
		s.Since = interval.Clamp(d.now)
	}
	s.TimeSpec, s.Handled = text, interval.Clamp(latest(s.Handled, s.Since.Add(-1)))
	s.Due, s.Started, s.Missed, s.Dropped, s.MissedBy, s.Missing = s.PendingScheduled(), 0, 0, 0, nil, nil
}

func (d *decider) tell(e Event) { d.events = append(d.events, e) }

func (d *decider) decision(revision int64) Decision {
	if d.changed {
		d.state.JobsRevision = max(d.state.JobsRevision, revision)
	}
	r := Decision{State: d.state, Start: d.starts, Events: d.events, JobsUnknown: !d.jobsKnown, Suspended: d.spec.Suspended, Held: d.waits,
		Stop: d.again, Problems: field.All(d.problems.Err())}
	r.NextRun, _ = d.due.Next(latest(d.now, d.state.Handled))
	r.NextCheck = earliest(r.NextRun, d.nextLate())
	if !d.jobsKnown {
		return r
	}
	r.NextCheck = earliest(r.NextCheck, d.nextTry())
	for _, running := range d.state.Running {
		if j, ok := tagged(d.jobs, running.Tag); ok && (j.Deleting || running.Stopped != "") {
			r.Stop = append(r.Stop, running.Tag)
		}
	}
	r.Stop = slices.DeleteFunc(r.Stop, func(tag string) bool {
		j, _ := tagged(d.jobs, tag)
		return j.Deleting && j.Foreground
	})
	for _, c := range d.state.Completed {
		if j, ok := tagged(d.jobs, c.Tag); ok && j.Keeps && !j.Deleting && finished(j) == 1 {
			r.Expire = append(r.Expire, c.Tag)
		}
	}
	for _, tag := range d.state.PendingDeletion {
		if j, ok := tagged(d.jobs, tag); ok && !j.Deleting {
			r.Delete = append(r.Delete, tag)
		}
	}
	return r
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
