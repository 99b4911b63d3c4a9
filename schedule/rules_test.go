package schedule_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestAnyInput(t *testing.T) { rapid.Check(t, propAnyInput) }
func FuzzAnyInput(f *testing.F) { premise.Seeded(f, propAnyInput) }

// A rule holds for each decision of TestWalk.
type rule func(w *walk, seen schedule.Observation, d schedule.Decision)

var rules = []rule{idempotent, ordered, oneAtATime, boundedWaiting, whileBlocked, conserved, notEarly, agrees}

// tried returns how many of the runs may have a Job.
func tried(runs []schedule.Run) (n int) {
	for _, r := range runs {
		if !r.Tried.IsZero() {
			n++
		}
	}
	return n
}

// Deciding again at one time, from the state that was handed back, gives the same state and
// deletions, starts nothing and has no events. A decision that starts a run changes the state, so
// that storing it shows whether it is still the newest.
func idempotent(w *walk, seen schedule.Observation, d schedule.Decision) {
	again := decide(w.policy, d.Checkpoint, seen, w.now.Add(w.skew))
	if !d.Checkpoint.Equal(again.Checkpoint) || !slices.Equal(d.Delete, again.Delete) || again.Start != nil || again.Events != nil || !d.NextCheck.Equal(again.NextCheck) {
		w.fail("again at one time: %v starts %v, events %v\n%+v\n%+v", again.NextCheck, again.Start, again.Events, d.Checkpoint, again.Checkpoint)
	}
	if d.Start != nil && d.Checkpoint.Equal(w.checkpoint) {
		w.fail("starts %+v from a state that does not change", d.Start)
	}
}

// The order of all lists makes no difference. The arguments do not change, and the lists of the
// state are in order.
func ordered(w *walk, seen schedule.Observation, d schedule.Decision) {
	if !w.chance(5) {
		return // it takes as long as all others
	}
	before := written(w, []any{w.checkpoint, seen})
	other, state := seen, w.checkpoint
	other.Jobs, other.Requests = shuffled(w, seen.Jobs), shuffled(w, seen.Requests)
	state.Pending, state.Running, state.Completed = shuffled(w, state.Pending), shuffled(w, state.Running), shuffled(w, state.Completed)
	again := decide(w.policy, state, other, w.now.Add(w.skew))
	if got, want := written(w, again), written(w, d); got != want {
		w.fail("in another order: %s\n%s", want, got)
	}
	clear(again.Checkpoint.Pending)
	clear(again.Checkpoint.Running)
	clear(again.Checkpoint.Completed)
	clear(again.Checkpoint.Requested)
	if written(w, []any{w.checkpoint, seen}) != before {
		w.fail("the arguments have changed")
	}
	for _, runs := range [][]schedule.Run{d.Checkpoint.Pending, d.Checkpoint.Running} {
		if !slices.IsSortedFunc(runs, func(a, b schedule.Run) int { return dueAt(a).Compare(dueAt(b)) }) {
			w.fail("not in order: %+v", runs)
		}
	}
	for i, r := range d.Checkpoint.Completed {
		if r.Completed.Before(r.Started) || i > 0 && r.Completed.Before(d.Checkpoint.Completed[i-1].Completed) {
			w.fail("not in order: %+v", d.Checkpoint.Completed)
		}
	}
}

// dueAt returns the time at which a run is due.
func dueAt(r schedule.Run) time.Time { return r.Due.Add(time.Duration(r.Delay)) }

func shuffled[S ~[]T, T any](w *walk, list S) S {
	list = slices.Clone(list)
	w.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func written(w *walk, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		w.fail("%v", err)
	}
	return string(data)
}

// If Concurrency was never Allow, no two runs are active. After three decisions without an observed
// Job, one Job is created at a time.
func oneAtATime(w *walk, _ schedule.Observation, d schedule.Decision) {
	twice := func(r schedule.Run) bool { return w.byHand[r.Tag] && w.created[r.Tag] > 1 }
	if n := len(d.Checkpoint.Running) + tried(d.Checkpoint.Pending); w.single && n > 1 && !slices.ContainsFunc(d.Checkpoint.Running, twice) {
		w.fail("%d run", n)
	}
	if w.checkpoint.Tries >= 3 && d.Checkpoint.Tries > w.checkpoint.Tries && len(d.Start) > 1 {
		w.fail("%d creates after %d tries", len(d.Start), w.checkpoint.Tries)
	}
}

