package schedule_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

var (
	edgeDecisions = flag.Int("edges", 20_000, "number of decisions of TestEdges")
	edgeSeed      = flag.Int64("seed", 1, "first seed of TestEdges")
	edgeMutants   = flag.Bool("mutants", false, "run TestEdges with each planted mutant")
)

const lateness = 30 * time.Second

// An edgeJob is a Job with its pods. The object may be gone before its pods.
type edgeJob struct {
	schedule.Job
	gone   bool
	pods   bool
	ends   time.Time // of pods that are being deleted; zero if they are not
	expire bool
}

// An edge is a controller and a cluster at the edges of a Job: creates that are late, lost or
// rejected, times to live of 0, deletions by hand, restarts, and edits.
type edge struct {
	t        *testing.T
	seed     int64
	r        *rand.Rand
	now      time.Time
	skew     time.Duration // of the clock of the process
	skews    bool
	single   bool // Concurrency has never been Allow
	edited   bool
	spec     schedule.Policy
	state    schedule.Checkpoint
	jobs     map[string]*edgeJob
	revision int64
	late     map[string]time.Time // creates that will arrive
	truth    map[string]schedule.Outcome
	created  map[string]int
	byHand   map[string]bool
	policy   map[string]schedule.Concurrency // with which the create was decided
	over     map[string]bool                 // completed without a Job
	done     map[string]bool                 // completed

	started  time.Time // the process
	until    map[string]time.Time
	rejected []schedule.Rejection
	rejects  bool
	requests []schedule.Request
	cancels  []string
	counts   map[string]int

	lists  []schedule.Observation // old answers, from which a cache may be filled
	states []schedule.Checkpoint

	// A second job runs after each run of the first, whose state may be stale.
	next     schedule.Checkpoint
	nextJobs []schedule.Job
	nextRuns map[string]int // its Jobs that ever were
}

func newEdge(t *testing.T, seed int64, counts map[string]int) *edge {
	e := &edge{t: t, seed: seed, r: rand.New(rand.NewSource(seed)), now: created, jobs: map[string]*edgeJob{}, late: map[string]time.Time{}, truth: map[string]schedule.Outcome{},
		created: map[string]int{}, byHand: map[string]bool{}, policy: map[string]schedule.Concurrency{}, over: map[string]bool{}, done: map[string]bool{}, until: map[string]time.Time{},
		nextRuns: map[string]int{}, counts: counts, started: created}
	e.spec = schedule.DefaultPolicy()
	e.spec.UID, e.spec.Created = "2f6a", created
	e.skews, e.single = e.chance(4), true
	e.edit()
	return e
}

func (e *edge) chance(n int) bool { return e.r.Intn(n) == 0 }

func (e *edge) edit() {
	e.spec.Schedule = schedule.ISO8601(parse(e.t, []string{"R/2026-01-01T00:00:00Z/PT1M", "R/2026-01-01T00:00:00Z/PT20S"}[e.r.Intn(2)]), nil)
	e.spec.Concurrency = []schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Wait, schedule.Forbid, schedule.Replace}[e.r.Intn(5)]
	e.single = e.single && e.spec.Concurrency != schedule.Allow
	e.spec.SkipOutdated = e.r.Intn(2) == 0
	e.spec.BlockOnFailure, e.spec.Suspended = e.chance(4), e.chance(8)
	e.spec.StartingDeadline = []schedule.Duration{0, schedule.Duration(5 * time.Second), schedule.Duration(time.Minute)}[e.r.Intn(3)]
	keep := history.Keep(e.r.Int63n(4))
	e.spec.History = history.Policy{Succeeded: keep, Failed: keep}
}

// fail reports what happened.
func (e *edge) fail(format string, args ...any) {
	e.t.Helper()
	e.t.Fatalf("seed %d at %v with %s: %s", e.seed, e.now.Sub(created), e.spec.Concurrency, fmt.Sprintf(format, args...))
}

