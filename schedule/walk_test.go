package schedule_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/premise"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A cluster stores one job's state with a version, and its Jobs with a revision. It
// keeps old answers of both, so that a controller can read stale ones.
type cluster struct {
	states   [][]byte
	jobs     []schedule.Observed // by revision
	created  map[string]int      // Jobs that ever were, by tag
	ended    map[string]schedule.Outcome
	rejects  bool
	cancels  []string
	requests []schedule.Request
	premises map[string]int

	// A second job runs after each run of the first. Its state is never stale, but that of
	// the first may be.
	next     schedule.State
	nextJobs []schedule.Job
	nextRuns map[string]int // its Jobs that ever were, by tag
}

// A controller is one process: it reads, decides, stores and acts, and can stop
// between any two steps.
type controller struct {
	*cluster
	spec     schedule.Spec
	now      time.Time
	rejected []schedule.Rejection
}

func (c *cluster) current() schedule.Observed { return c.jobs[len(c.jobs)-1] }

// change makes a new revision of the Jobs.
func (c *cluster) change(do func([]schedule.Job) []schedule.Job) {
	next := c.current()
	next.Revision++
	next.Jobs = do(slices.Clone(next.Jobs))
	c.jobs = append(c.jobs, next)
}

// create is the API server's: a Job that exists is not created again.
func (c *controller) create(t *rapid.T, r schedule.Run) {
	same := func(j schedule.Job) bool { return j.Tag == r.Tag }
	switch {
	case c.rejects:
		c.premises["rejected"]++
		// A read afterwards finds no Job; the report may be lost.
		if !slices.ContainsFunc(c.current().Jobs, same) && rapid.IntRange(0, 3).Draw(t, "told") > 0 {
			c.rejected = append(c.rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts})
		}
	case slices.ContainsFunc(c.current().Jobs, same):
		c.premises["created before"]++
	default:
		if c.created[r.Tag]++; c.created[r.Tag] > 1 {
			t.Fatalf("run %s executes twice", r.Tag)
		}
		c.change(func(jobs []schedule.Job) []schedule.Job {
			return append(jobs, schedule.Job{Tag: r.Tag, Created: c.now.Truncate(time.Second)})
		})
	}
}

// reconcile is one reading, deciding, storing and acting, with lists as old as drawn.
func (c *controller) reconcile(t *rapid.T, stale bool) {
	version, seen := len(c.states)-1, c.current()
	if stale {
		version -= rapid.IntRange(0, min(version, 4)).Draw(t, "stale state")
		seen = c.jobs[len(c.jobs)-1-rapid.IntRange(0, min(len(c.jobs)-1, 6)).Draw(t, "stale Jobs")]
	}
	var state schedule.State
	if err := json.Unmarshal(c.states[version], &state); err != nil {
		t.Fatal(err)
	}
	if seen.Revision < state.JobsRevision {
		c.premises["stale Jobs"]++
	}
	seen.Requests, seen.Rejected, seen.Cancelled = c.requests, c.rejected, c.cancels
	d := schedule.Decide(c.spec, state, seen, c.now)
	if version == len(c.states)-1 { // else it cannot be stored
		c.check(t, state, d)
	}
	if rapid.IntRange(0, 9).Draw(t, "stops") == 0 {
		c.rejected = nil
		return
	}
	if !d.State.Equal(state) {
		if version != len(c.states)-1 {
			c.premises["stale state"]++
			return // somebody else has stored one since
		}
		data, err := json.Marshal(d.State)
		if err != nil {
			t.Fatal(err)
		}
		c.states = append(c.states, data)
	}
	c.rejected = nil
	for _, r := range d.Start {
		if rapid.IntRange(0, 9).Draw(t, "stops") == 0 {
			c.rejected = nil
			return
		}
		c.create(t, r)
	}
	c.stop(d)
	for _, tag := range d.Delete {
		c.premises["deleted"]++
		c.change(func(jobs []schedule.Job) []schedule.Job {
			return slices.DeleteFunc(jobs, func(j schedule.Job) bool { return j.Tag == tag && j.Outcome != schedule.Unfinished })
		})
	}
}

