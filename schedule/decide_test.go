package schedule_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

// brief is a decision in a line, without RunStarted. A run is its due time, with a star
// if it was requested.
func brief(d schedule.Decision) string {
	var parts []string
	list := func(name string, runs []schedule.Run) {
		var all []string
		for _, r := range runs {
			text := r.Due.Format("15:04")
			if r.OnDemand {
				text += "*"
			}
			if r.Outcome() == schedule.Failed {
				text += "!"
			}
			all = append(all, text)
		}
		if all != nil {
			parts = append(parts, name+" "+strings.Join(all, " "))
		}
	}
	list("start", d.Start)
	list("wait", d.Checkpoint.Pending)
	list("run", d.Checkpoint.Running)
	list("done", d.Checkpoint.Completed)
	if n := len(d.Delete); n > 0 {
		parts = append(parts, fmt.Sprintf("delete %d", n))
	}
	if n := len(d.Stop); n > 0 {
		parts = append(parts, fmt.Sprintf("stop %d", n))
	}
	for _, e := range d.Events {
		if e.Reason == schedule.RunStarted {
			continue
		}
		text := string(e.Reason)
		if e.Count > 0 {
			text = fmt.Sprintf("%d %s", e.Count, text)
		}
		parts = append(parts, text)
	}
	s := d.Checkpoint
	counts := fmt.Sprintf("%d=%d+%d+%d+%d", s.Due, s.Started, s.PendingScheduled(), s.Missed, s.Dropped)
	return strings.Join(append(parts, counts), ", ")
}

// A step is what happens at a time, and the decision then, which is stored and
// carried out.
type step struct {
	at   string
	do   func(w *cluster)
	want string
}

func clock(at string) time.Time {
	t, err := time.Parse("15:04", at)
	if err != nil {
		panic(err)
	}
	return created.Add(t.Sub(t.Truncate(24 * time.Hour)))
}

func finishes(at string, outcome schedule.Outcome) func(*cluster) {
	return func(w *cluster) {
		for _, tag := range w.tags(active) {
			w.finish(tag, outcome)
			j := w.jobs[tag]
			j.Finished = clock(at)
			w.jobs[tag] = j
		}
	}
}

func asks(w *cluster) { w.ask() }

// loses goes back to the state before the decision, of which the Jobs stay.
func loses(do func(w *cluster)) func(*cluster) {
	return func(w *cluster) {
		before := w.stored
		do(w)
		w.stored = before
	}
}

// decides decides at another time, and all is done.
func decides(at string) func(*cluster) {
	return func(w *cluster) {
		now := w.now
		w.now = clock(at)
		d := w.decide()
		w.store(d.Checkpoint)
		for _, r := range d.Start {
			if err := w.create(r); err != nil {
				panic(err)
			}
		}
		w.now = now
	}
}

func both(a, b func(*cluster)) func(*cluster) { return func(w *cluster) { a(w); b(w) } }