// create is the API server's.
func (e *edge) create(tag string) {
	if j := e.jobs[tag]; j != nil && !j.gone {
		return
	}
	if e.created[tag]++; e.created[tag] > 1 && !e.byHand[tag] {
		e.fail("run %s executes twice", tag)
	}
	if e.over[tag] {
		e.fail("run %s was cancelled, and executes", tag)
	}
	if e.policy[tag] != schedule.Allow && !e.byHand[tag] {
		for other, j := range e.jobs {
			if j.pods && e.policy[other] != schedule.Allow && !(e.byHand[other] && e.created[other] > 1) {
				e.fail("runs %s and %s overlap: %+v %+v %v %v\n%+v", tag, other, *j, e.byHand[tag], e.policy[tag], e.policy[other], e.state.Running)
			}
		}
	}
	e.revision++
	e.jobs[tag] = &edgeJob{Job: schedule.Job{Tag: tag, Created: e.now, Keeps: true}, pods: true}
}

// pass lets time pass: creates arrive, pods end, and Jobs expire.
func (e *edge) pass(d time.Duration) {
	e.now = e.now.Add(d)
	for _, tag := range slices.Sorted(maps.Keys(e.late)) {
		if !e.late[tag].After(e.now) {
			delete(e.late, tag)
			e.counts["late create"]++
			e.create(tag)
		}
	}
	for tag, j := range e.jobs {
		if !j.ends.IsZero() && !j.ends.After(e.now) {
			j.pods, j.ends = false, time.Time{}
			e.revision++
		}
		if j.Deleting && j.Foreground && !j.pods || j.expire && j.Outcome != schedule.Unfinished || j.gone && !j.pods {
			delete(e.jobs, tag)
			e.revision++
		}
	}
}

// terminate begins the deletion of the pods.
func (e *edge) terminate(j *edgeJob) {
	if j.pods && j.ends.IsZero() {
		j.ends = e.now.Add(time.Duration(e.r.Intn(20)) * time.Second)
	}
}

func (e *edge) any() *edgeJob {
	if len(e.jobs) == 0 {
		return nil
	}
	return e.jobs[slices.Sorted(maps.Keys(e.jobs))[e.r.Intn(len(e.jobs))]]
}

// happen lets something happen to the cluster or to the process.
func (e *edge) happen() {
	switch j := e.any(); e.r.Intn(15) {
	case 0, 1, 2, 3, 4:
		if j != nil && !j.gone && !j.Deleting && j.Outcome == schedule.Unfinished {
			j.Outcome, j.Finished, j.pods = []schedule.Outcome{schedule.Succeeded, schedule.Succeeded, schedule.Failed}[e.r.Intn(3)], e.now, false
			e.truth[j.Tag] = j.Outcome
			e.revision++
		}
	case 5:
		if j != nil && !j.gone && j.Outcome == schedule.Unfinished && e.chance(3) {
			e.byHand[j.Tag] = true
			how := e.r.Intn(3)
			e.counts[fmt.Sprint("deleted by hand ", how)]++
			switch how {
			case 0: // background
				j.gone = true
				e.terminate(j)
			case 1: // foreground
				j.Deleting, j.Foreground = true, true
				e.terminate(j)
			case 2: // orphan, or with a finalizer: nobody looks after the pods
				j.Deleting = true
			}
			e.revision++
		}
	case 6:
		if e.chance(3) {
			e.restart()
		}
	case 7:
		e.rejects = e.chance(2)
	case 8:
		if e.chance(8) {
			e.edited = true
			e.edit()
		}
	case 9:
		if len(e.requests) < 200 {
			e.requests = append(e.requests, schedule.Request{ID: fmt.Sprint(len(e.requests)), RequestedAt: e.now})
		}
	case 10:
		if all := append(append([]schedule.Run{}, e.state.Pending...), e.state.Running...); len(all) > 0 && e.chance(3) {
			e.cancels = append(e.cancels, all[e.r.Intn(len(all))].Tag)
			e.counts["cancelled"]++
		}
	case 11:
		e.follow(e.old(4))
	case 12:
		if e.chance(10) { // an outage
			e.pass(time.Duration(10+e.r.Intn(20)) * time.Minute)
		}
	case 13:
		if e.skews {
			e.counts["clock jumps"]++
			e.skew = time.Duration(e.r.Intn(600)-300) * time.Second
		}
	}
	if e.chance(2) {
		e.pass(time.Duration(e.r.Intn(20_000)) * time.Millisecond)
	}
}

