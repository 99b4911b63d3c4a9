package schedule_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/premise"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

func TestRules(t *testing.T) { premise.CheckN(t, 2*draws, propRules, usual) }
func FuzzRules(f *testing.F) { premise.Fuzz(f, propRules) }
func TestBlockEnds(t *testing.T) {
	premise.CheckN(t, draws, propBlockEnds, premise.Least{endsBlocked: 0.5})
}
func FuzzBlockEnds(f *testing.F) { premise.Fuzz(f, propBlockEnds) }
func TestAllDue(t *testing.T)    { premise.CheckN(t, draws, propAllDue, usual) }
func FuzzAllDue(f *testing.F)    { premise.Fuzz(f, propAllDue) }
func TestOrder(t *testing.T)     { premise.CheckN(t, draws, propOrder, usual) }
func FuzzOrder(f *testing.F)     { premise.Fuzz(f, propOrder) }
func TestAnyInput(t *testing.T)  { rapid.Check(t, propAnyInput) }
func FuzzAnyInput(f *testing.F)  { premise.Seeded(f, propAnyInput) }

// draws is the number for each property of a world. One takes about a millisecond.
const draws = 500

// live lets a world go on for a while, and checks each decision. It notes what happened.
func live(t *rapid.T, c *premise.Counts, w *world, check func(before schedule.State, d schedule.Decision), more map[string]func(*rapid.T)) {
	actions := map[string]func(*rapid.T){
		"time passes": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 200_000).Draw(t, "ms")) * time.Millisecond)
		},
		"the clock jumps": func(t *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(-300, 5_000_000).Draw(t, "seconds")) * time.Second)
		},
		"the clock goes back": func(t *rapid.T) {
			w.now = w.now.Add(-time.Duration(rapid.IntRange(0, 3000).Draw(t, "seconds")) * time.Second)
		},
		"a Job finishes": func(t *rapid.T) {
			if tags := w.tags(active); tags != nil {
				w.finish(rapid.SampledFrom(tags).Draw(t, "job"), rapid.SampledFrom([]schedule.Outcome{schedule.Succeeded, schedule.Failed}).Draw(t, "outcome"))
			}
		},
		"a user deletes a Job": func(t *rapid.T) {
			if tags := w.tags(w.seen); tags != nil {
				delete(w.jobs, rapid.SampledFrom(tags).Draw(t, "job"))
			}
		},
		"a request": func(*rapid.T) { w.ask() },
		"a run is cancelled": func(t *rapid.T) {
			s := w.state()
			if all := slices.Concat(s.Pending, s.Running, s.Completed); len(all) > 0 {
				w.cancels = append(w.cancels, rapid.SampledFrom(all).Draw(t, "run").Tag)
			}
		},
		"pods of a stopped run end": func(*rapid.T) {
			maps.DeleteFunc(w.jobs, func(_ string, j schedule.Job) bool { return j.Deleting })
		},
		"a request goes": func(t *rapid.T) {
			w.requests = slices.DeleteFunc(w.requests, func(r schedule.Request) bool { return w.takenUp(r) && rapid.Bool().Draw(t, "goes") })
		},
		"decide": func(t *rapid.T) {
			before, d := w.state(), w.decide()
			w.happen(before, d)
			check(before, d)
			w.carryOut(t, d)
		},
		"decide without the Jobs": func(t *rapid.T) {
			before := w.state()
			d := schedule.Decide(w.spec, before, schedule.Observed{Requests: w.requests}, w.now)
			check(before, d)
			if d.Start != nil || d.Delete != nil || !d.JobsUnknown {
				t.Fatalf("%+v", d)
			}
			w.carryOut(t, d)
		},
	}
	maps.Copy(actions, more)
	actions["decide again"] = actions["decide"]
	t.Repeat(actions)
	for _, what := range []string{started, startedAgain, waits, blocked, gone, stopped, interrupted} {
		c.Note(what, w.happened[what])
	}
}

// What may happen to a world.
const (
	started      = "a run starts"
	startedAgain = "a create is tried again"
	waits        = "a run waits"
	blocked      = "runs are blocked"
	gone         = "runs are missed or dropped"
	stopped      = "a run is stopped"
	interrupted  = "a start is interrupted"
)

