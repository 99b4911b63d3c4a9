package schedule_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
	"github.com/scaledjob/scaledjob/test/premise"
)

func TestAnyInput(t *testing.T) { rapid.Check(t, propAnyInput) }
func FuzzAnyInput(f *testing.F) { premise.Seeded(f, propAnyInput) }

// A rule holds for each decision of TestEdges.
type rule func(e *edge, seen schedule.Observation, d schedule.Decision)

var rules = []rule{idempotent, ordered, oneAtATime, boundedWaiting, whileBlocked, conserved}

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
func idempotent(e *edge, seen schedule.Observation, d schedule.Decision) {
	again := decide(e.spec, d.Checkpoint, seen, e.now.Add(e.skew))
	if !d.Checkpoint.Equal(again.Checkpoint) || !slices.Equal(d.Delete, again.Delete) || again.Start != nil || again.Events != nil || !d.NextCheck.Equal(again.NextCheck) {
		e.fail("again at one time: %v starts %v, events %v\n%+v\n%+v", again.NextCheck, again.Start, again.Events, d.Checkpoint, again.Checkpoint)
	}
	if d.Start != nil && d.Checkpoint.Equal(e.state) {
		e.fail("starts %+v from a state that does not change", d.Start)
	}
}

// The order of all lists makes no difference. The arguments do not change, and the lists of the
// state are in order.
func ordered(e *edge, seen schedule.Observation, d schedule.Decision) {
	before := written(e, []any{e.state, seen})
	other, state := seen, e.state
	other.Jobs, other.Requests = shuffled(e, seen.Jobs), shuffled(e, seen.Requests)
	state.Pending, state.Running, state.Completed = shuffled(e, state.Pending), shuffled(e, state.Running), shuffled(e, state.Completed)
	again := decide(e.spec, state, other, e.now.Add(e.skew))
	if got, want := written(e, again), written(e, d); got != want {
		e.fail("in another order: %s\n%s", want, got)
	}
	clear(again.Checkpoint.Pending)
	clear(again.Checkpoint.Running)
	clear(again.Checkpoint.Completed)
	clear(again.Checkpoint.Requested)
	if written(e, []any{e.state, seen}) != before {
		e.fail("the arguments have changed")
	}
	for _, runs := range [][]schedule.Run{d.Checkpoint.Pending, d.Checkpoint.Running} {
		if !slices.IsSortedFunc(runs, func(a, b schedule.Run) int { return a.Due.Compare(b.Due) }) {
			e.fail("not in order: %+v", runs)
		}
	}
	for i, r := range d.Checkpoint.Completed {
		if r.Completed.Before(r.Started) || i > 0 && r.Completed.Before(d.Checkpoint.Completed[i-1].Completed) {
			e.fail("not in order: %+v", d.Checkpoint.Completed)
		}
	}
}

func shuffled[S ~[]T, T any](e *edge, list S) S {
	list = slices.Clone(list)
	e.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func written(e *edge, value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		e.fail("%v", err)
	}
	return string(data)
}

// If Concurrency was never Allow, no two runs are active. After three decisions without an observed
// Job, one Job is created at a time.
func oneAtATime(e *edge, _ schedule.Observation, d schedule.Decision) {
	twice := func(r schedule.Run) bool { return e.byHand[r.Tag] && e.created[r.Tag] > 1 }
	if n := len(d.Checkpoint.Running) + tried(d.Checkpoint.Pending); e.single && n > 1 && !slices.ContainsFunc(d.Checkpoint.Running, twice) {
		e.fail("%d run", n)
	}
	if e.state.Tries >= 3 && d.Checkpoint.Tries > e.state.Tries && len(d.Start) > 1 {
		e.fail("%d creates after %d tries", len(d.Start), e.state.Tries)
	}
}