func (e *edge) restart() {
	e.counts["restarted"]++
	e.started, e.until, e.rejected = e.now, map[string]time.Time{}, nil
}

// old returns one of the last states.
func (e *edge) old(most int) schedule.Checkpoint {
	if len(e.states) == 0 {
		return e.state
	}
	return e.states[len(e.states)-1-e.r.Intn(min(len(e.states), most))]
}

// follow lets the second job decide. Its Jobs succeed at once.
func (e *edge) follow(first schedule.Checkpoint) {
	spec := schedule.DefaultPolicy()
	spec.UID, spec.Created, spec.After, spec.History = "next", created, after("job"), e.spec.History
	up := first.Upstream("job", "2f6a")
	up.Created = created
	d := decide(spec, e.next, schedule.Observation{JobsKnown: true, Jobs: e.nextJobs, Upstreams: []schedule.Upstream{up}}, e.now)
	e.next = d.Checkpoint
	e.nextJobs = slices.DeleteFunc(e.nextJobs, func(j schedule.Job) bool { return slices.Contains(d.Delete, j.Tag) })
	for _, r := range d.Start {
		if e.nextRuns[r.Tag]++; e.nextRuns[r.Tag] > 1 {
			e.fail("run %s of the second job executes twice", r.Tag)
		}
		e.nextJobs = append(e.nextJobs, schedule.Job{Tag: r.Tag, Outcome: schedule.Succeeded, Created: e.now, Finished: e.now})
	}
}

// list returns the Jobs, or an older list. A run whose Job is missing in an older list, and
// exists, is found by the Tracker, and then the Jobs are not known.
func (e *edge) list() schedule.Observation {
	seen := schedule.Observation{JobsKnown: !e.chance(20), Revision: e.revision + 1}
	for _, tag := range slices.Sorted(maps.Keys(e.jobs)) {
		j := e.jobs[tag]
		o := j.Job
		if j.gone {
			o.Deleting, o.Foreground = true, true
		}
		seen.Jobs = append(seen.Jobs, o)
	}
	e.lists = append(e.lists, seen)
	if e.chance(8) {
		seen = e.lists[len(e.lists)-1-e.r.Intn(min(len(e.lists), 6))]
		if seen.Revision < e.state.JobsRevision {
			e.counts["stale Jobs"]++
		}
		for _, r := range e.state.Running {
			if !slices.ContainsFunc(seen.Jobs, func(j schedule.Job) bool { return j.Tag == r.Tag }) && e.jobs[r.Tag] != nil {
				seen.JobsKnown = false
			}
		}
	}
	return seen
}

// mayArrive is the Tracker's.
func (e *edge) mayArrive(tag string) bool {
	return e.now.Before(e.until[tag]) || e.now.Before(e.started.Add(lateness))
}

// reconcile is one observation and decision, which may stop at any step.
func (e *edge) reconcile() {
	seen := e.list()
	seen.Rejected, seen.Requests, seen.Cancelled = e.rejected, e.requests, e.cancels
	if e.chance(10) {
		state := e.old(5)
		if d := decide(e.spec, state, seen, e.now.Add(e.skew)); d.Checkpoint.Equal(state) { // else it cannot be stored
			e.counts["stale state"]++
			e.delete(d)
		}
		return
	}
	d := decide(e.spec, e.state, seen, e.now.Add(e.skew))
	e.counts["decided"]++
	for _, holds := range rules {
		holds(e, seen, d)
	}
	if e.chance(25) {
		e.restart()
		return
	}
	e.check(d)
	e.note(d)
	e.state, e.rejected, e.states = d.Checkpoint, nil, append(e.states, d.Checkpoint)
	for i := range e.requests {
		for _, r := range d.Checkpoint.Completed {
			if r.Request == e.requests[i].ID {
				e.requests[i].Answered = true
			}
		}
	}
	for _, r := range d.Start {
		if e.chance(25) {
			e.restart()
			return
		}
		e.ask(r)
	}
	e.delete(d)
}