func TestDecide(t *testing.T) {
	plain := schedule.DefaultPolicy()
	plain.UID, plain.Created = "2f6a", created
	plain.Schedule = schedule.ISO8601(parse(t, "R4/2026-01-01T01:00:00Z/PT1H"), nil)
	with := func(change func(*schedule.Policy)) schedule.Policy {
		s := plain
		change(&s)
		return s
	}
	single := with(func(s *schedule.Policy) { s.Concurrency = schedule.Wait })
	all := with(func(s *schedule.Policy) { s.Concurrency, s.SkipOutdated, s.MaxWaiting = schedule.Wait, false, 2 })
	block := with(func(s *schedule.Policy) { s.BlockOnFailure = true })
	spec := func(text string) func(*cluster) {
		return func(w *cluster) { w.spec.Schedule = schedule.ISO8601(parse(t, text), nil) }
	}
	change := func(to schedule.Policy) func(*cluster) { return func(w *cluster) { w.spec = to } }
	gone := func(w *cluster) { clear(w.jobs) }
	never := func(w *cluster) { gone(w); clear(w.created) } // the Job was not created after all

	for _, tt := range []struct {
		name  string
		spec  schedule.Policy
		steps []step
	}{
		{"runs on schedule", plain, []step{
			{"00:00", nil, "0=0+0+0+0"},
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"01:00", nil, "run 01:00, 1=1+0+0+0"},
			{"02:00", nil, "start 02:00, wait 02:00, run 01:00, 2=1+1+0+0"},
			{"02:30", finishes("02:20", schedule.Succeeded), "done 01:00 02:00, RunSucceeded, RunSucceeded, 2=2+0+0+0"},
			{"09:00", nil, "start 04:00, wait 04:00, done 01:00 02:00, 1 RunsMissed, 4=2+1+1+0"},
			{"12:00", nil, "run 04:00, done 01:00 02:00, 4=3+0+1+0"},
		}},
		{"one at a time, the latest waits", single, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"02:00", nil, "wait 02:00, run 01:00, 2=1+1+0+0"},
			{"03:00", nil, "wait 03:00, run 01:00, 1 RunsMissed, 3=1+1+1+0"},
			{"03:10", finishes("03:05", schedule.Succeeded), "start 03:00, wait 03:00, done 01:00, RunSucceeded, 3=1+1+1+0"},
		}},
		{"one at a time, all wait, up to two", all, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"03:00", nil, "wait 02:00 03:00, run 01:00, 3=1+2+0+0"},
			{"04:00", nil, "wait 03:00 04:00, run 01:00, 1 RunsMissed, 4=1+2+1+0"},
			{"04:10", finishes("04:05", schedule.Failed), "start 03:00, wait 03:00 04:00, done 01:00!, RunFailed, 4=1+2+1+0"},
			{"04:20", change(single), "wait 04:00, run 03:00, done 01:00!, 4=2+1+1+0"},
		}},
		{"a jump leaves the latest", all, []step{
			{"00:30", spec("R/2026-01-01T01:00:00Z/PT1S"), "0=0+0+0+0"},
			{"23:00", nil, "start 22:59, wait 22:59 23:00, 79199 RunsDropped, 79201=0+2+0+79199"},
		}},
		{"skipOutdated leaves one of those that wait", all, []step{
			{"03:00", nil, "start 02:00, wait 02:00 03:00, 1 RunsDropped, 3=0+2+0+1"},
			{"04:00", nil, "wait 03:00 04:00, run 02:00, 4=1+2+0+1"},
			{"04:10", change(single), "wait 04:00, run 02:00, 1 RunsMissed, 4=1+1+1+1"},
		}},
		{"a failure blocks, a success on demand ends it", block, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"01:10", finishes("01:05", schedule.Failed), "done 01:00!, RunFailed, Blocked, 1=1+0+0+0"},
			{"02:00", nil, "wait 02:00, done 01:00!, 2=1+1+0+0"},
			{"03:00", nil, "wait 03:00, done 01:00!, 1 RunsMissed, 3=1+1+1+0"},
			{"03:10", asks, "start 03:10*, wait 03:00 03:10*, done 01:00!, 3=1+1+1+0"},
			{"03:20", finishes("03:15", schedule.Failed), "wait 03:00, done 01:00! 03:10*!, RunFailed, 3=1+1+1+0"},
			{"03:30", asks, "start 03:30*, wait 03:00 03:30*, done 01:00! 03:10*!, 3=1+1+1+0"},
			{"03:40", finishes("03:35", schedule.Succeeded),
				"start 03:00, wait 03:00, done 01:00! 03:10*! 03:30*, RunSucceeded, Unblocked, 3=1+1+1+0"},
		}},
		{"a block ends when nothing is to be blocked", block, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"02:10", finishes("01:05", schedule.Failed), "wait 02:00, done 01:00!, RunFailed, Blocked, 2=1+1+0+0"},
			{"02:20", change(plain), "start 02:00, wait 02:00, done 01:00!, Unblocked, 2=1+1+0+0"},
		}},
		{"a run whose Job is gone is lost", plain, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"01:10", never, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"01:20", nil, "run 01:00, 1=1+0+0+0"},
			{"01:30", gone, "done 01:00, RunLost, 1=1+0+0+0"},
		}},
		{"on demand, each request once", with(func(s *schedule.Policy) { s.Schedule = nil }), []step{
			{"00:10", asks, "start 00:10*, wait 00:10*, 0=0+0+0+0"},
			{"00:20", asks, "start 00:20*, wait 00:20*, run 00:10*, 0=0+0+0+0"},
			{"00:30", finishes("00:25", schedule.Succeeded), "done 00:10* 00:20*, RunSucceeded, RunSucceeded, 0=0+0+0+0"},
		}},
		{"history", with(func(s *schedule.Policy) { s.History = history.Policy{Succeeded: history.Keep(1)} }), []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"02:00", finishes("01:30", schedule.Succeeded), "start 02:00, wait 02:00, done 01:00, RunSucceeded, 2=1+1+0+0"},
			{"03:00", finishes("02:30", schedule.Succeeded), "start 03:00, wait 03:00, done 02:00, delete 1, RunSucceeded, 3=2+1+0+0"},
			{"03:10", nil, "run 03:00, done 02:00, delete 1, 3=3+0+0+0"}, // not carried out yet
			{"03:20", finishes("03:15", schedule.Failed), "done 02:00 03:00!, delete 1, RunFailed, 3=3+0+0+0"},
			{"03:30", gone, "done 02:00 03:00!, 3=3+0+0+0"},
		}},
		{"a Job of a lost state is adopted", single, []step{
			{"00:00", nil, "0=0+0+0+0"},
			{"02:10", loses(decides("02:00")), "run 02:00, 1 RunsMissed, 2=1+0+1+0"},
			{"03:00", finishes("02:30", schedule.Failed), "start 03:00, wait 03:00, done 02:00!, RunFailed, 3=1+1+1+0"},
		}},
		{"an older run does not wait behind an adopted one", single, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"02:00", nil, "wait 02:00, run 01:00, 2=1+1+0+0"},
			{"03:10", loses(both(finishes("03:00", schedule.Succeeded), decides("03:00"))),
				"run 03:00, done 01:00, RunSucceeded, 1 RunsMissed, 3=2+0+1+0"},
		}},
		{"an adopted run was waiting", single, []step{
			{"01:00", nil, "start 01:00, wait 01:00, 1=0+1+0+0"},
			{"02:00", asks, "wait 02:00 02:00*, run 01:00, 2=1+1+0+0"},
			{"02:20", loses(both(finishes("02:10", schedule.Succeeded), decides("02:10"))), "wait 02:00*, run 02:00, done 01:00, RunSucceeded, 2=2+0+0+0"},
		}},
		{"a clock that goes back finds what has been", plain, []step{
			{"00:00", nil, "0=0+0+0+0"},
			{"02:30", loses(decides("03:00")), "start 02:00, wait 02:00, run 03:00, 1 RunsMissed, 2=0+1+1+0"},
			{"03:00", nil, "run 02:00 03:00, 3=2+0+1+0"},
			{"04:00", nil, "start 04:00, wait 04:00, run 02:00 03:00, 4=2+1+1+0"},
		}},
		{"another time spec starts anew, what waits stays", all, []step{
			{"02:00", nil, "start 01:00, wait 01:00 02:00, 2=0+2+0+0"},
			{"02:30", spec("R2//PT1H"), "wait 02:00 02:30, run 01:00, 3=1+2+0+0"},
			{"02:40", finishes("02:35", schedule.Succeeded), "start 02:00, wait 02:00 02:30, done 01:00, RunSucceeded, 3=1+2+0+0"},
			{"05:00", nil, "wait 02:30 03:30, run 02:00, done 01:00, 4=2+2+0+0"},
		}},
		{"what ran stays handled under another time spec", plain, []step{
			{"02:00", nil, "start 02:00, wait 02:00, 1 RunsMissed, 2=0+1+1+0"},
			{"01:30", spec("R/2026-01-01T00:00:00Z/PT30M"), "start 01:30, wait 01:30, run 02:00, 2=1+1+0+0"}, // by a clock that went back
			{"02:00", nil, "run 01:30 02:00, 3=3+0+0+0"},
			{"02:30", nil, "start 02:30, wait 02:30, run 01:30 02:00, 4=3+1+0+0"},
		}},
		{"an adopted run of another time spec does not count", plain, []step{
			{"00:00", nil, "0=0+0+0+0"},
			{"01:10", both(loses(decides("01:00")), spec("R/2026-01-01T01:30:00Z/PT1H")), "run 01:00, 0=0+0+0+0"},
			{"01:30", nil, "start 01:30, wait 01:30, run 01:00, 1=0+1+0+0"},
		}},
		{"what an adopted run shows stays handled", plain, []step{
			{"00:00", nil, "0=0+0+0+0"},
			{"02:30", both(loses(decides("03:00")), spec("R/2026-01-01T00:15:00Z/PT1H")), "run 03:00, 0=0+0+0+0"},
			{"02:40", spec("R4/2026-01-01T01:00:00Z/PT1H"), "run 03:00, 0=0+0+0+0"},
			{"03:00", nil, "run 03:00, 1=1+0+0+0"},
			{"04:00", nil, "start 04:00, wait 04:00, run 03:00, 2=1+1+0+0"},
		}},
		{"no schedule any more", single, []step{
			{"02:00", nil, "start 02:00, wait 02:00, 1 RunsMissed, 2=0+1+1+0"},
			{"03:00", nil, "wait 03:00, run 02:00, 3=1+1+1+0"},
			{"03:10", func(w *cluster) { w.spec.Schedule = nil }, "run 02:00, 1 RunsDropped, 1 RunsMissed, 1=0+0+1+0"},
			{"03:20", finishes("03:15", schedule.Succeeded), "done 02:00, RunSucceeded, 1=0+0+1+0"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newCluster(tt.spec)
			for _, s := range tt.steps {
				w.now = clock(s.at)
				if s.do != nil {
					s.do(w)
				}
				d := w.decide()
				assert.Equal(t, s.want, brief(d), s.at)
				w.store(d.Checkpoint)
				for _, r := range d.Start {
					require.NoError(t, w.create(r))
				}
			}
		})
	}
}

