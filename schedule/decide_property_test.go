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

	"github.com/scaledjob/scaledjob/schedule"
)

func TestNoRunTwice(t *testing.T)   { rapid.Check(t, propNoRunTwice) }
func FuzzNoRunTwice(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propNoRunTwice)) }
func TestIdempotent(t *testing.T)   { rapid.Check(t, propIdempotent) }
func FuzzIdempotent(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propIdempotent)) }
func TestOneAtATime(t *testing.T)   { rapid.Check(t, propOneAtATime) }
func FuzzOneAtATime(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(propOneAtATime)) }
func TestWaiting(t *testing.T)      { rapid.Check(t, propWaiting) }
func FuzzWaiting(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(propWaiting)) }
func TestBlocked(t *testing.T)      { rapid.Check(t, propBlocked) }
func FuzzBlocked(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(propBlocked)) }
func TestBlockEnds(t *testing.T)    { rapid.Check(t, propBlockEnds) }
func FuzzBlockEnds(f *testing.F)    { f.Fuzz(rapid.MakeFuzz(propBlockEnds)) }
func TestConservation(t *testing.T) { rapid.Check(t, propConservation) }
func FuzzConservation(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propConservation)) }
func TestAllDue(t *testing.T)       { rapid.Check(t, propAllDue) }
func FuzzAllDue(f *testing.F)       { f.Fuzz(rapid.MakeFuzz(propAllDue)) }
func TestOrder(t *testing.T)        { rapid.Check(t, propOrder) }
func FuzzOrder(f *testing.F)        { f.Fuzz(rapid.MakeFuzz(propOrder)) }
func TestAnyInput(t *testing.T)     { rapid.Check(t, propAnyInput) }
func FuzzAnyInput(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(propAnyInput)) }

// live lets a world go on for a while, and checks each decision.
func live(t *rapid.T, w *world, check func(before schedule.State, d schedule.Decision), more map[string]func(*rapid.T)) {
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
		"a request goes": func(t *rapid.T) {
			w.requests = slices.DeleteFunc(w.requests, func(r schedule.Request) bool { return w.takenUp(r) && rapid.Bool().Draw(t, "goes") })
		},
		"decide": func(t *rapid.T) {
			before, d := w.state(), w.decide()
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
}

// carryOut stores a decision and does what it says, unless it is interrupted. Jobs
// may be created before, but not deleted.
func (w *world) carryOut(t *rapid.T, d schedule.Decision) {
	const whole, nothing, stored, some, unstored = "all", "nothing", "stored", "some of it", "Jobs before it is stored"
	how := rapid.SampledFrom([]string{whole, whole, whole, nothing, stored, some, unstored}).Draw(t, "carries out")
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
	for _, tag := range d.Delete {
		if how == whole {
			delete(w.jobs, tag)
		}
	}
}

// seen reports whether a stored state has seen the Job.
func (w *world) seen(j schedule.Job) bool {
	s := w.state()
	return slices.ContainsFunc(slices.Concat(s.Running, s.Completed), func(r schedule.Run) bool { return r.Tag == j.Tag && r.Seen }) ||
		slices.Contains(s.Forgotten, j.Tag)
}

// takenUp reports whether a stored state knows of the request.
func (w *world) takenUp(r schedule.Request) bool {
	seen := w.observed()
	seen.Requests = []schedule.Request{r}
	return len(schedule.Decide(w.spec, w.state(), seen, w.now).State.Asked) == len(w.state().Asked)
}

// equal compares states and actions, as they are in JSON.
func equal(t *rapid.T, a, b any) {
	t.Helper()
	if diff := cmp.Diff(a, b, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

// No Job is created that was there before, whatever happens: interruptions, a state
// read again, a clock that jumps, another time spec.
func propNoRunTwice(t *rapid.T) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, w, func(schedule.State, schedule.Decision) {}, map[string]func(*rapid.T){
		"another time spec": func(t *rapid.T) { w.spec.Interval = drawInterval(t, "other") },
		"other options": func(t *rapid.T) {
			interval := w.spec.Interval
			w.spec = drawSpec.Draw(t, "other")
			w.spec.Interval = interval
		},
	})
}

// Deciding again at one instant, from the state that was handed back, gives the same
// state and actions, and no events.
func propIdempotent(t *rapid.T) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, w, func(before schedule.State, d schedule.Decision) {
		seen := w.observed()
		seen.JobsKnown = !d.JobsUnknown
		again := schedule.Decide(w.spec, d.State, seen, w.now)
		equal(t, d.State, again.State)
		equal(t, d.Start, again.Start)
		equal(t, d.Delete, again.Delete)
		if !d.NextCheck.Equal(again.NextCheck) || again.Events != nil || !d.State.Equal(again.State) {
			t.Fatalf("%v, then %v; events %v", d.NextCheck, again.NextCheck, again.Events)
		}
	}, map[string]func(*rapid.T){
		"another time spec": func(t *rapid.T) { w.spec.Interval = drawInterval(t, "other") },
	})
}