const endsBlocked = "runs are blocked at the end"

// usual is about a third of how often it happens.
var usual = premise.Least{started: 0.4, startedAgain: 0.04, waits: 0.07, blocked: 0.04, gone: 0.04, stopped: 0.03, interrupted: 0.25}

func (w *world) happen(before schedule.State, d schedule.Decision) {
	for what, happens := range map[string]bool{
		started:      d.Start != nil,
		startedAgain: slices.ContainsFunc(d.Start, func(r schedule.Run) bool { return r.Attempts > 1 }),
		waits:        d.State.PendingScheduled() > 0,
		blocked:      d.State.Blocked,
		gone:         d.State.Missed+d.State.Dropped > before.Missed+before.Dropped,
		stopped:      d.Stop != nil,
	} {
		w.happened[what] = w.happened[what] || happens
	}
}

// tried returns how many of the runs may have a Job.
func tried(runs []schedule.Run) (n int) {
	for _, r := range runs {
		if !r.Tried.IsZero() {
			n++
		}
	}
	return n
}

// carryOut stores a decision and does what it says, unless it is interrupted. Jobs
// may be created before, but not deleted.
func (w *world) carryOut(t *rapid.T, d schedule.Decision) {
	const whole, nothing, stored, some, unstored = "all", "nothing", "stored", "some of it", "Jobs before it is stored"
	how := rapid.SampledFrom([]string{whole, whole, whole, nothing, stored, some, unstored}).Draw(t, "carries out")
	if how != whole && d.Start != nil {
		w.happened[interrupted] = true
	}
	if how == nothing {
		return
	}
	if how != unstored {
		w.store(d.State)
	}
	for _, r := range d.Start {
		if how == stored || how == some && rapid.Bool().Draw(t, "fails") {
			continue
		}
		if err := w.create(r); err != nil {
			t.Fatal(err)
		}
	}
	if how == whole {
		w.delete(d)
	}
}

// delete deletes the Jobs of a decision, and sometimes lets the pods of a stopped run end
// later.
func (w *world) delete(d schedule.Decision) {
	for i, tag := range d.Stop {
		j, ok := w.jobs[tag]
		if j.Deleting = true; ok && i%2 == 0 {
			w.jobs[tag] = j
		} else {
			delete(w.jobs, tag)
		}
	}
	for _, tag := range d.Delete {
		delete(w.jobs, tag)
	}
}

// seen reports whether a stored state has seen the Job.
func (w *world) seen(j schedule.Job) bool {
	s := w.state()
	return slices.ContainsFunc(slices.Concat(s.Running, s.Completed), func(r schedule.Run) bool { return r.Tag == j.Tag }) ||
		slices.Contains(s.PendingDeletion, j.Tag)
}

// takenUp reports whether a stored state knows of the request.
func (w *world) takenUp(r schedule.Request) bool {
	seen := w.observed()
	seen.Requests = []schedule.Request{r}
	return len(schedule.Decide(w.spec, w.state(), seen, w.now).State.Requested) == len(w.state().Requested)
}

// equal compares states and actions, as they are in JSON.
func equal(t *rapid.T, a, b any) {
	t.Helper()
	if diff := cmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

// A rule holds for each decision of a world.
type rule func(t *rapid.T, w *world, before schedule.State, d schedule.Decision)

var rules = []rule{idempotent, oneAtATime, boundedWaiting, whileBlocked, conserved}

// No Job is created that was there before, whatever happens: interruptions, a state read again, a
// clock that jumps, another time spec, other options. Each decision obeys the rules.
func propRules(t *rapid.T, c *premise.Counts) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, c, w, func(before schedule.State, d schedule.Decision) {
		for _, holds := range rules {
			holds(t, w, before, d)
		}
	}, map[string]func(*rapid.T){
		"": func(t *rapid.T) {
			if tags := w.tags(active); w.single && len(tags) > 1 {
				t.Fatalf("active: %v", tags)
			}
		},
		"another time spec": func(t *rapid.T) { w.spec.Schedule = drawInterval(t, "other") },
		"other options": func(t *rapid.T) {
			timetable := w.spec.Schedule
			w.spec = drawSpec.Draw(t, "other")
			w.spec.Schedule, w.single = timetable, w.single && w.spec.Concurrency != schedule.Allow
		},
	})
}

