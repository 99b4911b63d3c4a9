package schedule

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// observe is rule 3.
func (d *decider) observe() {
	started := d.tagsOf(d.state.Running, d.state.Completed)
	active := map[string]bool{}
	for _, r := range d.state.Running {
		active[r.Tag] = true
	}
	for _, j := range d.jobs {
		switch {
		case !started[j.Tag]:
			d.adopt(j)
		case finished(j) == 0 && !active[j.Tag]:
			d.again = append(d.again, j.Tag)
		}
	}
	var running, ended []Run
	for _, r := range d.state.Running {
		r = d.bringUp(r)
		if r.Status == Completed {
			ended = append(ended, r)
		} else {
			running = append(running, r)
		}
	}
	d.state.Running = running
	slices.SortFunc(d.state.Running, byDue)
	slices.SortFunc(ended, byCompletion)
	for _, r := range ended {
		d.complete(r)
	}
	slices.SortFunc(d.state.Completed, byCompletion)
}

// tagsOf returns the tags of runs, and of runs that history has dropped and that still have Jobs.
func (d *decider) tagsOf(lists ...[]Run) map[string]bool {
	tags := map[string]bool{}
	for _, r := range slices.Concat(lists...) {
		tags[r.Tag] = true
	}
	for _, tag := range d.state.PendingDeletion {
		tags[tag] = true
	}
	return tags
}

// adopt makes a run of a Job, or a waiting run a running one. It started when its
// Job was asked for, or, if no state says so, when its Job was created.
func (d *decider) adopt(j Job) {
	d.changed = true
	s := &d.state
	created := utc(j.Created)
	if created.IsZero() {
		created = d.now
	}
	started := latest(created, s.Last.Completed)
	r := Run{Tag: j.Tag, Created: created}
	due, scheduled := scheduledAt(d.spec.UID, j.Tag)
	waiting := slices.IndexFunc(s.Pending, func(r Run) bool { return r.Tag == j.Tag })
	requested := slices.IndexFunc(d.requests, func(r Run) bool { return r.Tag == j.Tag })
	switch {
	case waiting >= 0:
		r = s.Pending[waiting]
		s.Pending = slices.Delete(s.Pending, waiting, waiting+1)
		if r.tried() {
			started = r.Tried
		}
		if r.Attempts > 0 {
			s.Tries, s.RetryAt, s.Rejected = 0, time.Time{}, ""
		}
		if !r.OnDemand {
			s.Started, s.Missing = plus(s.Started, 1), nil
		}
	case scheduled:
		r.Due = due
		d.count(due)
	case requested >= 0 && !d.answered[j.Tag]:
		r = d.requests[requested]
	default:
		r.Due, r.OnDemand = created, true
	}
	r.Status, r.Started, r.Tried = Running, started, time.Time{}
	s.Running = append(s.Running, r)
	d.tell(Event{Reason: RunStarted, Run: r})
}

// count counts the occurrence of an adopted run as started instead of missed or dropped, unless it
// is of another schedule.
func (d *decider) count(due time.Time) {
	s := &d.state
	if newest, ok := d.due.Last(due); !ok || !newest.Equal(due) {
		return
	}
	causes := lostCauses
	if !due.After(d.lastLate()) {
		causes = slices.Concat([]Cause{TooLate}, causes)
	}
	for _, why := range causes {
		switch {
		case d.missed[why] > 0:
			d.missed[why]--
		case s.MissedBy[why] > 0:
			s.MissedBy[why], s.Missed = s.MissedBy[why]-1, s.Missed-1
			maps.DeleteFunc(s.MissedBy, func(_ Cause, n int64) bool { return n == 0 })
		case why == dropped && s.Dropped > 0:
			s.Dropped--
		default:
			continue
		}
		s.Started = plus(s.Started, 1)
		return
	}
}

// bringUp brings a run up to what its Job shows.
func (d *decider) bringUp(r Run) Run {
	j, ok := tagged(d.jobs, r.Tag)
	switch {
	case ok && finished(j) == 0:
		if !j.Deleting {
			r.Pods = j.Pods // pods that are being deleted show nothing
		}
		if by := d.deletedBy[r.Tag]; by != "" {
			r.DeletedBy = short(by, mostName)
		}
		return r
	case ok:
		r.Success, r.ExitCode, r.Completed, r.Pods = j.Outcome == Succeeded, j.ExitCode, utc(j.Finished), j.Pods
	case r.Stopped == "":
		r.Lost, r.DeletedBy = true, short(cmp.Or(d.deletedBy[r.Tag], r.DeletedBy), mostName)
	}
	if r.Success {
		r.Stopped = "" // it was faster
	}
	r.Status = Completed
	if r.Completed.IsZero() {
		r.Completed = d.now
	}
	r.Completed = latest(r.Completed, r.Started)
	return r
}

// complete puts a run behind the completed runs.
func (d *decider) complete(r Run) {
	d.changed = true
	last := &d.state.Last
	r.Completed = latest(r.Completed, last.Completed)
	if byCompletion(r, *last) < 0 && !r.Started.Before(last.Completed) {
		r.Completed = interval.Clamp(last.Completed.Add(1))
	}
	if byCompletion(r, *last) > 0 {
		*last = r
	}
	d.state.Completed = append(d.state.Completed, r)
	reason := RunFailed
	switch {
	case r.Success:
		reason = RunSucceeded
		d.state.Succeeded = plus(d.state.Succeeded, 1)
	case r.Lost:
		reason = RunLost
		d.state.Lost = plus(d.state.Lost, 1)
	default:
		d.state.Failed = plus(d.state.Failed, 1)
	}
	if r.Stopped != "" {
		reason = RunStopped
	}
	d.tell(Event{Reason: reason, Run: r})
}