// follow lets the second job decide. Its Jobs succeed at once.
func (c *controller) follow(t *rapid.T, version int) {
	var first schedule.State
	if err := json.Unmarshal(c.states[version], &first); err != nil {
		t.Fatal(err)
	}
	spec := schedule.DefaultSpec()
	spec.UID, spec.Created, spec.After = "next", created, []schedule.Dependency{{Job: "job", Outcome: schedule.Any}}
	spec.History = c.spec.History
	d := schedule.Decide(spec, c.next, schedule.Observed{JobsKnown: true, Jobs: c.nextJobs, Upstreams: []schedule.Upstream{first.Upstream("job", "2f6a")}}, c.now)
	c.next = d.State
	c.nextJobs = slices.DeleteFunc(c.nextJobs, func(j schedule.Job) bool { return slices.Contains(d.Delete, j.Tag) })
	for _, r := range d.Start {
		if c.nextRuns[r.Tag]++; c.nextRuns[r.Tag] > 1 {
			t.Fatalf("run %s of the second job executes twice", r.Tag)
		}
		c.nextJobs = append(c.nextJobs, schedule.Job{Tag: r.Tag, Outcome: schedule.Succeeded, Created: c.now, Finished: c.now})
	}
}

// stop deletes the Jobs of stopped runs.
func (c *controller) stop(d schedule.Decision) {
	for _, tag := range d.Stop {
		c.premises["stopped"]++
		c.change(func(jobs []schedule.Job) []schedule.Job {
			return slices.DeleteFunc(jobs, func(j schedule.Job) bool { return j.Tag == tag && j.Outcome == schedule.Unfinished })
		})
	}
}

// check asserts what holds for each decision.
func (c *controller) check(t *rapid.T, before schedule.State, d schedule.Decision) {
	s := d.State
	if s.Due != s.Started+s.Waiting()+s.Missed+s.Dropped {
		t.Fatalf("%d due: %d started, %d wait, %d missed, %d dropped", s.Due, s.Started, s.Waiting(), s.Missed, s.Dropped)
	}
	if len(d.Start) > 0 && s.Equal(before) {
		t.Fatal("starts a run, and the state does not change")
	}
	if before.Tries >= 3 && s.Tries > before.Tries && len(d.Start) > 1 {
		t.Fatalf("creates fail, and %d are tried", len(d.Start))
	}
	for _, r := range s.Completed {
		if r.Stopped != "" && r.Outcome() != schedule.Succeeded && !r.Lost {
			continue
		}
		if want := c.ended[r.Tag]; r.Lost || r.Outcome() != want {
			t.Fatalf("run %s is %s, lost %v, and its Job %q", r.Tag, r.Outcome(), r.Lost, want)
		}
	}
	for _, r := range s.Running {
		if c.created[r.Tag] != 1 {
			t.Fatalf("run %s runs without a Job", r.Tag)
		}
	}
}

// settle lets creates succeed, and Jobs too, until nothing waits.
func (c *controller) settle(t *rapid.T) schedule.State {
	c.rejects, c.rejected, c.spec.Suspended = false, nil, false
	for range 200 {
		c.now = c.now.Add(5 * time.Minute)
		state, seen := schedule.State{}, c.current()
		if err := json.Unmarshal(c.states[len(c.states)-1], &state); err != nil {
			t.Fatal(err)
		}
		seen.Requests, seen.Cancelled = c.requests, c.cancels
		d := schedule.Decide(c.spec, state, seen, c.now)
		c.check(t, state, d)
		data, _ := json.Marshal(d.State) // it was marshaled before
		c.states = append(c.states, data)
		if len(d.Start)+len(d.Delete)+len(d.State.Pending)+len(d.State.Running) == 0 {
			return d.State
		}
		for _, r := range d.Start {
			c.create(t, r)
		}
		c.stop(d)
		for _, j := range c.current().Jobs {
			if j.Outcome == schedule.Unfinished {
				c.finish(j.Tag, schedule.Succeeded)
			}
		}
		for _, tag := range d.Delete {
			c.change(func(jobs []schedule.Job) []schedule.Job {
				return slices.DeleteFunc(jobs, func(j schedule.Job) bool { return j.Tag == tag })
			})
		}
	}
	t.Fatal("it never settles")
	return schedule.State{}
}

func (c *controller) finish(tag string, outcome schedule.Outcome) {
	c.ended[tag] = outcome
	c.change(func(jobs []schedule.Job) []schedule.Job {
		for i := range jobs {
			if jobs[i].Tag == tag {
				jobs[i].Outcome, jobs[i].Finished = outcome, c.now.Truncate(time.Second)
			}
		}
		return jobs
	})
}