// Without AllowConcurrentRun no two Jobs are active.
func propOneAtATime(t *rapid.T) {
	spec := drawSpec.Draw(t, "spec")
	spec.AllowConcurrentRun = false
	w := newWorld(spec)
	live(t, w, func(_ schedule.State, d schedule.Decision) {
		if len(d.State.Running) > 1 {
			t.Fatalf("%d run", len(d.State.Running))
		}
	}, map[string]func(*rapid.T){
		"": func(t *rapid.T) {
			if tags := w.tags(active); len(tags) > 1 {
				t.Fatalf("active: %v", tags)
			}
		},
		"another time spec": func(t *rapid.T) { w.spec.Interval = drawInterval(t, "other") },
	})
}

// SkipOutdated leaves at most one scheduled run waiting, and otherwise there are
// never more than MaxWaiting. Runs on demand always stay.
func propWaiting(t *rapid.T) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, w, func(before schedule.State, d schedule.Decision) {
		most := w.spec.MaxWaiting
		if w.spec.SkipOutdated {
			most = 1
		}
		if n := d.State.Waiting(); n > int64(most) {
			t.Fatalf("%d wait, of at most %d", n, most)
		}
		for _, r := range before.Pending {
			same := func(o schedule.Run) bool { return o.Tag == r.Tag }
			if r.OnDemand && !slices.ContainsFunc(slices.Concat(d.State.Pending, d.State.Running, d.State.Completed), same) &&
				!slices.Contains(d.State.Forgotten, r.Tag) {
				t.Fatalf("%v is gone", r)
			}
		}
	}, map[string]func(*rapid.T){
		"skipOutdated": func(t *rapid.T) { w.spec.SkipOutdated = rapid.Bool().Draw(t, "skipOutdated") },
	})
}

// While the last completed run failed, no scheduled run starts; and a run on demand
// waits for nothing but one that runs.
func propBlocked(t *rapid.T) {
	spec := drawSpec.Draw(t, "spec")
	spec.BlockOnFailure = true
	w := newWorld(spec)
	live(t, w, func(before schedule.State, d schedule.Decision) {
		failed := d.State.Last.Outcome() == schedule.Failed
		if failed != d.State.Blocked {
			t.Fatalf("blocked: %v, after %v", d.State.Blocked, d.State.Last)
		}
		for _, r := range d.Start {
			had := slices.ContainsFunc(before.Running, func(o schedule.Run) bool { return o.Tag == r.Tag })
			if failed && !had && !r.OnDemand {
				t.Fatalf("%v starts after %v", r, d.State.Last)
			}
		}
		if d.JobsUnknown {
			return
		}
		for _, r := range d.State.Pending {
			if (r.OnDemand || !failed) && (w.spec.AllowConcurrentRun || len(d.State.Running) == 0) {
				t.Fatalf("%v waits for nothing", r)
			}
		}
	}, nil)
}

// After whatever has happened, and whatever waits: runs on demand that succeed end a
// block, at the latest the first that was asked for once all that ran was done.
func propBlockEnds(t *rapid.T) {
	spec := drawSpec.Draw(t, "spec")
	spec.BlockOnFailure = true
	w := newWorld(spec)
	live(t, w, func(schedule.State, schedule.Decision) {}, nil)
	w.requests = nil
	finish := func(outcome schedule.Outcome) {
		for n := 0; n == 0 || w.tags(active) != nil; n++ {
			if n > 10_000 {
				t.Fatal("it never ends")
			}
			for _, tag := range w.tags(active) {
				w.finish(tag, outcome)
			}
			w.do(t, w.decide())
		}
	}
	finish(schedule.Failed)
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
	for _, tag := range d.Delete {
		delete(w.jobs, tag)
	}
}