// SkipOutdated leaves at most one scheduled run waiting. Requested runs always stay.
func boundedWaiting(w *walk, _ schedule.Observation, d schedule.Decision) {
	most := 1000
	if w.policy.SkipOutdated || w.policy.Concurrency == schedule.Forbid || w.policy.Concurrency == schedule.Replace {
		most = 1
	}
	n := 0
	for _, r := range d.Checkpoint.Pending {
		if !r.OnDemand && (r.Tried.IsZero() || slices.ContainsFunc(d.Start, func(s schedule.Run) bool { return s.Tag == r.Tag && s.Attempts == 1 })) {
			n++
		}
	}
	if n > 0 {
		w.counts["waits"]++
	}
	if n > most {
		w.fail("%d wait, of at most %d", n, most)
	}
	for _, r := range w.checkpoint.Pending {
		same := func(o schedule.Run) bool { return o.Tag == r.Tag }
		if r.OnDemand && !slices.ContainsFunc(slices.Concat(d.Checkpoint.Pending, d.Checkpoint.Running, d.Checkpoint.Completed), same) &&
			!slices.Contains(d.Checkpoint.PendingDeletion, r.Tag) && !slices.Contains(w.cancels, r.Tag) {
			w.fail("%v is gone", r)
		}
	}
}

// After a run has failed, no scheduled run starts until one succeeds. A run that may start waits for
// nothing but an active run. A stopped or lost run does not change the block.
func whileBlocked(w *walk, seen schedule.Observation, d schedule.Decision) {
	failed := w.policy.BlockOnFailure && d.Checkpoint.FailedRun != ""
	if failed != d.Checkpoint.Blocked {
		w.fail("blocked: %v, after %v", d.Checkpoint.Blocked, d.Checkpoint.Last)
	}
	switch d.Checkpoint.Last.Outcome() {
	case schedule.Failed, schedule.Succeeded:
		if want := d.Checkpoint.Last.Outcome() == schedule.Failed; want != (d.Checkpoint.FailedRun != "") && !slices.Contains(unblocked(d), true) && d.Checkpoint.Last.Tag != w.checkpoint.Last.Tag {
			w.fail("%+v, and %q failed", d.Checkpoint.Last, d.Checkpoint.FailedRun)
		}
	case schedule.Stopped, schedule.Lost:
		if failed {
			w.counts["stopped while blocked"]++
		}
	}
	for _, r := range d.Start {
		had := slices.ContainsFunc(w.checkpoint.Pending, func(o schedule.Run) bool { return o.Tag == r.Tag && !o.Tried.IsZero() })
		if failed && !had && !r.OnDemand {
			w.fail("%v starts after %v", r, d.Checkpoint.Last)
		}
	}
	busy := w.policy.Concurrency != schedule.Allow && (len(d.Checkpoint.Running)+tried(d.Checkpoint.Pending) > 0 || slices.ContainsFunc(seen.Jobs, active)) // also of a run that has completed before
	if d.JobsUnknown || d.Checkpoint.Tries >= 3 || d.Held != "" || busy {
		return
	}
	for _, r := range d.Checkpoint.Pending {
		isFuture := dueAt(r).After(w.now.Add(w.skew))
		if r.Tried.IsZero() && !isFuture && (r.OnDemand || !failed && !w.policy.Suspended) {
			w.fail("%v waits for nothing", r)
		}
	}
}

func unblocked(d schedule.Decision) (unblocked []bool) {
	for _, e := range d.Events {
		unblocked = append(unblocked, e.Reason == schedule.Unblocked)
	}
	return unblocked
}

// No scheduled run starts that is due later than now, also from a stored checkpoint. A checkpoint that is
// ahead is reported with both times.
func notEarly(w *walk, _ schedule.Observation, d schedule.Decision) {
	now := w.now.Add(w.skew)
	for _, r := range d.Start {
		if dueAt(r).After(now) {
			w.fail("%v starts at %v", r, now)
		}
	}
	reason, text := d.Waits()
	if ahead := d.Checkpoint.Handled.Sub(now) > 10*time.Second; ahead && !d.JobsUnknown {
		if reason != schedule.ClockAhead || !strings.Contains(text, now.Format(time.RFC3339)) || !strings.Contains(text, d.Checkpoint.Handled.Format(time.RFC3339)) {
			w.fail("the checkpoint is ahead of %v: %s %s", now, reason, text)
		}
	}
}

// due = started + pending + missed + dropped, of the scheduled runs, and each occurrence up to the
// last handled is due once.
func conserved(w *walk, _ schedule.Observation, d schedule.Decision) {
	s := d.Checkpoint
	if s.Due != s.Started+s.PendingScheduled()+s.Missed+s.Dropped || min(s.Due, s.Started, s.Missed, s.Dropped) < 0 {
		w.fail("%d due: %d started, %d pending, %d missed, %d dropped", s.Due, s.Started, s.PendingScheduled(), s.Missed, s.Dropped)
	}
	rewound := slices.ContainsFunc(d.Events, func(e schedule.Event) bool { return e.Reason == schedule.Rewound })
	isSame := s.Identity == w.checkpoint.Identity && !rewound
	if isSame && (s.Due < w.checkpoint.Due || s.Handled.Before(w.checkpoint.Handled)) {
		w.fail("%d due at %v, then %d at %v", w.checkpoint.Due, w.checkpoint.Handled, s.Due, s.Handled)
	}
}