// note notes the policy with which the first create of a run was decided.
func (e *edge) note(d schedule.Decision) {
	tried := map[string]bool{}
	for _, r := range e.state.Pending {
		tried[r.Tag] = !r.Tried.IsZero()
	}
	for _, r := range d.Start {
		if !tried[r.Tag] || r.Attempts == 1 {
			e.policy[r.Tag] = e.spec.Concurrency
		}
	}
}

// delete carries out the other actions.
func (e *edge) delete(d schedule.Decision) {
	for _, tag := range d.Stop {
		if j := e.jobs[tag]; j != nil && !j.gone && !e.mayArrive(tag) {
			e.counts["stopped"]++
			j.Deleting, j.Foreground = true, true
			e.terminate(j)
			e.revision++
		}
	}
	for _, tag := range d.Delete {
		if j := e.jobs[tag]; j != nil && !j.gone && !e.mayArrive(tag) {
			e.counts["deleted"]++
			j.gone = true
			e.revision++
		}
	}
	for _, tag := range d.Expire {
		if j := e.jobs[tag]; j != nil && !e.mayArrive(tag) {
			e.counts["expired"]++
			j.expire, j.Keeps = true, false
			e.revision++
		}
	}
}

// ask sends a create, whose answer may be lost, late or a rejection.
func (e *edge) ask(r schedule.Run) {
	j := e.jobs[r.Tag]
	switch {
	case j != nil && !j.gone:
	case e.rejects || e.chance(6):
		e.counts["rejected"]++
		may := r.Attempts > 1 && e.mayArrive(r.Tag)
		if may {
			e.counts["rejected, may arrive"]++
		}
		e.rejected = append(e.rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts, Reason: "quota", MayArrive: may})
	case e.chance(3): // not answered
		e.until[r.Tag] = e.now.Add(lateness)
		if !e.chance(3) {
			if _, ok := e.late[r.Tag]; !ok {
				e.late[r.Tag] = e.now.Add(time.Duration(e.r.Int63n(int64(lateness))))
			}
		} else if e.chance(2) {
			e.create(r.Tag)
		}
		if e.jobs[r.Tag] == nil && e.chance(3) { // the answer was an internal error
			e.rejected = append(e.rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts, Reason: "quota", MayArrive: true})
		}
	default:
		e.create(r.Tag)
	}
}

// check asserts what holds for each stored decision.
func (e *edge) check(d schedule.Decision) {
	s, before := d.Checkpoint, map[string]bool{}
	for _, r := range e.state.Completed {
		before[r.Tag] = true
	}
	sum, catching := int64(0), 0
	for _, n := range s.MissedBy {
		sum += n
	}
	if sum != s.Missed && s.TimeSpec == e.state.TimeSpec {
		e.fail("%d missed, %+v", s.Missed, s.MissedBy)
	}
	for _, event := range d.Events {
		r := event.Run
		switch event.Reason {
		case schedule.RunLost:
			e.counts["lost"]++
			if !e.byHand[r.Tag] {
				e.fail("run %s is lost, and nobody deleted its Job", r.Tag)
			}
		case schedule.RunSucceeded, schedule.RunFailed:
			e.counts["completed"]++
			if want := e.truth[r.Tag]; r.Outcome() != want {
				e.fail("run %s is %s, and its Job %q", r.Tag, r.Outcome(), want)
			}
		case schedule.RunStopped:
			e.over[r.Tag] = r.Started.IsZero()
			if _, coming := e.late[r.Tag]; coming && r.Started.IsZero() {
				e.fail("run %s is cancelled, and its create will arrive", r.Tag)
			}
		default:
			continue
		}
		if j := e.jobs[r.Tag]; j != nil && j.pods {
			e.fail("run %s has completed before its pods", r.Tag)
		}
		if e.done[r.Tag] && !(e.byHand[r.Tag] && e.created[r.Tag] > 1) {
			e.fail("run %s completes twice", r.Tag)
		}
		e.done[r.Tag] = true
	}
	for _, r := range append(append([]schedule.Run{}, s.Running...), s.Pending...) {
		if r.CatchUp && (r.Status == schedule.Running || !r.Tried.IsZero()) {
			catching++
		}
	}
	if catching == 10 {
		e.counts["catching up"]++
	}
	if catching > 10 {
		e.fail("%d runs catch up", catching)
	}
	if e.chance(200) {
		data, err := json.Marshal(s)
		require.NoError(e.t, err)
		if len(data) > 60<<10 {
			e.fail("%d bytes", len(data))
		}
	}
}