// Deciding again at one time, from the state that was handed back, gives the same state and
// deletions, starts nothing and has no events. A decision that starts a run changes the state, so
// that storing it shows whether it is still the newest.
func idempotent(t *rapid.T, w *world, before schedule.State, d schedule.Decision) {
	seen := w.observed()
	seen.JobsKnown = !d.JobsUnknown
	again := schedule.Decide(w.spec, d.State, seen, w.now)
	equal(t, d.State, again.State)
	equal(t, d.Delete, again.Delete)
	if again.Start != nil || again.Events != nil || !d.NextCheck.Equal(again.NextCheck) || !d.State.Equal(again.State) {
		t.Fatalf("%v, then %v; starts %v, events %v", d.NextCheck, again.NextCheck, again.Start, again.Events)
	}
	if d.Start != nil && d.State.Equal(before) {
		t.Fatalf("starts %+v from a state that does not change", d.Start)
	}
}

// Unless Concurrency is Allow, or was, no two runs are active.
func oneAtATime(t *rapid.T, w *world, _ schedule.State, d schedule.Decision) {
	if n := len(d.State.Running) + tried(d.State.Pending); w.single && n > 1 {
		t.Fatalf("%d run", n)
	}
}

// SkipOutdated leaves at most one scheduled run waiting, and otherwise there are never more than
// MaxWaiting. Requested runs always stay.
func boundedWaiting(t *rapid.T, w *world, before schedule.State, d schedule.Decision) {
	most := w.spec.MaxWaiting
	if w.spec.SkipOutdated || w.spec.Concurrency == schedule.Forbid || w.spec.Concurrency == schedule.Replace {
		most = 1
	}
	n := 0
	for _, r := range d.State.Pending {
		if !r.OnDemand && (r.Tried.IsZero() || slices.ContainsFunc(d.Start, func(s schedule.Run) bool { return s.Tag == r.Tag && s.Attempts == 1 })) {
			n++
		}
	}
	if n > most {
		t.Fatalf("%d wait, of at most %d", n, most)
	}
	for _, r := range before.Pending {
		same := func(o schedule.Run) bool { return o.Tag == r.Tag }
		if r.OnDemand && !slices.ContainsFunc(slices.Concat(d.State.Pending, d.State.Running, d.State.Completed), same) &&
			!slices.Contains(d.State.PendingDeletion, r.Tag) && !slices.Contains(w.cancels, r.Tag) {
			t.Fatalf("%v is gone", r)
		}
	}
}

// While the last completed run failed, no scheduled run starts; and a run that may start waits for
// nothing but an active run. A stopped or lost run does not change the block.
func whileBlocked(t *rapid.T, w *world, before schedule.State, d schedule.Decision) {
	failed := w.spec.BlockOnFailure && d.State.Last.Outcome() == schedule.Failed
	if d.State.Last.Stopped != "" || d.State.Last.Lost {
		failed = d.State.Blocked
		other := func(e schedule.Event) bool {
			return slices.Contains([]schedule.Reason{schedule.RunFailed, schedule.RunLost, schedule.RunSucceeded, schedule.Blocked, schedule.Unblocked}, e.Reason)
		}
		if d.State.Last.Tag != before.Last.Tag && !slices.ContainsFunc(d.Events, other) && failed != before.Blocked {
			t.Fatalf("a stopped run changes the block: %+v", d.State.Last)
		}
	}
	if failed != d.State.Blocked {
		t.Fatalf("blocked: %v, after %v", d.State.Blocked, d.State.Last)
	}
	for _, r := range d.Start {
		had := slices.ContainsFunc(before.Pending, func(o schedule.Run) bool { return o.Tag == r.Tag && !o.Tried.IsZero() })
		if failed && !had && !r.OnDemand {
			t.Fatalf("%v starts after %v", r, d.State.Last)
		}
	}
	if d.JobsUnknown || d.State.Tries >= 3 || w.spec.Concurrency != schedule.Allow && len(d.State.Running)+tried(d.State.Pending) > 0 {
		return
	}
	for _, r := range d.State.Pending {
		if r.Tried.IsZero() && (r.OnDemand || !failed && !w.spec.Suspended) {
			t.Fatalf("%v waits for nothing", r)
		}
	}
}

