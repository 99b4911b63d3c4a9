package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Decision holds the checkpoint after it, and the actions. The zero value does nothing.
type Decision struct {
	Checkpoint Checkpoint // the caller must store it before it carries out the actions

	// Start holds the runs whose Jobs to create, in this order. A Job that exists
	// already counts as created. If Start is not empty, Checkpoint differs from the checkpoint
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
	Events []Event // changes since the checkpoint before

	// NextRun is the next occurrence of the schedule, if any.
	NextRun Occurrence
	// NextCheck is the next time at which the decision can change without a change of
	// its other arguments. The zero time means never.
	NextCheck time.Time

	// JobsUnknown reports that nothing starts and nothing is deleted because the Jobs are
	// not known.
	JobsUnknown bool
	Suspended   bool      // Policy.Suspended
	Held        Reason    // why runs that may start are left out: CatchingUp, StateFull, or empty
	Clock       time.Time // Observation.Now, if the checkpoint is ahead of it; else zero
}

// Decide returns the runs of a job at a time as a checkpoint, and the actions. No input makes
// it panic, and equal inputs give equal decisions. The package comment has its rules. With a checkpoint that
// [Checkpoint.Validate] rejects, nothing is decided.
//
// The cost is that of sorting the runs, requests and Jobs, and of comparing each adopted Job,
// rejected create and cancelled tag with each run and request. With an interval as the schedule,
// it does not depend on the number of missed occurrences (BenchmarkDecide).
func Decide(policy Policy, observation Observation, checkpoint Checkpoint) Decision {
	if checkpoint.Validate() != nil {
		return Decision{Checkpoint: checkpoint.clone(), JobsUnknown: true}
	}
	d := newDecider(policy, observation, checkpoint)
	c := &d.Checkpoint
	d.connect()
	d.renew()
	d.obey()
	maps.Copy(d.total, c.MissedBy)
	d.total[TooManyWaiting] = c.Dropped
	c.Version, c.UID = checkpointVersion, cmp.Or(c.UID, d.policy.UID) // restore changes the UID
	d.line = d.policy.timeline(c.Begin)
	d.readRequests()
	d.reject()
	d.settle()
	d.observeListed()
	d.dropFuture()
	d.becomeDue()
	d.dropEnded()
	if !d.JobsUnknown {
		d.observe(d.jobs)
	}
	d.forgetDeleted()
	d.takeUp()
	d.block()
	if !d.JobsUnknown {
		d.replace()
	}
	d.prune()
	if !d.JobsUnknown {
		d.start()
		d.fit()
	}
	d.tellMissed()
	d.forgetRequested()
	return d.decision()
}

// Refresh returns the checkpoint in which the runs agree with their Jobs. It is for a job
// whose policy cannot be read: nothing becomes due, starts or is dropped by history. Jobs
// of runs that the checkpoint does not have are ignored. NextCheck is the zero time.
func Refresh(observation Observation, checkpoint Checkpoint) Decision {
	if checkpoint.Validate() != nil || checkpoint.fresh() {
		return Decision{Checkpoint: checkpoint.clone(), JobsUnknown: true}
	}
	d := newDecider(Policy{UID: checkpoint.UID}, observation, checkpoint)
	d.line = d.policy.timeline(checkpoint.Begin)
	d.reject()
	d.observeListed()
	maps.DeleteFunc(d.jobs, func(tag string, _ Job) bool { return !d.lists(tag) })
	if !d.JobsUnknown {
		d.observe(d.jobs)
	}
	r := d.decision()
	r.NextCheck, r.Clock = time.Time{}, time.Time{}
	return r
}

// A decider is a decision in the making.
type decider struct {
	Decision
	policy      Policy
	observation Observation
	jobs        map[string]Job // by tag; nil if they are not known
	now         time.Time
	line        timeline
	busyUntil   time.Time       // until when a run was active
	requests    []Run           // that are listed, by due time
	answered    map[string]bool // tags of the listed requests, and whether they are answered
	changed     bool            // by the list of Jobs
	rejected    bool            // a create, since the decision before
	missed      Missed          // runs that this decision misses or drops
	total       Missed          // all runs that were missed or dropped
}

func newDecider(policy Policy, observation Observation, checkpoint Checkpoint) *decider {
	d := &decider{policy: policy, observation: observation, jobs: byTag(observation.Jobs), now: interval.Clamp(observation.Now),
		missed: Missed{}, total: Missed{}, answered: map[string]bool{}}
	d.Checkpoint, d.JobsUnknown, d.Suspended = checkpoint.clone(), !observation.JobsKnown, policy.Suspended
	p := &d.policy
	p.Created, p.End = cmp.Or(utc(p.Created), d.now), utc(p.End)
	p.MaxWaiting, p.MaxCatchUp = cmp.Or(max(0, p.MaxWaiting), 1000), cmp.Or(max(0, p.MaxCatchUp), 10)
	if d.restore(); d.JobsUnknown {
		d.jobs = nil
	}
	d.tidy()
	return d
}