// healthy is a minute in which each Job ends with the outcome, and a decision that is carried out.
func (e *edge) healthy(outcome schedule.Outcome) schedule.Decision {
	e.pass(time.Minute)
	seen := schedule.Observation{JobsKnown: true, Revision: e.revision + 1, Requests: e.requests, Cancelled: e.cancels}
	for tag, j := range e.jobs {
		if !j.gone && !j.Deleting && j.Outcome == schedule.Unfinished {
			j.Outcome, j.Finished, j.pods, e.truth[tag] = outcome, e.now, false, outcome
		}
		if j.gone {
			j.Deleting, j.Foreground = true, true
		}
		seen.Jobs = append(seen.Jobs, j.Job)
	}
	d := decide(e.spec, e.state, seen, e.now)
	e.check(d)
	e.note(d)
	e.state = d.Checkpoint
	for _, r := range d.Start {
		if e.jobs[r.Tag] == nil {
			e.create(r.Tag)
		}
	}
	for _, tag := range append(append(d.Stop, d.Delete...), d.Expire...) {
		if j := e.jobs[tag]; j != nil {
			j.pods, j.gone = false, true
		}
	}
	for i := range e.requests {
		for _, r := range d.Checkpoint.Completed {
			e.requests[i].Answered = e.requests[i].Answered || r.Request == e.requests[i].ID
		}
	}
	return d
}

// blockEnds fails all runs, and then lets a requested run succeed, whatever waits.
func (e *edge) blockEnds() {
	e.rejects, e.spec.BlockOnFailure = false, true
	for n := 0; !e.state.Blocked || len(e.jobs) > 0; n++ {
		if e.healthy(schedule.Failed); n > 50 {
			return
		}
	}
	e.counts["blocked"]++
	e.requests = append(e.requests, schedule.Request{ID: fmt.Sprint(len(e.requests)), RequestedAt: e.now})
	for n := 0; e.state.Blocked; n++ {
		if e.healthy(schedule.Succeeded); n > 50 {
			e.fail("the block does not end: %+v", e.state)
		}
	}
}

// settle lets the cluster be healthy until nothing is active: no run is stuck.
func (e *edge) settle() {
	e.rejects, e.spec.Schedule, e.spec.Suspended, e.spec.BlockOnFailure = false, nil, false, false
	for range 3000 {
		d := e.healthy(schedule.Succeeded)
		e.follow(e.state)
		if s := d.Checkpoint; len(s.Pending)+len(s.Running) == 0 && int64(len(e.nextRuns)) == s.Succeeded+s.Failed+s.Lost+s.Stopped {
			e.counts["followed"] += len(e.nextRuns)
			for _, r := range e.requests {
				if tag := schedule.RequestTag("2f6a", r.ID); e.created[tag] == 0 && !slices.Contains(e.cancels, tag) {
					e.fail("request %s has no run", r.ID)
				}
			}
			return
		}
	}
	e.fail("it never settles: %+v", e.state)
}