// Whatever the input, even a state that nobody has ever handed back: no panic, and a
// state that JSON can hold.
func propAnyInput(t *rapid.T) {
	tag := rapid.SampledFrom([]string{"", "20260101t000100-0", "asked-1", "é", "20260101t000100-ff"})
	at := rapid.SampledFrom([]time.Time{{}, created, created.Add(time.Minute), dusk, time.Unix(-1<<62, 0), created.AddDate(-300, 0, 0)})
	outcome := rapid.SampledFrom([]schedule.Outcome{"", schedule.Succeeded, schedule.Failed, schedule.Any, "x"})
	count := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1<<63 - 1, -1 << 63}))
	run := rapid.Custom(func(t *rapid.T) schedule.Run {
		return schedule.Run{
			Tag: tag.Draw(t, "tag"), OnDemand: rapid.Bool().Draw(t, "onDemand"), Due: at.Draw(t, "due"), Started: at.Draw(t, "started"),
			Completed: at.Draw(t, "completed"), Tried: at.Draw(t, "tried"), Attempts: count.Draw(t, "attempts"), Success: rapid.Bool().Draw(t, "success"),
			Status: rapid.SampledFrom([]schedule.Status{"", schedule.Pending, schedule.Completed}).Draw(t, "status"),
		}
	})
	runs := rapid.SliceOfN(run, 0, 4)
	spec := schedule.DefaultPolicy()
	spec.Schedule = schedule.ISO8601(parse(t, rapid.SampledFrom([]string{"R//PT1.5S", "R3/2025-12-31T23:59:30.5Z/P1M", "R/T23:59:50-01:00/PT0.000000001S", "R0/T00:00:30/P1Y2M"}).Draw(t, "interval")), nil)
	spec.Concurrency = rapid.SampledFrom([]schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace}).Draw(t, "concurrency")
	spec.SkipOutdated, spec.BlockOnFailure, spec.Suspended = rapid.Bool().Draw(t, "skips"), rapid.Bool().Draw(t, "blocks"), rapid.Bool().Draw(t, "suspended")
	spec.StartingDeadline = rapid.SampledFrom([]schedule.Duration{0, 1, schedule.Duration(time.Minute), -1}).Draw(t, "deadline")
	spec.MaxWaiting, spec.Created = rapid.Int64Range(-2, 2).Draw(t, "max"), at.Draw(t, "created")
	spec.After = []schedule.Dependency{{Job: "a", Outcome: outcome.Draw(t, "after")}}
	s := schedule.Checkpoint{
		Version: rapid.SampledFrom([]int32{1, 1, 1, 0, 2, -1}).Draw(t, "version"), Tries: count.Draw(t, "tries"), RetryAt: at.Draw(t, "retryAt"),
		After:    []schedule.Connection{{Dependency: spec.After[0], Counts: schedule.Counts{Succeeded: count.Draw(t, "answered")}}},
		TimeSpec: spec.Schedule.String(), Begin: at.Draw(t, "since"), Handled: at.Draw(t, "handled"),
		Due: count.Draw(t, "due"), Started: count.Draw(t, "started"), Missed: count.Draw(t, "missed"), Dropped: count.Draw(t, "dropped"),
		Pending: runs.Draw(t, "pending"), Running: runs.Draw(t, "running"), Completed: runs.Draw(t, "completed"),
		Last: run.Draw(t, "last"), Requested: rapid.SliceOf(tag).Draw(t, "asked"), PendingDeletion: rapid.SliceOf(tag).Draw(t, "forgotten"),
	}
	seen := schedule.Observation{
		JobsKnown: rapid.Bool().Draw(t, "known"),
		Jobs: rapid.SliceOf(rapid.Custom(func(t *rapid.T) schedule.Job {
			return schedule.Job{Tag: tag.Draw(t, "tag"), Outcome: outcome.Draw(t, "outcome"), Created: at.Draw(t, "created"), Finished: at.Draw(t, "finished")}
		})).Draw(t, "jobs"),
		Requests:  []schedule.Request{{ID: tag.Draw(t, "id"), RequestedAt: at.Draw(t, "asked")}},
		Rejected:  []schedule.Rejection{{Tag: tag.Draw(t, "rejected"), Attempt: count.Draw(t, "attempt")}},
		Revision:  count.Draw(t, "revision"),
		Upstreams: []schedule.Upstream{{Job: "a", UID: tag.Draw(t, "uid"), Counts: schedule.Counts{Succeeded: count.Draw(t, "succeeded"), Failed: count.Draw(t, "failed")}, Recent: runs.Draw(t, "recent")}},
	}
	d := decide(spec, s, seen, at.Draw(t, "now"))
	if _, err := json.Marshal(d); err != nil {
		t.Fatal(err)
	}
}