// tidy puts the runs in order. A run that is listed twice, as after an edit by hand, does not wait.
func (d *decider) tidy() {
	c := &d.Checkpoint
	listed := tagsOf(c.PendingDeletion, c.Running, c.Completed)
	c.Pending = slices.DeleteFunc(c.Pending, func(r Run) bool {
		repeated := listed[r.Tag]
		listed[r.Tag] = true
		return repeated
	})
	for i := range c.Pending {
		if r := &c.Pending[i]; r.OnDemand {
			r.Due = earliest(r.Due, d.now) // a request is due when it is made, whatever the clock was then
		}
	}
	slices.SortFunc(c.Pending, byDue)
	slices.SortFunc(c.Running, byDue)
	slices.SortFunc(c.Completed, byCompletion)
}

// restore accepts a checkpoint of another job, or one that is newer than the Jobs, if they were
// read consistently. Until then the Jobs are not known.
func (d *decider) restore() {
	c, revision := &d.Checkpoint, d.observation.Revision
	isNewer := revision > 0 && revision < c.JobsRevision
	isOthers := c.UID != "" && d.policy.UID != "" && c.UID != d.policy.UID
	if !isNewer && !isOthers {
		return
	}
	if d.JobsUnknown = !d.observation.Consistent || !d.observation.JobsKnown; d.JobsUnknown {
		return
	}
	c.UID, c.JobsRevision = d.policy.UID, revision
	d.changed = true
	d.tell(Event{Reason: Restored})
}

// connect notes from when on each dependency holds: those of a new job from its
// creation, others from the decision that first sees them.
func (d *decider) connect() {
	begin := d.now.Truncate(time.Second) // the times of completions are whole seconds
	if d.Checkpoint.fresh() {
		begin = d.policy.Created
	}
	var after []Connection
	for _, dependency := range d.policy.After {
		connection := Connection{Dependency: dependency, Begin: begin}
		for _, old := range d.Checkpoint.After {
			if old.Dependency == dependency {
				connection = old
			}
		}
		after = append(after, connection)
	}
	d.Checkpoint.After = after
}

// renew is rule 1.
func (d *decider) renew() {
	c, identity := &d.Checkpoint, ""
	c.TimeSpec = ""
	if d.policy.Schedule != nil {
		c.TimeSpec, identity = d.policy.Schedule.String(), d.policy.Schedule.Identity()
	}
	switch {
	case c.fresh():
		c.Begin = d.policy.Created
	case c.Identity == identity:
		return
	default:
		c.Begin = d.now
	}
	c.Identity = identity
	c.Due, c.Started, c.Missed, c.Dropped, c.MissedBy = c.PendingScheduled(), 0, 0, 0, nil
	c.Missing = nil
	d.handle(interval.Clamp(c.Begin.Add(-1)))
}

func (d *decider) tell(e Event) { d.Events = append(d.Events, e) }

func (d *decider) decision() Decision {
	c := &d.Checkpoint
	if d.changed {
		c.JobsRevision = max(c.JobsRevision, d.observation.Revision)
	}
	if next, ok := d.line.next(c.Handled); ok {
		d.NextRun = d.line.occurrence(next)
		d.NextCheck = interval.Clamp(d.NextRun.Due())
	}
	if d.isAhead() || slices.ContainsFunc(c.Pending, d.isFuture) {
		d.Clock = d.now
	}
	d.NextCheck = earliest(d.NextCheck, d.nextDue())
	if d.JobsUnknown {
		return d.Decision
	}
	d.NextCheck = earliest(d.NextCheck, d.nextTry())
	for _, r := range c.Running {
		if d.jobs[r.Tag].Deleting || r.Stopped != "" {
			d.Stop = append(d.Stop, r.Tag)
		}
	}
	d.Stop = slices.DeleteFunc(d.Stop, func(tag string) bool { return d.jobs[tag].Deleting && d.jobs[tag].Foreground })
	for _, r := range c.Completed {
		if j := d.jobs[r.Tag]; j.Keeps && j.finished() && !j.Deleting {
			d.Expire = append(d.Expire, r.Tag)
		}
	}
	for _, tag := range c.PendingDeletion {
		if j, ok := d.jobs[tag]; ok && !j.Deleting {
			d.Delete = append(d.Delete, tag)
		}
	}
	return d.Decision
}

// earliest returns the earlier time; the zero time means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
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