// At the edges of a Job, no run executes twice, no two runs overlap unless they may, each
// outcome is true, a run is active as long as its pods, and nothing is stuck.
func TestEdges(t *testing.T) {
	counts := map[string]int{}
	for seed := *edgeSeed; counts["decided"] < *edgeDecisions; seed++ {
		e := newEdge(t, seed, counts)
		for range 400 {
			e.happen()
			if !e.chance(3) {
				e.reconcile()
			}
		}
		e.blockEnds()
		e.settle()
	}
	for _, premise := range []string{"late create", "rejected", "rejected, may arrive", "deleted by hand 0", "deleted by hand 1", "deleted by hand 2",
		"restarted", "cancelled", "stopped", "deleted", "expired", "lost", "completed", "stale Jobs", "stale state", "followed", "catching up", "clock jumps", "stopped while blocked", "blocked", "waits"} {
		require.GreaterOrEqual(t, counts[premise], 20, premise)
	}
	t.Log(counts)
}

// Each mutant breaks a rule, and TestEdges notices it. Without -mutants, only their texts are tested.
func TestEdgesNotice(t *testing.T) {
	for _, m := range []struct{ file, is, was string }{
		{"start.go", "if true {", "if !rejected.MayArrive {"},
		{"start.go", "return len(d.Checkpoint.Running) > 0\n", "return len(d.Checkpoint.Running) > 0 || slices.ContainsFunc(d.Checkpoint.Pending, Run.tried) || len(d.Stop) > 0\n"},
		{"start.go", "return false\n\t})\n\tfits", "return room < 0\n\t})\n\tfits"},
		{"start.go", "return !r.OnDemand && d.policy.Suspended", "return !r.OnDemand && (d.blocked() || d.policy.Suspended)"},
		{"stop.go", "if !isCancelled(r) {", "if !isCancelled(r) || r.tried() {"},
		{"observe.go", "case ok && !j.finished() && !j.Deleting:", "case ok && !j.finished():"},
		{"observe.go", "case false:", "case r.Stopped == \"\":"},
		{"observe.go", "j.Outcome == Failed, j.ExitCode", "j.Outcome == Succeeded, j.ExitCode"},
		{"observe.go", "case !started[tag] && j.Created.IsZero():", "case !started[tag]:"},
		{"observe.go", "c.Started, c.Missing, c.LastMissed = plus(c.Started, 2), nil", "c.Started, c.Missing, c.LastMissed = plus(c.Started, 1), nil"},
		{"decide.go", "if r.Stopped != \"\" {", "if d.jobs[r.Tag].Deleting || r.Stopped != \"\" {"},
		{"decide.go", "for _, r := range slices.Concat(c.Completed, c.Running) {\n\t\tif j := d.jobs[r.Tag]; j.Keeps {",
			"for _, r := range c.Completed {\n\t\tif j := d.jobs[r.Tag]; j.Keeps && j.finished() && !j.Deleting {"},
		{"decide.go", "isNewer := false", "isNewer := revision > 0 && revision < c.JobsRevision"},
		{"due.go", "if r.OnDemand || !which(r) {", "if r.OnDemand || !which(r) || r.tried() {"},
		{"due.go", "plus(d.total[reason], n-1)", "plus(d.total[reason], n)"},
		{"due.go", "keep, reason = 2, Outdated", "keep, reason = 1, Outdated"},
		{"request.go", "answered, completed := connection.count(outcome), *u.count(outcome)\n\t\t\t\tcompleted = max(completed, *answered+1)", "answered, completed := connection.count(outcome), *u.count(outcome)"},
	} {
		source, err := os.ReadFile(m.file)
		require.NoError(t, err)
		require.Contains(t, string(source), m.was, m.file)
		if !*edgeMutants {
			continue
		}
		folder := t.TempDir()
		mutant, overlay := filepath.Join(folder, m.file), filepath.Join(folder, "overlay.json")
		require.NoError(t, os.WriteFile(mutant, []byte(strings.Replace(string(source), m.was, m.is, 1)), 0o600))
		here, err := filepath.Abs(m.file)
		require.NoError(t, err)
		data, err := json.Marshal(map[string]map[string]string{"Replace": {here: mutant}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(overlay, data, 0o600))
		out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", overlay, "-run", "^TestEdges$", ".").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestEdges") {
			t.Errorf("%s: nobody notices %q: %s", m.file, m.is, out)
			continue
		}
		t.Logf("%s: %q: %.200s", m.file, m.is, out)
	}
}
