package schedule_test

import (
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
)

// A recurrence is an interval of the walk, whose occurrences an oracle can list.
type recurrence struct {
	text  string
	step  time.Duration
	times int  // 0 for no end
	moves bool // it starts with the checkpoint's Begin, and not at created
}

var recurrences = []recurrence{
	{"R/2026-01-01T00:00:00Z/PT1M", time.Minute, 0, false},
	{"R/2026-01-01T01:00:00+01:00/PT60S", time.Minute, 0, false},
	{"R/2026-01-01T00:00:00Z/PT20S", 20 * time.Second, 0, false},
	{"R90/2026-01-01T00:00:00Z/PT1M", time.Minute, 90, false},
	{"R120/2026-01-01T00:00:00Z/PT1M", time.Minute, 120, false},
	{"R//PT1M", time.Minute, 0, true},
	{"R30//PT1M", time.Minute, 30, true},
	{"R50//PT60S", time.Minute, 50, true},
}

var east = time.FixedZone("East", 2*60*60)

// list returns the occurrences after a time, up to another.
func (r recurrence) list(begin, end, after, until time.Time) (occurrences []time.Time) {
	start := created
	if r.moves {
		start = begin
	}
	k := max(0, int(after.Sub(start)/r.step)-1)
	for ; r.times == 0 || k < r.times; k++ {
		at := start.Add(time.Duration(k) * r.step)
		if at.After(until) || (!end.IsZero() && at.After(end)) {
			break
		}
		if at.After(after) && !at.Before(begin) {
			occurrences = append(occurrences, at)
		}
	}
	return occurrences
}