// minutely is due every minute from the creation on.
func minutely(t *testing.T) schedule.Policy {
	s := schedule.DefaultPolicy()
	s.UID, s.Created, s.Schedule = "2f6a", created, schedule.ISO8601(parse(t, "R//PT1M"), nil)
	return s
}

func minute(n int) time.Time { return created.Add(time.Duration(n) * time.Minute) }

var none = schedule.Observation{JobsKnown: true}

func job(r schedule.Run, outcome schedule.Outcome, finished time.Time) schedule.Job {
	return schedule.Job{Tag: r.Tag, Outcome: outcome, Created: latest(r.Started, r.Tried), Finished: finished}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A run on demand whose Job was adopted after its request had gone does not start
// when that is listed again.
func TestAdoptedRequest(t *testing.T) {
	s := minutely(t)
	s.Schedule, s.History.Succeeded = nil, history.Keep(0)
	asked := schedule.Observation{JobsKnown: true, Requests: []schedule.Request{{ID: "r", RequestedAt: minute(1)}}}
	lost := decide(s, schedule.Checkpoint{}, asked, minute(1))
	require.Len(t, lost.Start, 1)
	seen := schedule.Observation{JobsKnown: true, Jobs: []schedule.Job{job(lost.Start[0], schedule.Succeeded, minute(2))}}
	d := decide(s, schedule.Checkpoint{}, seen, minute(3))
	require.Equal(t, "delete 1, RunSucceeded, 0=0+0+0+0", brief(d))
	require.Equal(t, []string{lost.Start[0].Tag}, d.Delete)
	d = decide(s, d.Checkpoint, asked, minute(4))
	require.Equal(t, "0=0+0+0+0", brief(d))
}

// Runs are ordered by when they completed, and at one instant by due time. What is
// seen late completes with the last that had been seen, or behind it if it started
// when that was known.
func TestOrderOfCompletion(t *testing.T) {
	s := minutely(t)
	s.BlockOnFailure = true
	state, started := schedule.Checkpoint{}, none
	for n := range 3 {
		d := decide(s, state, started, minute(n))
		started.Jobs = append(started.Jobs, job(d.Start[0], schedule.Unfinished, time.Time{}))
		state = decide(s, d.Checkpoint, started, minute(n)).Checkpoint
	}
	runs := state.Running
	jobs := func(a, b, c schedule.Outcome) schedule.Observation {
		return schedule.Observation{JobsKnown: true, Jobs: []schedule.Job{
			job(runs[0], a, minute(4)), job(runs[1], b, minute(5)), job(runs[2], c, minute(4))}}
	}
	together := decide(s, state, jobs(schedule.Succeeded, schedule.Failed, schedule.Succeeded), minute(2))
	require.Equal(t, "done 00:00 00:02 00:01!, RunSucceeded, RunSucceeded, RunFailed, Blocked, 3=3+0+0+0", brief(together))
	require.Equal(t, minute(5), together.Checkpoint.Last.Completed)

	// The second is seen first. The others are behind it in time, and completed with it.
	second := decide(s, state, jobs("", schedule.Failed, ""), minute(2))
	first := decide(s, second.Checkpoint, jobs(schedule.Succeeded, schedule.Failed, ""), minute(2))
	require.Equal(t, "run 00:02, done 00:00 00:01!, RunSucceeded, 3=3+0+0+0", brief(first))
	require.Equal(t, minute(5), first.Checkpoint.Completed[0].Completed)
	third := decide(s, first.Checkpoint, jobs(schedule.Succeeded, schedule.Failed, schedule.Succeeded), minute(2))
	require.Equal(t, "done 00:00 00:01! 00:02, RunSucceeded, Unblocked, 3=3+0+0+0", brief(third))
	require.Equal(t, minute(5), third.Checkpoint.Last.Completed)

	// A run that was asked for long ago, and started after the failure, by a clock that
	// is behind.
	asked := jobs("", schedule.Failed, "")
	asked.Requests = []schedule.Request{{ID: "r", RequestedAt: minute(-9)}}
	d := decide(s, second.Checkpoint, asked, minute(2))
	require.Len(t, d.Start, 1)
	require.Equal(t, minute(5), d.Start[0].Tried)
	behind := job(d.Start[0], schedule.Succeeded, minute(2))
	behind.Created = minute(2)
	asked.Jobs = append(asked.Jobs, behind)
	for name, state := range map[string]schedule.Checkpoint{"kept": d.Checkpoint, "lost": second.Checkpoint} {
		ended := decide(s, state, asked, minute(2))
		require.False(t, ended.Checkpoint.Blocked, name)
		require.Equal(t, minute(5).Add(1), ended.Checkpoint.Last.Completed, name)
	}
}

// Answered requests that stay in the list for a while, such as for a time to live, cost the state
// no more than others: history keeps its runs, and the schedule is not held.
func TestAnsweredRequests(t *testing.T) {
	s := minutely(t)
	s.Schedule, s.Concurrency, s.History.Succeeded = nil, schedule.Allow, history.Keep(20)
	state, seen := schedule.Checkpoint{}, schedule.Observation{JobsKnown: true}
	for n := range 600 {
		now := minute(n)
		seen.Requests = append(seen.Requests, schedule.Request{ID: fmt.Sprint(n), RequestedAt: now})
		d := decide(s, state, seen, now)
		require.Len(t, d.Start, 1)
		seen.Jobs = []schedule.Job{job(d.Start[0], schedule.Succeeded, now)}
		state = decide(s, d.Checkpoint, seen, now).Checkpoint
		seen.Requests[n].Answered, seen.Jobs = true, nil
	}
	require.Len(t, state.Completed, 20)
	require.LessOrEqual(t, len(state.Requested), 201) // one is not answered yet
	for i := range 180 {
		seen.Requests[599-i].Answered = false // a list that is older than the state
	}
	require.Empty(t, decide(s, state, seen, minute(601)).Start)
}

// Requests whose runs history has dropped are remembered, and the oldest are forgotten.
func TestRememberedRequests(t *testing.T) {
	s := minutely(t)
	s.Schedule, s.History.Succeeded = nil, history.Keep(0)
	request := func(n int) schedule.Request { return schedule.Request{ID: fmt.Sprint(n), RequestedAt: minute(n)} }
	state := schedule.Checkpoint{}
	for n := 0; n < 300; n += 15 {
		now, seen := minute(n+15), schedule.Observation{JobsKnown: true, Requests: []schedule.Request{request(0)}}
		for i := range 15 {
			seen.Requests = append(seen.Requests, request(n+i))
		}
		d := decide(s, state, seen, now)
		for _, r := range d.Start {
			seen.Jobs = append(seen.Jobs, job(r, schedule.Succeeded, now))
		}
		state = decide(s, d.Checkpoint, seen, now).Checkpoint
		state = decide(s, state, none, now).Checkpoint
	}
	starts := func(n int) bool {
		seen := schedule.Observation{JobsKnown: true, Requests: []schedule.Request{request(n)}}
		return decide(s, state, seen, minute(2000)).Start != nil
	}
	require.Len(t, state.Requested, 200)
	require.True(t, starts(89))
	require.False(t, starts(105))
	require.False(t, starts(299))
}

// Tags stay as they are: under another, a run would start again.
func TestTags(t *testing.T) {
	s := minutely(t)
	s.Schedule = schedule.ISO8601(parse(t, "R/2026-01-01T00:00:00Z/PT0.5S"), nil)
	s.SkipOutdated, s.MaxWaiting, s.After = false, 2, after("a")
	d := decide(s, schedule.Checkpoint{}, schedule.Observation{JobsKnown: true, Requests: []schedule.Request{{ID: "r"}},
		Upstreams: []schedule.Upstream{{Job: "a", UID: "u", Counts: schedule.Counts{Failed: 1}, Recent: []schedule.Run{{Status: schedule.Completed, Completed: minute(1)}}}}}, minute(0).Add(time.Second))
	var tags []string
	for _, r := range d.Start {
		tags = append(tags, r.Tag)
		require.LessOrEqual(t, len(r.Tag), 34)
	}
	require.Equal(t, []string{"20260101t000000-500000000-37ee6aec", "20260101t000001-6ceac65c",
		"after-79e01cf977156608f325eaac", "asked-282d20d341869ffbc31cfa95"}, tags)
}

// With many dependencies with long names, the state has few completed runs.
func TestSizeWithDependencies(t *testing.T) {
	s := minutely(t)
	s.History = history.Policy{}
	seen := schedule.Observation{JobsKnown: true, DeletedBy: map[string]string{}}
	for i := range 100 {
		name := fmt.Sprintf("%s%03d", strings.Repeat("a", 250), i)
		s.After = append(s.After, after(name)...)
		seen.Upstreams = append(seen.Upstreams, schedule.Upstream{Job: name, UID: strings.Repeat("u", 36), Counts: schedule.Counts{Succeeded: 1 << 40, Failed: 1 << 40, Lost: 1 << 40}})
	}
	var state schedule.Checkpoint
	for i := range 100 {
		state = decide(s, state, seen, minute(i)).Checkpoint
		seen.Jobs = nil
		for _, r := range state.Pending {
			seen.Jobs, seen.DeletedBy[r.Tag] = append(seen.Jobs, schedule.Job{Tag: r.Tag}), strings.Repeat("d", 100)
		}
		data, err := json.Marshal(state)
		require.NoError(t, err)
		require.Less(t, len(data), 60<<10)
	}
	require.Greater(t, state.Started, int64(45))
	require.Greater(t, len(state.Completed), 10)
}

// The state stays small in a mix of everything that it holds: requests that are never answered,
// completions of another job, active runs, a backlog with fractions of seconds, lost runs with long
// names, and long words of the API server.
func TestStateSizeOfMixes(t *testing.T) {
	largest, backlogs, unanswered, dropped := 0, 0, 0, int64(0)
	for seed := range 2 {
		r := rand.New(rand.NewSource(int64(seed)))
		s := minutely(t)
		s.Schedule = schedule.ISO8601(parse(t, "R/2026-01-01T00:00:00.123456789Z/PT1S"), nil)
		s.SkipOutdated, s.History, s.MaxCatchUp, s.After = false, history.Policy{}, 1000, after("other")
		s.Concurrency = []schedule.Concurrency{schedule.Allow, schedule.Wait}[seed%2]
		seen := schedule.Observation{JobsKnown: true, DeletedBy: map[string]string{}}
		for i := range 1000 {
			seen.Requests = append(seen.Requests, schedule.Request{ID: fmt.Sprintf("%036d", i), RequestedAt: created.Add(time.Duration(i + 1)), Occurrence: created.Add(time.Duration(i + 1))})
		}
		jobs := map[string]schedule.Job{}
		var state schedule.Checkpoint
		for step := range 90 {
			now := created.Add(time.Duration(step)*30*time.Second + 123456789)
			s.Suspended = r.Intn(3) == 0
			seen.Jobs, seen.Rejected = nil, nil
			seen.Upstreams = []schedule.Upstream{{Job: "other", UID: "o", Created: created, Counts: schedule.Counts{Succeeded: int64(10 * step)}}}
			for tag, j := range jobs {
				switch {
				case j.Outcome == "" && r.Intn(8) == 0:
					j.Outcome, j.Finished = schedule.Failed, now
					jobs[tag] = j
				case j.Outcome == "" && r.Intn(8) == 0:
					seen.DeletedBy[tag] = strings.Repeat("d", 500)
					delete(jobs, tag)
					continue
				}
				seen.Jobs = append(seen.Jobs, j)
			}
			before := state.Dropped
			d := decide(s, state, seen, now)
			state = d.Checkpoint
			for _, run := range d.Start {
				jobs[run.Tag] = schedule.Job{Tag: run.Tag, Created: now, Pods: schedule.Pods{Active: 1 << 30, Succeeded: 1 << 30, Failed: 1 << 30, Restarts: 1 << 30}}
			}
			for _, tag := range d.Delete {
				delete(jobs, tag)
			}
			data, err := json.Marshal(state)
			require.NoError(t, err)
			require.Less(t, len(data), 60<<10, "step %d: %d pending, %d backlog, %d running, %d completed, %d requested, %d to delete", step,
				len(state.Pending), state.PendingScheduled(), len(state.Running), len(state.Completed), len(state.Requested), len(state.PendingDeletion))
			var read schedule.Checkpoint
			require.NoError(t, json.Unmarshal(data, &read))
			require.True(t, read.Equal(state), "step %d", step)
			if state.Dropped > before {
				require.Greater(t, len(data), 54<<10, "step %d: runs that fit are dropped", step)
			}
			largest, backlogs, unanswered = max(largest, len(data)), max(backlogs, int(state.PendingScheduled())), max(unanswered, len(state.Completed))
			require.Equal(t, state.Due, state.Started+state.PendingScheduled()+state.Missed+state.Dropped)
		}
		dropped += state.Dropped
	}
	t.Logf("at most %d bytes; a backlog of %d, %d completed runs; %d dropped", largest, backlogs, unanswered, dropped)
	require.Greater(t, backlogs, 500)
	require.Greater(t, unanswered, 20)
}