// due = started + waiting + missed + dropped, of the scheduled runs, always; events
// tell each completed, missed and dropped run once.
func propConservation(t *rapid.T) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, w, func(before schedule.State, d schedule.Decision) {
		s := d.State
		if s.Due != s.Started+s.Waiting()+s.Missed+s.Dropped || min(s.Due, s.Started, s.Missed, s.Dropped) < 0 {
			t.Fatalf("%d due, %d started, %d wait, %d missed, %d dropped", s.Due, s.Started, s.Waiting(), s.Missed, s.Dropped)
		}
		if s.TimeSpec == before.TimeSpec && (s.Due < before.Due || s.Handled.Before(before.Handled)) {
			t.Fatalf("%d due at %v, then %d at %v", before.Due, before.Handled, s.Due, s.Handled)
		}
	}, map[string]func(*rapid.T){
		"another time spec": func(t *rapid.T) { w.spec.Interval = drawInterval(t, "other") },
	})
}

// However often the program was interrupted, and with clocks that go back: of the
// instants up to the last handled one each is due once, and each Job is of one that
// counts as started.
func propAllDue(t *rapid.T) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, w, func(schedule.State, schedule.Decision) {}, nil)
	d := w.decide()
	instants := w.spec.Interval.Instants(w.spec.Created, nil)
	if want := instants.Count(schedule.Span{Until: d.State.Handled}); d.State.Due != want {
		t.Fatalf("%d due, want %d", d.State.Due, want)
	}
	started := int64(0)
	for tag := range w.created {
		if tag[0] >= '0' && tag[0] <= '9' {
			started++
		}
	}
	if started > d.State.Started {
		t.Fatalf("%d Jobs, %d started", started, d.State.Started)
	}
	if next, ok := instants.Next(d.State.Handled); ok && !w.now.Before(next) || !d.NextCheck.Equal(next) {
		t.Fatalf("handled %v, next %v, at %v; NextCheck %v", d.State.Handled, next, w.now, d.NextCheck)
	}
}

// The order in which Jobs and requests are listed makes no difference; the arguments
// are as they were; the lists are in order.
func propOrder(t *rapid.T) {
	w := newWorld(drawSpec.Draw(t, "spec"))
	live(t, w, func(schedule.State, schedule.Decision) {}, nil)
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
	clear(d.State.Asked)
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
			Completed: at.Draw(t, "completed"), Seen: rapid.Bool().Draw(t, "seen"), Success: rapid.Bool().Draw(t, "success"),
			Status: rapid.SampledFrom([]schedule.Status{"", schedule.Pending, schedule.Completed}).Draw(t, "status"),
		}
	})
	runs := rapid.SliceOfN(run, 0, 4)
	spec := drawSpec.Draw(t, "spec")
	spec.MaxWaiting, spec.Created = rapid.IntRange(-2, 2).Draw(t, "max"), at.Draw(t, "created")
	spec.After = []schedule.Dependency{{Job: "a", Outcome: outcome.Draw(t, "after")}}
	s := schedule.State{
		TimeSpec: spec.Interval.String(), Zone: "UTC", Since: at.Draw(t, "since"), Handled: at.Draw(t, "handled"),
		Due: count.Draw(t, "due"), Started: count.Draw(t, "started"), Missed: count.Draw(t, "missed"), Dropped: count.Draw(t, "dropped"),
		Pending: runs.Draw(t, "pending"), Running: runs.Draw(t, "running"), Completed: runs.Draw(t, "completed"),
		Last: run.Draw(t, "last"), Asked: rapid.SliceOf(tag).Draw(t, "asked"), Forgotten: rapid.SliceOf(tag).Draw(t, "forgotten"),
	}
	seen := schedule.Observed{
		JobsKnown: rapid.Bool().Draw(t, "known"),
		Jobs: rapid.SliceOf(rapid.Custom(func(t *rapid.T) schedule.Job {
			return schedule.Job{Tag: tag.Draw(t, "tag"), Outcome: outcome.Draw(t, "outcome"), Created: at.Draw(t, "created"), Finished: at.Draw(t, "finished")}
		})).Draw(t, "jobs"),
		Requests:    []schedule.Request{{ID: tag.Draw(t, "id"), Asked: at.Draw(t, "asked")}},
		Completions: []schedule.Completion{{Job: "a", Outcome: outcome.Draw(t, "outcome"), Completed: at.Draw(t, "completed")}},
	}
	d := schedule.Decide(spec, s, seen, at.Draw(t, "now"))
	if _, err := json.Marshal(d); err != nil {
		t.Fatal(err)
	}
}