// due = started + pending + missed + dropped, of the scheduled runs.
func conserved(t *rapid.T, _ *world, before schedule.State, d schedule.Decision) {
	s := d.State
	if s.Due != s.Started+s.PendingScheduled()+s.Missed+s.Dropped || min(s.Due, s.Started, s.Missed, s.Dropped) < 0 {
		t.Fatalf("%d due, %d started, %d pending, %d missed, %d dropped", s.Due, s.Started, s.PendingScheduled(), s.Missed, s.Dropped)
	}
	if s.TimeSpec == before.TimeSpec && (s.Due < before.Due || s.Handled.Before(before.Handled)) {
		t.Fatalf("%d due at %v, then %d at %v", before.Due, before.Handled, s.Due, s.Handled)
	}
}

// After whatever has happened, and whatever waits: runs on demand that succeed end a
// block, at the latest the first that was asked for once all that ran was done.
func propBlockEnds(t *rapid.T, c *premise.Counts) {
	spec := drawSpec.Draw(t, "spec")
	spec.BlockOnFailure = true
	if spec.Concurrency == schedule.Replace { // a run that is replaced before it fails blocks nothing
		spec.Concurrency = schedule.Wait
	}
	w := newWorld(spec)
	live(t, c, w, func(schedule.State, schedule.Decision) {}, nil)
	w.requests = nil
	finish := func(outcome schedule.Outcome) {
		for n := 0; n == 0 || w.tags(active) != nil; n++ {
			if n > 2000 {
				t.Fatal("it never ends")
			}
			for _, tag := range w.tags(active) {
				w.finish(tag, outcome)
			}
			w.do(t, w.decide())
			w.now = w.now.Add(5 * time.Minute) // in which a create that was lost is tried again
			w.do(t, w.decide())
		}
	}
	finish(schedule.Failed)
	c.Note(endsBlocked, w.state().Blocked)
	if !w.state().Blocked {
		return
	}
	w.ask()
	w.do(t, w.decide())
	tags := w.tags(active)
	if len(tags) != 1 {
		t.Fatalf("active: %v of %+v", tags, w.state())
	}
	w.finish(tags[0], schedule.Succeeded)
	d := w.decide()
	if d.State.Blocked || !slices.ContainsFunc(d.Events, func(e schedule.Event) bool { return e.Reason == schedule.Unblocked }) {
		t.Fatalf("%+v", d)
	}
}

// do is what happens without an interruption.
func (w *world) do(t *rapid.T, d schedule.Decision) {
	w.store(d.State)
	for _, r := range d.Start {
		if err := w.create(r); err != nil {
			t.Fatal(err)
		}
	}
	w.delete(d)
}

// However often the program was interrupted, and with clocks that go back: of the
// instants up to the last handled one each is due once, and each Job is of one that
// counts as started.
func propAllDue(t *rapid.T, c *premise.Counts) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, c, w, func(schedule.State, schedule.Decision) {}, nil)
	d := w.decide()
	due := w.spec.Schedule.From(w.spec.Created).(schedule.Counter)
	if want := due.Count(interval.Span{Until: d.State.Handled}); d.State.Due != want {
		t.Fatalf("%d due, want %d", d.State.Due, want)
	}
	started := int64(0)
	for tag := range w.created {
		if tag[0] >= '0' && tag[0] <= '9' {
			started++
		}
	}
	if started > d.State.Started { // each Job that ever was has been observed
		t.Fatalf("%d Jobs, %d started", started, d.State.Started)
	}
	if next, ok := due.Next(d.State.Handled); ok && !w.now.Before(next) || d.NextCheck.After(next) && !next.IsZero() {
		t.Fatalf("handled %v, next %v, at %v; NextCheck %v", d.State.Handled, next, w.now, d.NextCheck)
	}
}

