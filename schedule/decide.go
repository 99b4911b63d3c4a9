package schedule

import (
	"slices"
	"time"
)

// A Decision says what to do. The zero value is to do nothing.
type Decision struct {
	State State // to be stored before anything is done

	Start  []Run    // create their Jobs, in this order; one that exists already is as good
	Delete []string // delete the Jobs of these tags, with their pods
	Events []Event  // what has come about since the state before

	// NextCheck is the next instant at which something becomes due, the zero time
	// where there is none. Before it, only what is observed can change the decision.
	NextCheck time.Time
	// JobsUnknown says that runs wait, and completed runs stay, for no other reason
	// than that the Jobs are not known.
	JobsUnknown bool
}

// Decide returns what to do about the runs of a job at an instant. It is total and
// pure: no input makes it panic, equal inputs give equal decisions.
//
// The rules, in order:
//
//  1. A time spec (or zone) other than the state's starts anew: from now on it
//     holds, instants before were never due, and of the counters only the waiting
//     runs are left.
//
//  2. Each request, and each completion of a dependency, that was not taken up before
//     asks for a run, which waits.
//
//  3. A Job whose tag no started run has is adopted: it was created, and the state
//     that says so was lost. Its instant counts as due, if it did not, and as started.
//     A Job that has finished completes its run; so does one that was seen and is
//     gone, as failed and lost. A run completes no earlier than it started, nor than
//     the last that had completed; if it started when that was known, it completes
//     after it.
//
//  4. Every instant after the last handled one, up to now, is due. With SkipOutdated
//     the latest alone waits, and what waited or is older is missed. Else all wait, up
//     to MaxWaiting; the oldest above that are dropped.
//
//  5. Waiting runs start, by due time, then tag: scheduled ones unless blocked, and
//     without AllowConcurrentRun only while none is running. A run that has started
//     is handed back in Start until its Job has been seen.
//
//  6. History drops completed runs, and their Jobs are deleted.
//
// Without JobsKnown there is no rule 3, and nothing starts or is deleted.
//
// The state is to be stored before the decision is carried out, and nobody else may
// delete a Job that no stored state has seen. Then no run starts twice: not when the
// program dies in between or goes on from the state before, nor when the clock goes
// back (FuzzNoRunTwice). Deciding again at one instant returns the same state and
// the same actions, and no events (FuzzIdempotent).
//
// Requests are remembered by tag: those that are listed, and 1000 that are not.
//
// The cost is linear in the runs, requests and Jobs that there are, and does not
// depend on how many instants have been missed (BenchmarkDecide).
func Decide(spec Spec, state State, seen Observed, now time.Time) Decision {
	d := newDecider(spec, state, seen, now)
	d.takeUp(seen)
	if d.jobsKnown {
		d.observe()
	}
	d.becomeDue()
	d.block()
	if d.jobsKnown {
		d.start()
	}
	d.prune()
	d.forgetAsked()
	return d.decision()
}

// A decider is a decision in the making.
type decider struct {
	spec      Spec
	state     State // a copy
	jobs      []Job // by tag
	jobsKnown bool
	now       time.Time
	instants  Instants
	listed    map[string]bool    // tags of the runs that are asked for
	adopted   map[time.Time]bool // instants of adopted runs that had not been handled
	ran       time.Time          // the latest of those, instants of another time spec included
	events    []Event
}

func newDecider(spec Spec, state State, seen Observed, now time.Time) *decider {
	d := &decider{spec: spec, state: state.clone(), jobs: sorted(seen.Jobs), jobsKnown: seen.JobsKnown,
		now: moment(now), adopted: map[time.Time]bool{}}
	if d.spec.Zone == nil {
		d.spec.Zone = time.UTC
	}
	if d.spec.MaxWaiting <= 0 {
		d.spec.MaxWaiting = DefaultMaxWaiting
	}
	slices.SortFunc(d.state.Pending, byDue)
	slices.SortFunc(d.state.Running, byDue)
	slices.SortFunc(d.state.Completed, byCompletion)
	d.connect()
	d.renew()
	d.instants = d.spec.Interval.Instants(d.state.Since, d.spec.Zone)
	return d
}

// connect notes from when on each dependency holds: those of a new job from its
// creation, others from the decision that first sees them.
func (d *decider) connect() {
	since := d.now.Truncate(time.Second) // the times of completions are whole seconds
	if d.first() {
		since = d.created()
	}
	var after []Connection
	for _, dependency := range d.spec.After {
		c := Connection{dependency, since}
		for _, old := range d.state.After {
			if old.Dependency == dependency {
				c.Since = old.Since
			}
		}
		after = append(after, c)
	}
	d.state.After = after
}

// first reports whether nothing has been decided before, not even at the zero time.
func (d *decider) first() bool { return d.state.Since.IsZero() && d.state.Handled.IsZero() }

// created is when the job was, or this decision where nobody knows.
func (d *decider) created() time.Time {
	if d.spec.Created.IsZero() {
		return d.now
	}
	return moment(d.spec.Created)
}

// renew is rule 1. A changed time spec holds after what has been handled, which
// stays so.
func (d *decider) renew() {
	s, text, zone := &d.state, d.spec.Interval.String(), ""
	if text != "" {
		zone = d.spec.Zone.String()
	}
	switch {
	case d.first():
		s.Since = d.created()
	case s.TimeSpec == text && s.Zone == zone:
		return
	default:
		s.Since = moment(d.now)
	}
	s.TimeSpec, s.Zone, s.Handled = text, zone, moment(latest(s.Handled, s.Since.Add(-1)))
	s.Due, s.Started, s.Missed, s.Dropped = s.Waiting(), 0, 0, 0
}

func (d *decider) tell(e Event) { d.events = append(d.events, e) }

func (d *decider) decision() Decision {
	r := Decision{State: d.state, Events: d.events, JobsUnknown: !d.jobsKnown}
	r.NextCheck, _ = d.instants.Next(latest(d.now, d.state.Handled))
	if !d.jobsKnown {
		return r
	}
	for _, run := range d.state.Running {
		if !run.Seen {
			r.Start = append(r.Start, run)
		}
	}
	for _, tag := range d.state.Forgotten {
		if j, ok := tagged(d.jobs, tag); ok && !j.Deleting {
			r.Delete = append(r.Delete, tag)
		}
	}
	return r
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
