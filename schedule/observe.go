package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// observeListed is rule 3 for the runs of the checkpoint, whose Jobs say what keeps others from starting.
func (d *decider) observeListed() {
	c := &d.Checkpoint
	if !d.JobsUnknown {
		listed := tagsOf(nil, c.Pending, c.Running)
		jobs := maps.Clone(d.jobs)
		maps.DeleteFunc(jobs, func(tag string, _ Job) bool { return !listed[tag] })
		d.observe(jobs)
	}
	if d.active() {
		d.busyUntil = d.now
	}
}

// lists reports whether the checkpoint has the run of a tag.
func (d *decider) lists(tag string) bool {
	c := &d.Checkpoint
	return tagsOf(c.PendingDeletion, c.Pending, c.Running, c.Completed)[tag]
}

// observe is rule 3 for some Jobs.
func (d *decider) observe(jobs map[string]Job) {
	c := &d.Checkpoint
	started, active := tagsOf(c.PendingDeletion, c.Running, c.Completed), tagsOf(d.Stop, c.Running)
	for _, tag := range slices.Sorted(maps.Keys(jobs)) {
		switch j := jobs[tag]; {
		case !started[tag]:
			d.adopt(j)
		case !j.finished() && !active[tag]:
			d.Stop = append(d.Stop, tag) // its run has completed
		}
	}
	for i := range c.Running {
		d.bringUp(&c.Running[i])
	}
	slices.SortFunc(c.Running, byCompletion)
	for _, r := range c.Running {
		if r.Status == Completed {
			d.complete(r)
		}
	}
	c.Running = slices.DeleteFunc(c.Running, func(r Run) bool { return r.Status == Completed })
	slices.SortFunc(c.Running, byDue)
	slices.SortFunc(c.Completed, byCompletion)
}

// tagsOf returns a set of tags and of the tags of runs.
func tagsOf(tags []string, lists ...[]Run) map[string]bool {
	all := map[string]bool{}
	for _, tag := range tags {
		all[tag] = true
	}
	for _, r := range slices.Concat(lists...) {
		all[r.Tag] = true
	}
	return all
}

// adopt makes a run of a Job, or a waiting run a running one. It started when its
// Job was asked for, or, if no checkpoint says so, when its Job was created.
func (d *decider) adopt(j Job) {
	d.changed = true
	c := &d.Checkpoint
	created := cmp.Or(utc(j.Created), d.now)
	r := Run{Tag: j.Tag, Created: created}
	occurrence, scheduled := TagOccurrence(d.policy.UID, j.Tag)
	hasTag := func(r Run) bool { return r.Tag == j.Tag }
	waiting, requested := slices.IndexFunc(c.Pending, hasTag), slices.IndexFunc(d.requests, hasTag)
	switch {
	case waiting >= 0:
		r = c.Pending[waiting]
		c.Pending = slices.Delete(c.Pending, waiting, waiting+1)
		d.endWait(r)
	case scheduled:
		r = d.scheduledRun(occurrence)
		r.Created = created
		d.count(occurrence)
	case requested >= 0 && !d.answered[j.Tag]:
		r = d.requests[requested]
	default:
		r.Due, r.OnDemand = created, true
	}
	r.Started = latest(created, c.Last.Completed)
	if r.tried() {
		r.Started = r.Tried
	}
	r.Status, r.Tried = Running, time.Time{}
	c.Running = append(c.Running, r)
	d.tell(Event{Reason: RunStarted, Run: r})
}

// endWait notes that the Job of a pending run is observed.
func (d *decider) endWait(r Run) {
	c := &d.Checkpoint
	switch {
	case r.Attempts == 0:
	case d.rejected:
		d.wait(maxTries) // for other Jobs
	default:
		c.Tries, c.RetryAt, c.Rejected = 0, time.Time{}, ""
	}
	if !r.OnDemand {
		c.Started, c.Missing, c.LastMissed = plus(c.Started, 1), nil, ""
	}
}

// count counts the occurrence of an adopted run as started instead of missed or dropped. That of another
// schedule does not count, and that of a later time counts then.
func (d *decider) count(occurrence time.Time) {
	if occurrence.After(d.Checkpoint.Handled) {
		d.noteEarly(occurrence)
		return
	}
	if last, ok := d.line.last(occurrence); !ok || !last.Equal(occurrence) {
		return
	}
	due, likely := d.line.occurrence(occurrence).Due(), TooManyWaiting
	switch {
	case !due.After(d.lastLate()):
		likely = DeadlineExceeded
	case d.policy.keepsLatest():
		likely = Outdated
	}
	for _, reason := range slices.Concat([]Reason{d.reasonAt(due, likely), likely}, missReasons) {
		if d.total[reason] > 0 {
			d.total[reason]--
			d.missed[reason]--
			d.Checkpoint.Started = plus(d.Checkpoint.Started, 1)
			return
		}
	}
}

// bringUp brings a run up to what its Job shows.
func (d *decider) bringUp(r *Run) {
	deletedBy := d.observation.DeletedBy[r.Tag]
	j, ok := d.jobs[r.Tag]
	switch {
	case ok && !j.finished():
		if !j.Deleting {
			r.Pods = j.Pods // pods that are being deleted show nothing
		}
		if deletedBy != "" {
			r.DeletedBy = short(deletedBy, maxName)
		}
		return
	case ok:
		r.Success, r.ExitCode, r.Completed, r.Pods = j.Outcome == Succeeded, j.ExitCode, utc(j.Finished), j.Pods
	case r.Stopped == "":
		r.Lost, r.DeletedBy = true, short(cmp.Or(deletedBy, r.DeletedBy), maxName)
	}
	if r.Success {
		r.Stopped = "" // it was faster
	}
	r.Status = Completed
	r.Completed = latest(cmp.Or(r.Completed, d.now), r.Started)
}

// complete puts a run behind the completed runs.
func (d *decider) complete(r Run) {
	d.changed = true
	c := &d.Checkpoint
	r.Completed = latest(r.Completed, c.Last.Completed)
	if byCompletion(r, c.Last) < 0 && !r.Started.Before(c.Last.Completed) {
		r.Completed = interval.Clamp(c.Last.Completed.Add(1))
	}
	d.busyUntil = latest(d.busyUntil, r.Completed)
	c.Completed = append(c.Completed, r)
	reason, count := RunFailed, &c.Failed
	switch r.Outcome() {
	case Succeeded:
		reason, count, c.LastSuccess = RunSucceeded, &c.Succeeded, latest(c.LastSuccess, r.Completed)
	case Lost:
		reason, count = RunLost, &c.Lost
	case Stopped:
		reason, count = RunStopped, &c.Stopped
	}
	*count = plus(*count, 1)
	d.tell(Event{Reason: reason, Run: r})
	if byCompletion(r, c.Last) < 0 {
		return
	}
	switch c.Last = r; r.Outcome() {
	case Succeeded:
		c.FailedRun = ""
	case Failed:
		c.FailedRun = r.Tag
	}
}