// The order in which Jobs and requests are listed makes no difference; the arguments
// are as they were; the lists are in order.
func propOrder(t *rapid.T, c *premise.Counts) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, c, w, func(schedule.State, schedule.Decision) {}, nil)
	state, seen := w.state(), w.observed()
	d := schedule.Decide(w.spec, state, seen, w.now)
	equal(t, w.state(), state)
	equal(t, w.observed(), seen)
	seen.Jobs = rapid.Permutation(seen.Jobs).Draw(t, "jobs")
	seen.Requests = rapid.Permutation(seen.Requests).Draw(t, "requests")
	equal(t, d, schedule.Decide(w.spec, state, seen, w.now))
	for _, runs := range [][]schedule.Run{d.State.Pending, d.State.Running} {
		if !slices.IsSortedFunc(runs, func(a, b schedule.Run) int { return a.Due.Compare(b.Due) }) {
			t.Fatalf("%+v", runs)
		}
	}
	for i, r := range d.State.Completed {
		if r.Completed.Before(r.Started) || i > 0 && r.Completed.Before(d.State.Completed[i-1].Completed) {
			t.Fatalf("%+v", d.State.Completed)
		}
	}
	clear(d.State.Pending)
	clear(d.State.Running)
	clear(d.State.Completed)
	clear(d.State.Requested)
	equal(t, w.state(), state)
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
	spec := drawSpec.Draw(t, "spec")
	spec.MaxWaiting, spec.Created = rapid.IntRange(-2, 2).Draw(t, "max"), at.Draw(t, "created")
	spec.After = []schedule.Dependency{{Job: "a", Outcome: outcome.Draw(t, "after")}}
	s := schedule.State{
		Version: rapid.SampledFrom([]int32{1, 1, 1, 0, 2, -1}).Draw(t, "version"), Tries: count.Draw(t, "tries"), RetryAt: at.Draw(t, "retryAt"),
		After:    []schedule.Connection{{Dependency: spec.After[0], Counts: schedule.Counts{Succeeded: count.Draw(t, "answered")}}},
		TimeSpec: spec.Schedule.String(), Since: at.Draw(t, "since"), Handled: at.Draw(t, "handled"),
		Due: count.Draw(t, "due"), Started: count.Draw(t, "started"), Missed: count.Draw(t, "missed"), Dropped: count.Draw(t, "dropped"),
		Pending: runs.Draw(t, "pending"), Running: runs.Draw(t, "running"), Completed: runs.Draw(t, "completed"),
		Last: run.Draw(t, "last"), Requested: rapid.SliceOf(tag).Draw(t, "asked"), PendingDeletion: rapid.SliceOf(tag).Draw(t, "forgotten"),
	}
	seen := schedule.Observed{
		JobsKnown: rapid.Bool().Draw(t, "known"),
		Jobs: rapid.SliceOf(rapid.Custom(func(t *rapid.T) schedule.Job {
			return schedule.Job{Tag: tag.Draw(t, "tag"), Outcome: outcome.Draw(t, "outcome"), Created: at.Draw(t, "created"), Finished: at.Draw(t, "finished")}
		})).Draw(t, "jobs"),
		Requests:  []schedule.Request{{ID: tag.Draw(t, "id"), RequestedAt: at.Draw(t, "asked")}},
		Rejected:  []schedule.Rejection{{Tag: tag.Draw(t, "rejected"), Attempt: count.Draw(t, "attempt")}},
		Revision:  count.Draw(t, "revision"),
		Upstreams: []schedule.Upstream{{Job: "a", UID: tag.Draw(t, "uid"), Counts: schedule.Counts{Succeeded: count.Draw(t, "succeeded"), Failed: count.Draw(t, "failed")}, Recent: runs.Draw(t, "recent")}},
	}
	d := schedule.Decide(spec, s, seen, at.Draw(t, "now"))
	if _, err := json.Marshal(d); err != nil {
		t.Fatal(err)
	}
}