// propWalk is a controller with a cluster that misbehaves: lists of both kinds are
// stale, answers are lost, creates are rejected, the controller stops between any two
// steps, the clock jumps. No run executes twice. In the end each occurrence has run or
// was missed or dropped, each request has run, and history agrees with the Jobs.
func propWalk(t *rapid.T, premises map[string]int) {
	spec := drawSpec.Draw(t, "spec")
	spec.BlockOnFailure = false
	if rapid.Bool().Draw(t, "no history") {
		spec.History = history.Limits{Succeeded: history.Keep(0), Failed: history.Keep(0)}
	}
	spec.Schedule = schedule.ISO8601(parse(t, "R30/2026-01-01T00:01:00Z/PT1M"), nil)
	c := &controller{spec: spec, now: created, cluster: &cluster{
		states: [][]byte{[]byte("{}")}, jobs: []schedule.Observed{{JobsKnown: true, Revision: 1}},
		created: map[string]int{}, ended: map[string]schedule.Outcome{}, premises: premises,
		nextRuns: map[string]int{},
	}}
	c.follow(t, 0)
	t.Repeat(map[string]func(*rapid.T){
		"reconcile":        func(t *rapid.T) { c.reconcile(t, false) },
		"reconcile again":  func(t *rapid.T) { c.reconcile(t, false) },
		"reconcile, stale": func(t *rapid.T) { c.reconcile(t, true) },
		"the second job decides": func(t *rapid.T) {
			c.follow(t, rapid.IntRange(max(0, len(c.states)-4), len(c.states)-1).Draw(t, "stale state"))
		},
		"time passes": func(t *rapid.T) {
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "seconds")) * time.Second)
		},
		"clock jumps": func(t *rapid.T) {
			c.now = c.now.Add(time.Duration(rapid.IntRange(-900, 900).Draw(t, "seconds")) * time.Second)
		},
		"creates fail": func(t *rapid.T) { c.rejects = rapid.Bool().Draw(t, "reject") },
		"a Job ends": func(t *rapid.T) {
			for _, j := range c.current().Jobs {
				if j.Outcome == schedule.Unfinished && rapid.Bool().Draw(t, "ends") {
					c.finish(j.Tag, rapid.SampledFrom([]schedule.Outcome{schedule.Succeeded, schedule.Failed}).Draw(t, "outcome"))
				}
			}
		},
		"all Jobs end": func(t *rapid.T) {
			for _, j := range c.current().Jobs {
				if j.Outcome == schedule.Unfinished {
					c.finish(j.Tag, schedule.Succeeded)
				}
			}
			c.reconcile(t, false)
			c.reconcile(t, false)
		},
		"a scheduled run is cancelled": func(t *rapid.T) {
			var s schedule.State
			if err := json.Unmarshal(c.states[len(c.states)-1], &s); err != nil {
				t.Fatal(err)
			}
			if all := slices.Concat(s.Pending, s.Running); len(all) > 0 {
				if r := rapid.SampledFrom(all).Draw(t, "run"); !r.OnDemand {
					c.cancels = append(c.cancels, r.Tag)
				}
			}
		},
		"a request": func(*rapid.T) {
			c.requests = append(c.requests, schedule.Request{ID: fmt.Sprint(len(c.requests)), RequestedAt: c.now})
		},
	})
	c.now = latest(c.now, created.Add(31*time.Minute))
	s := c.settle(t)
	scheduled := 0
	for tag := range c.created {
		if !strings.HasPrefix(tag, "asked-") {
			scheduled++
		}
	}
	if all := spec.Schedule.From(created).(schedule.Counter).Count(interval.Span{}); s.Due != all || s.Started != int64(scheduled) || s.Missed+s.Dropped != all-int64(scheduled) {
		t.Fatalf("%d occurrences, %d Jobs: %+v", all, scheduled, s)
	}
	if n := len(c.created) - scheduled; n != len(c.requests) {
		t.Fatalf("%d requests, %d Jobs", len(c.requests), n)
	}
	if n := s.Succeeded + s.Failed; n != int64(len(c.created)) {
		t.Fatalf("%d Jobs, %d completed runs", len(c.created), n)
	}
	for range 1 + len(c.created)/10 {
		c.follow(t, len(c.states)-1)
	}
	if len(c.nextRuns) != len(c.created) {
		t.Fatalf("%d Jobs, and %d of the second job", len(c.created), len(c.nextRuns))
	}
	premises["followed"] += len(c.nextRuns)
}

func TestWalk(t *testing.T) {
	premises := map[string]int{}
	rare := func(premise string) bool { return premises[premise] < 5 }
	wanted := []string{"rejected", "created before", "stale Jobs", "stale state", "deleted", "stopped", "followed"}
	rounds := 0
	premise.Rounds(t, func(t *rapid.T) { propWalk(t, premises) }, func() bool {
		rounds++
		return rounds >= 200 || rounds >= 10 && !slices.ContainsFunc(wanted, rare)
	})
	for _, premise := range slices.DeleteFunc(wanted, func(premise string) bool { return !rare(premise) }) {
		t.Errorf("%s: only %d times", premise, premises[premise])
	}
	t.Log(premises)
}

func FuzzWalk(f *testing.F) {
	premise.Seeded(f, func(t *rapid.T) { propWalk(t, map[string]int{}) })
}