// SkipOutdated leaves at most one scheduled run waiting. Requested runs always stay.
func boundedWaiting(e *edge, _ schedule.Observation, d schedule.Decision) {
	most := 1000
	if e.spec.SkipOutdated || e.spec.Concurrency == schedule.Forbid || e.spec.Concurrency == schedule.Replace {
		most = 1
	}
	n := 0
	for _, r := range d.Checkpoint.Pending {
		if !r.OnDemand && (r.Tried.IsZero() || slices.ContainsFunc(d.Start, func(s schedule.Run) bool { return s.Tag == r.Tag && s.Attempts == 1 })) {
			n++
		}
	}
	if n > 0 {
		e.counts["waits"]++
	}
	if n > most {
		e.fail("%d wait, of at most %d", n, most)
	}
	for _, r := range e.state.Pending {
		same := func(o schedule.Run) bool { return o.Tag == r.Tag }
		if r.OnDemand && !slices.ContainsFunc(slices.Concat(d.Checkpoint.Pending, d.Checkpoint.Running, d.Checkpoint.Completed), same) &&
			!slices.Contains(d.Checkpoint.PendingDeletion, r.Tag) && !slices.Contains(e.cancels, r.Tag) {
			e.fail("%v is gone", r)
		}
	}
}

// While the last completed run failed, no scheduled run starts. A run that may start waits for
// nothing but an active run. A stopped or lost run does not change the block.
func whileBlocked(e *edge, seen schedule.Observation, d schedule.Decision) {
	failed := e.spec.BlockOnFailure && d.Checkpoint.Last.Outcome() == schedule.Failed
	if d.Checkpoint.Last.Stopped != "" || d.Checkpoint.Last.Lost {
		failed = d.Checkpoint.Blocked
		other := func(e schedule.Event) bool {
			return slices.Contains([]schedule.Reason{schedule.RunFailed, schedule.RunLost, schedule.RunSucceeded, schedule.Blocked, schedule.Unblocked}, e.Reason)
		}
		if failed {
			e.counts["stopped while blocked"]++
		}
		if d.Checkpoint.Last.Tag != e.state.Last.Tag && !slices.ContainsFunc(d.Events, other) && failed != e.state.Blocked {
			e.fail("a stopped run changes the block: %+v", d.Checkpoint.Last)
		}
	}
	if failed != d.Checkpoint.Blocked {
		e.fail("blocked: %v, after %v", d.Checkpoint.Blocked, d.Checkpoint.Last)
	}
	for _, r := range d.Start {
		had := slices.ContainsFunc(e.state.Pending, func(o schedule.Run) bool { return o.Tag == r.Tag && !o.Tried.IsZero() })
		if failed && !had && !r.OnDemand {
			e.fail("%v starts after %v", r, d.Checkpoint.Last)
		}
	}
	busy := e.spec.Concurrency != schedule.Allow && (len(d.Checkpoint.Running)+tried(d.Checkpoint.Pending) > 0 || slices.ContainsFunc(seen.Jobs, active)) // also of a run that has completed before
	if d.JobsUnknown || d.Checkpoint.Tries >= 3 || d.Held != "" || busy {
		return
	}
	for _, r := range d.Checkpoint.Pending {
		isFuture := r.Due.Add(time.Duration(r.Delay)).After(e.now.Add(e.skew))
		if r.Tried.IsZero() && !isFuture && (r.OnDemand || !failed && !e.spec.Suspended) {
			e.fail("%v waits for nothing", r)
		}
	}
}

// due = started + pending + missed + dropped, of the scheduled runs, and each occurrence up to the
// last handled is due once.
func conserved(e *edge, _ schedule.Observation, d schedule.Decision) {
	s := d.Checkpoint
	if s.Due != s.Started+s.PendingScheduled()+s.Missed+s.Dropped || min(s.Due, s.Started, s.Missed, s.Dropped) < 0 {
		e.fail("%d due: %d started, %d pending, %d missed, %d dropped", s.Due, s.Started, s.PendingScheduled(), s.Missed, s.Dropped)
	}
	if s.TimeSpec == e.state.TimeSpec && (s.Due < e.state.Due || s.Handled.Before(e.state.Handled)) {
		e.fail("%d due at %v, then %d at %v", e.state.Due, e.state.Handled, s.Due, s.Handled)
	}
	due := e.spec.Schedule.From(created).(schedule.Counter)
	if want := due.Count(interval.Span{Until: s.Handled}); !e.edited && s.Due != want {
		e.fail("%d due up to %v, want %d", s.Due, s.Handled, want)
	}
	now := e.now.Add(e.skew)
	if next, ok := due.Next(s.Handled); ok && (!now.Before(next) || d.NextCheck.After(next)) {
		e.fail("handled %v, next %v, at %v; NextCheck %v", s.Handled, next, now, d.NextCheck)
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
