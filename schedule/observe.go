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
	s := &d.State
	started, active := tagsOf(s.PendingDeletion, s.Running, s.Completed), tagsOf(nil, s.Running)
	for _, tag := range slices.Sorted(maps.Keys(d.jobs)) {
		switch j := d.jobs[tag]; {
		case !started[tag]:
			d.adopt(j)
		case !j.finished() && !active[tag]:
			d.Stop = append(d.Stop, tag) // its run has completed
		}
	}
	for i := range s.Running {
		d.bringUp(&s.Running[i])
	}
	slices.SortFunc(s.Running, byCompletion)
	for _, r := range s.Running {
		if r.Status == Completed {
			d.complete(r)
		}
	}
	s.Running = slices.DeleteFunc(s.Running, func(r Run) bool { return r.Status == Completed })
	slices.SortFunc(s.Running, byDue)
	slices.SortFunc(s.Completed, byCompletion)
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
// Job was asked for, or, if no state says so, when its Job was created.
func (d *decider) adopt(j Job) {
	d.changed = true
	s := &d.State
	created := cmp.Or(utc(j.Created), d.now)
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
		switch {
		case r.Attempts == 0:
		case d.rejected:
			d.wait(failing) // for other Jobs
		default:
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
	s := &d.State
	if newest, ok := d.due.Last(due); !ok || !newest.Equal(due) {
		return
	}
	causes := lostCauses
	if !due.After(d.lastLate()) {
		causes = slices.Concat([]Cause{TooLate}, causes)
	}
	for _, why := range causes {
		if d.lost[why] > 0 {
			d.lost[why]--
			d.missed[why]--
			s.Started = plus(s.Started, 1)
			return
		}
	}
}

// bringUp brings a run up to what its Job shows.
func (d *decider) bringUp(r *Run) {
	j, ok := d.jobs[r.Tag]
	switch {
	case ok && !j.finished():
		if !j.Deleting {
			r.Pods = j.Pods // pods that are being deleted show nothing
		}
		if by := d.deletedBy[r.Tag]; by != "" {
			r.DeletedBy = short(by, mostName)
		}
		return
	case ok:
		r.Success, r.ExitCode, r.Completed, r.Pods = j.Outcome == Succeeded, j.ExitCode, utc(j.Finished), j.Pods
	case r.Stopped == "":
		r.Lost, r.DeletedBy = true, short(cmp.Or(d.deletedBy[r.Tag], r.DeletedBy), mostName)
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
	last := &d.State.Last
	r.Completed = latest(r.Completed, last.Completed)
	if byCompletion(r, *last) < 0 && !r.Started.Before(last.Completed) {
		r.Completed = interval.Clamp(last.Completed.Add(1))
	}
	if byCompletion(r, *last) > 0 {
		*last = r
	}
	d.State.Completed = append(d.State.Completed, r)
	reason, count := RunFailed, &d.State.Failed
	switch {
	case r.Success:
		reason, count = RunSucceeded, &d.State.Succeeded
	case r.Lost:
		reason, count = RunLost, &d.State.Lost
	}
	*count = plus(*count, 1)
	if r.Stopped != "" {
		reason = RunStopped
	}
	d.tell(Event{Reason: reason, Run: r})
}