// agrees compares what a decision queues and misses with the rules of the page, applied to each occurrence. It
// leaves out decisions with Jobs of runs that the checkpoint does not list, and those that start anew.
func agrees(w *walk, seen schedule.Observation, d schedule.Decision) {
	before, after, p, now := w.checkpoint, d.Checkpoint, w.policy, w.now.Add(w.skew)
	rewound := slices.ContainsFunc(d.Events, func(e schedule.Event) bool { // or a waiting run is cancelled, which has a count of its own
		return e.Reason == schedule.Rewound || (e.Reason == schedule.RunStopped && e.Run.Started.IsZero())
	})
	if before.Identity != after.Identity || rewound || d.JobsUnknown || p.Schedule == nil || len(before.Pending) > 100 {
		return
	}
	jobs, listed := map[string]schedule.Job{}, map[string]bool{}
	for _, r := range slices.Concat(before.Pending, before.Running, before.Completed) {
		listed[r.Tag] = true
	}
	for _, tag := range before.PendingDeletion {
		listed[tag] = true
	}
	for _, j := range seen.Jobs {
		if !listed[j.Tag] {
			return
		}
		jobs[j.Tag] = j
	}
	w.counts["oracle"]++

	// What is active, and until when something was.
	busy, busyUntil := false, time.Time{}
	finished := func(j schedule.Job) bool { return j.Outcome == schedule.Succeeded || j.Outcome == schedule.Failed }
	for _, r := range before.Running {
		j, exists := jobs[r.Tag]
		busy = busy || (exists && !finished(j))
	}
	rejected, settledTags := before.Rejected != "", map[string]bool{}
	for _, rejection := range seen.Rejected {
		for _, r := range before.Pending {
			if r.Tag == rejection.Tag && r.Attempts == rejection.Attempt && !r.Tried.IsZero() {
				rejected = true
				settledTags[r.Tag] = settledTags[r.Tag] || !rejection.MayArrive
			}
		}
	}
	var waiting []schedule.Run // scheduled and without a Job; its create may be decided
	for _, r := range before.Pending {
		j, exists := jobs[r.Tag]
		isFuture := !r.OnDemand && dueAt(r).After(now)
		tried := !r.Tried.IsZero() && !settledTags[r.Tag] && !(seen.Settled && isFuture && !exists)
		switch {
		case exists:
			busy = busy || !finished(j)
			if r.Attempts > 0 && len(seen.Rejected) == 0 {
				rejected = false
			}
		case r.OnDemand:
			busy = busy || tried
		default:
			busy = busy || tried
			if !tried {
				r.Tried = time.Time{}
			}
			waiting = append(waiting, r)
		}
	}
	if rejected != (after.Rejected != "") { // by the order of several answers
		rejected = after.Rejected != ""
	}
	for _, e := range d.Events {
		completes := e.Reason != schedule.RunStarted && e.Reason != schedule.Unblocked // which names the last run
		if completes && e.Run.Completed.After(busyUntil) {
			busyUntil = e.Run.Completed
		}
	}
	if busy {
		busyUntil = now
	}

	// What became due.
	for _, at := range w.recurrence.list(before.Begin, p.End, before.Handled, now) {
		o, ok := p.Next(before.Begin, at.Add(-1))
		if !ok || !o.Time.Equal(at) {
			w.fail("no occurrence at %v: %v", at, o)
		}
		if !o.Due().After(now) && !slices.ContainsFunc(before.Early, at.Equal) {
			waiting = append(waiting, schedule.Run{Due: o.Time, Delay: o.Delay})
		}
	}
	slices.SortFunc(waiting, func(a, b schedule.Run) int { return a.Due.Compare(b.Due) })
	if len(waiting) > 500 {
		return // the size of the checkpoint may drop some
	}

	// What is missed, and why.
	want := map[schedule.Reason]int64{}
	blocked := p.BlockOnFailure && after.FailedRun != ""
	miss := func(r schedule.Run, reason schedule.Reason) {
		due := dueAt(r)
		switch {
		case due.After(now):
		case blocked:
			reason = schedule.Blocked
		case p.Suspended:
			reason = schedule.Suspended
		case p.Concurrency != schedule.Allow && !due.After(busyUntil):
			reason = schedule.OtherRunIsActive
		case rejected:
			reason = schedule.CreateRejected
		}
		want[reason]++
		w.counts["oracle: missed"]++
	}
	deadline, keep, reason := time.Duration(p.StartingDeadline), 1000, schedule.TooManyWaiting
	if p.SkipOutdated || p.Concurrency == schedule.Forbid || p.Concurrency == schedule.Replace {
		keep, reason = 1, schedule.Outdated
	}
	waiting = slices.DeleteFunc(waiting, func(r schedule.Run) bool {
		isLate := r.Tried.IsZero() && deadline > 0 && now.Sub(dueAt(r)) > deadline
		if isLate {
			miss(r, schedule.DeadlineExceeded)
		}
		return isLate
	})
	var queued []time.Time
	for i, r := range waiting {
		_, exists := p.Next(before.Begin, r.Due.Add(-1))
		switch {
		case !r.Tried.IsZero(): // its Job may exist
		case i < len(waiting)-keep:
			miss(r, reason)
		case !exists:
			miss(r, schedule.Ended)
		default:
			queued = append(queued, r.Due)
		}
	}
	for reason, n := range after.MissedBy {
		if got := n - before.MissedBy[reason]; got != want[reason] {
			w.fail("%d runs are missed as %s, want %v at %v, busy until %v, events %v\njobs %+v\n%+v", got, reason, want, now, busyUntil, d.Events, seen.Jobs, before.Running)
		}
	}
	for reason, n := range want {
		if n > 0 && after.MissedBy[reason] != before.MissedBy[reason]+n {
			w.fail("%d runs are missed as %s, want %v", after.MissedBy[reason]-before.MissedBy[reason], reason, want)
		}
	}
	for _, at := range queued {
		if !slices.ContainsFunc(after.Pending, func(r schedule.Run) bool { return !r.OnDemand && r.Due.Equal(at) }) {
			w.fail("the run of %v does not wait\nevents %v\nbefore %v %+v\nafter %+v", at, d.Events, before.Handled, before.Pending, after.Pending)
		}
	}
}
