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
	walkDecisions = flag.Int("decisions", 20_000, "number of decisions of TestWalk")
	walkSeed      = flag.Int64("seed", 1, "first seed of TestWalk")
	walkMutants   = flag.Bool("mutants", false, "run TestWalk with each planted mutant")
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

// A walk is a controller and a cluster in which everything happens that people and failures do: creates that
// are late, lost or rejected, times to live of 0, deletions by hand, restarts, edits of each field, backfills
// around now, commands, and clocks that jump both ways, also by days.
//
//	claim                                                      rule or test
//	deciding again at one time changes nothing                 idempotent
//	the order of all lists makes no difference                 ordered
//	what waits, what is missed and why, as the page says       agrees, an oracle that lists occurrences one by one
//	nothing starts that is due later than now                  notEarly
//	no run starts twice: with stale lists, lost answers,
//	late and rejected creates, deletions, restarts, expiry,
//	clocks that jump, rewinds and edits                        walk.create
//	at most one active run, unless Allow; bounded waiting      oneAtATime, boundedWaiting
//	due = started + pending + missed + dropped                 conserved
//	a block ends with the first run that succeeds, and stays
//	as it is when a run is cancelled or replaced               whileBlocked, walk.blockEnds
//	a dependent job runs once after each run                   walk.follow
//	a run is active as long as its pods; nothing is stuck      walk.check, walk.settle
//	rejected creates: bounded checkpoint, one at a time        TestSizeInAnOutage, TestBackOff
type walk struct {
	t           *testing.T
	seed        int64
	r           *rand.Rand
	now         time.Time
	skew        time.Duration // of the clock of the process
	skews       bool
	single      bool // Concurrency has never been Allow
	policy      schedule.Policy
	recurrence  recurrence // of the policy
	checkpoint  schedule.Checkpoint
	backfills   []*backfill
	jobs        map[string]*edgeJob
	revision    int64
	late        map[string]time.Time // creates that will arrive
	truth       map[string]schedule.Outcome
	created     map[string]int
	byHand      map[string]bool
	concurrency map[string]schedule.Concurrency // with which the create was decided
	over        map[string]bool                 // completed without a Job
	done        map[string]bool                 // completed

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

func newWalk(t *testing.T, seed int64, counts map[string]int) *walk {
	w := &walk{t: t, seed: seed, r: rand.New(rand.NewSource(seed)), now: created, jobs: map[string]*edgeJob{}, late: map[string]time.Time{}, truth: map[string]schedule.Outcome{},
		created: map[string]int{}, byHand: map[string]bool{}, concurrency: map[string]schedule.Concurrency{}, over: map[string]bool{}, done: map[string]bool{}, until: map[string]time.Time{},
		nextRuns: map[string]int{}, counts: counts, started: created}
	w.policy = schedule.DefaultPolicy()
	w.policy.UID, w.policy.Created = "2f6a", created
	w.skews, w.single = w.chance(3), true
	for field := range editedFields {
		w.edit(field)
	}
	return w
}

func (w *walk) chance(n int) bool { return w.r.Intn(n) == 0 }

const editedFields = 11

// edit changes a field of the policy.
func (w *walk) edit(field int) {
	p := &w.policy
	switch field {
	case 0:
		w.recurrence = recurrences[w.r.Intn(len(recurrences))]
		p.Schedule = schedule.ISO8601(parse(w.t, w.recurrence.text), []*time.Location{time.UTC, time.UTC, east}[w.r.Intn(3)])
	case 1:
		p.Concurrency = []schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Wait, schedule.Forbid, schedule.Replace}[w.r.Intn(5)]
		w.single = w.single && p.Concurrency != schedule.Allow
	case 2:
		p.SkipOutdated = w.chance(2)
	case 3:
		p.BlockOnFailure = w.chance(4)
	case 4:
		p.Suspended = w.chance(8)
	case 5:
		p.StartingDeadline = []schedule.Duration{0, schedule.Duration(5 * time.Second), schedule.Duration(time.Minute)}[w.r.Intn(3)]
	case 6:
		keep := history.Keep(w.r.Int63n(4))
		p.History = history.Policy{Succeeded: keep, Failed: keep}
	case 7:
		p.Jitter = []schedule.Duration{0, 0, schedule.Duration(15 * time.Second), schedule.Duration(50 * time.Second)}[w.r.Intn(4)]
	case 8:
		if p.End = (time.Time{}); w.chance(6) {
			p.End = w.now.Add(time.Duration(w.r.Intn(1200)-600) * time.Second)
		}
	case 9:
		p.Rewind = fmt.Sprint(w.r.Intn(30))
	case 10:
		p.Unblock = fmt.Sprint(w.r.Intn(30))
	}
}

// fail reports what happened.
func (w *walk) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %v with %s: %s", w.seed, w.now.Sub(created), w.policy.Concurrency, fmt.Sprintf(format, args...))
}

// create is the API server's.
func (w *walk) create(tag string) {
	if j := w.jobs[tag]; j != nil && !j.gone {
		return
	}
	if w.created[tag]++; w.created[tag] > 1 && !w.byHand[tag] {
		w.fail("run %s executes twice", tag)
	}
	if w.over[tag] {
		w.fail("run %s was cancelled, and executes", tag)
	}
	if w.concurrency[tag] != schedule.Allow && !w.byHand[tag] {
		for other, j := range w.jobs {
			if j.pods && w.concurrency[other] != schedule.Allow && !(w.byHand[other] && w.created[other] > 1) {
				w.fail("runs %s and %s overlap: %+v %+v %v %v\n%+v", tag, other, *j, w.byHand[tag], w.concurrency[tag], w.concurrency[other], w.checkpoint.Running)
			}
		}
	}
	w.revision++
	w.jobs[tag] = &edgeJob{Job: schedule.Job{Tag: tag, Created: w.now, Keeps: true}, pods: true}
}

// pass lets time pass: creates arrive, pods end, and Jobs expire.
func (w *walk) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, tag := range slices.Sorted(maps.Keys(w.late)) {
		if !w.late[tag].After(w.now) {
			delete(w.late, tag)
			w.counts["late create"]++
			w.create(tag)
		}
	}
	for tag, j := range w.jobs {
		if !j.ends.IsZero() && !j.ends.After(w.now) {
			j.pods, j.ends = false, time.Time{}
			w.revision++
		}
		if j.Deleting && j.Foreground && !j.pods || j.expire && j.Outcome != schedule.Unfinished || j.gone && !j.pods {
			delete(w.jobs, tag)
			w.revision++
		}
	}
}

// terminate begins the deletion of the pods.
func (w *walk) terminate(j *edgeJob) {
	if j.pods && j.ends.IsZero() {
		j.ends = w.now.Add(time.Duration(w.r.Intn(20)) * time.Second)
	}
}

func (w *walk) any() *edgeJob {
	if len(w.jobs) == 0 {
		return nil
	}
	return w.jobs[slices.Sorted(maps.Keys(w.jobs))[w.r.Intn(len(w.jobs))]]
}

// happen lets something happen to the cluster or to the process.
func (w *walk) happen() {
	switch j := w.any(); w.r.Intn(15) {
	case 0, 1, 2, 3, 4:
		if j != nil && !j.gone && !j.Deleting && j.Outcome == schedule.Unfinished {
			j.Outcome, j.Finished, j.pods = []schedule.Outcome{schedule.Succeeded, schedule.Succeeded, schedule.Failed}[w.r.Intn(3)], w.now, false
			w.truth[j.Tag] = j.Outcome
			w.revision++
		}
	case 5:
		if j != nil && !j.gone && j.Outcome == schedule.Unfinished && w.chance(3) {
			w.byHand[j.Tag] = true
			how := w.r.Intn(3)
			w.counts[fmt.Sprint("deleted by hand ", how)]++
			switch how {
			case 0: // background
				j.gone = true
				w.terminate(j)
			case 1: // foreground
				j.Deleting, j.Foreground = true, true
				w.terminate(j)
			case 2: // orphan, or with a finalizer: nobody looks after the pods
				j.Deleting = true
			}
			w.revision++
		}
	case 6:
		if w.chance(3) {
			w.restart()
		}
	case 7:
		w.rejects = w.chance(2)
	case 8:
		if w.chance(3) {
			w.edit(w.r.Intn(editedFields))
			w.counts["edited"]++
		}
	case 9:
		if len(w.requests) < 200 {
			w.requests = append(w.requests, schedule.Request{ID: fmt.Sprint(len(w.requests)), RequestedAt: w.now})
		}
	case 10:
		if all := append(append([]schedule.Run{}, w.checkpoint.Pending...), w.checkpoint.Running...); len(all) > 0 && w.chance(3) {
			w.cancels = append(w.cancels, all[w.r.Intn(len(all))].Tag)
			w.counts["cancelled"]++
		}
	case 11:
		w.follow(w.old(4))
	case 12:
		if w.chance(10) { // an outage
			w.pass(time.Duration(10+w.r.Intn(20)) * time.Minute)
		}
	case 13:
		if w.skews {
			w.counts["clock jumps"]++
			w.skew = time.Duration(w.r.Intn(600)-300) * time.Second
			if w.chance(10) {
				w.counts["clock jumps by days"]++
				w.skew = time.Duration(w.r.Intn(96)-24) * time.Hour
			}
		}
	case 14:
		if w.chance(4) {
			w.requestBackfill()
		}
	}
	if w.chance(2) {
		w.pass(time.Duration(w.r.Intn(20_000)) * time.Millisecond)
	}
}

func (w *walk) restart() {
	w.counts["restarted"]++
	w.started, w.until, w.rejected = w.now, map[string]time.Time{}, nil
}

// old returns one of the last states.
func (w *walk) old(most int) schedule.Checkpoint {
	if len(w.states) == 0 {
		return w.checkpoint
	}
	return w.states[len(w.states)-1-w.r.Intn(min(len(w.states), most))]
}

// follow lets the second job decide. Its Jobs succeed at once.
func (w *walk) follow(first schedule.Checkpoint) {
	spec := schedule.DefaultPolicy()
	spec.UID, spec.Created, spec.After, spec.History = "next", created, after("job"), w.policy.History
	up := first.Upstream("job", "2f6a")
	up.Created = created
	d := decide(spec, w.next, schedule.Observation{JobsKnown: true, Jobs: w.nextJobs, Upstreams: []schedule.Upstream{up}}, w.now)
	w.next = d.Checkpoint
	w.nextJobs = slices.DeleteFunc(w.nextJobs, func(j schedule.Job) bool { return slices.Contains(d.Delete, j.Tag) })
	for _, r := range d.Start {
		if w.nextRuns[r.Tag]++; w.nextRuns[r.Tag] > 1 {
			w.fail("run %s of the second job executes twice", r.Tag)
		}
		w.nextJobs = append(w.nextJobs, schedule.Job{Tag: r.Tag, Outcome: schedule.Succeeded, Created: w.now, Finished: w.now})
	}
}

// A backfill is a request for the runs of a span around now.
type backfill struct {
	schedule.Backfill
	progress schedule.Progress
	begin    time.Time
}

func (w *walk) requestBackfill() {
	from := w.now.Add(-time.Duration(w.r.Intn(300)) * time.Second)
	b := &backfill{schedule.Backfill{From: from, To: from.Add(time.Duration(w.r.Intn(600)) * time.Second), Limit: 5, Together: w.chance(2)},
		schedule.Progress{ID: fmt.Sprint("backfill ", len(w.backfills), w.now.UnixNano()), RequestedAt: w.now}, w.checkpoint.Begin}
	if b.To.After(w.now) {
		w.counts["backfill around now"]++
	}
	w.backfills = append(w.backfills[max(0, len(w.backfills)-2):], b)
}

func (w *walk) backfillRequests() (requests []schedule.Request) {
	for _, b := range w.backfills {
		for _, r := range b.Plan(w.policy, b.begin, b.progress, w.now.Add(w.skew)).Requests {
			if r.Occurrence.After(w.now.Add(w.skew)) || r.Occurrence.After(b.progress.RequestedAt) {
				w.fail("a backfill requests %v", r.Occurrence)
			}
			w.counts["backfilled"]++
			requests = append(requests, r)
		}
	}
	return requests
}

// answer marks the requests whose runs have completed.
func (w *walk) answer(d schedule.Decision) {
	completed := map[string]bool{}
	for _, r := range d.Checkpoint.Completed {
		completed[r.Request] = true
	}
	for i := range w.requests {
		w.requests[i].Answered = w.requests[i].Answered || completed[w.requests[i].ID]
	}
	for _, b := range w.backfills {
		for _, r := range b.Plan(w.policy, b.begin, b.progress, w.now.Add(w.skew)).Requests {
			if completed[r.ID] {
				b.progress.Done, b.progress.Last = b.progress.Done+1, r.Occurrence
				break
			}
		}
	}
}

// settled reports whether a consistent list shows each create, as the Tracker reads it.
func (w *walk) settled(seen schedule.Observation) bool {
	for _, r := range w.checkpoint.Pending {
		if !r.Tried.IsZero() && w.mayArrive(r.Tag) {
			return false
		}
	}
	return len(w.late) == 0 && seen.JobsKnown && seen.Revision == w.revision+1
}

// forget forgets the runs, also those cancelled without a Job, of occurrences that become due again after a rewind or an edit: those that the
// checkpoint has not recorded.
func (w *walk) forget(d schedule.Decision) {
	rewound := slices.ContainsFunc(d.Events, func(e schedule.Event) bool { return e.Reason == schedule.Rewound })
	if rewound {
		w.counts["rewound"]++
	}
	if !d.Clock.IsZero() {
		w.counts["ahead"]++
	}
	if !rewound && d.Checkpoint.Identity == w.checkpoint.Identity {
		return
	}
	recorded := map[string]bool{}
	for _, r := range slices.Concat(w.checkpoint.Pending, w.checkpoint.Running, w.checkpoint.Completed, d.Checkpoint.Pending, d.Checkpoint.Running, d.Checkpoint.Completed) {
		recorded[r.Tag] = true
	}
	for _, tag := range slices.Concat(w.checkpoint.PendingDeletion, d.Checkpoint.PendingDeletion) {
		recorded[tag] = true
	}
	for _, tag := range slices.Concat(slices.Collect(maps.Keys(w.created)), slices.Collect(maps.Keys(w.done))) {
		_, coming := w.late[tag]
		at, scheduled := schedule.TagOccurrence("2f6a", tag)
		if scheduled && !recorded[tag] && !coming && at.After(d.Checkpoint.Handled) && !slices.ContainsFunc(d.Checkpoint.Early, at.Equal) && w.jobs[tag] == nil {
			delete(w.created, tag)
			delete(w.over, tag)
			delete(w.done, tag)
			delete(w.byHand, tag)
		}
	}
}

// list returns the Jobs, or an older list. A run whose Job is missing in an older list, and
// exists, is found by the Tracker, and then the Jobs are not known.
func (w *walk) list() schedule.Observation {
	seen := schedule.Observation{JobsKnown: !w.chance(20), Revision: w.revision + 1}
	for _, tag := range slices.Sorted(maps.Keys(w.jobs)) {
		j := w.jobs[tag]
		o := j.Job
		if j.gone {
			o.Deleting, o.Foreground = true, true
		}
		seen.Jobs = append(seen.Jobs, o)
	}
	w.lists = append(w.lists, seen)
	if w.chance(8) {
		seen = w.lists[len(w.lists)-1-w.r.Intn(min(len(w.lists), 6))]
		if seen.Revision < w.checkpoint.JobsRevision {
			w.counts["stale Jobs"]++
		}
		for _, r := range w.checkpoint.Running {
			if !slices.ContainsFunc(seen.Jobs, func(j schedule.Job) bool { return j.Tag == r.Tag }) && w.jobs[r.Tag] != nil {
				seen.JobsKnown = false
			}
		}
	}
	return seen
}

// mayArrive is the Tracker's.
func (w *walk) mayArrive(tag string) bool {
	return w.now.Before(w.until[tag]) || w.now.Before(w.started.Add(lateness))
}

// reconcile is one observation and decision, which may stop at any step.
func (w *walk) reconcile() {
	seen := w.list()
	seen.Rejected, seen.Cancelled = w.rejected, w.cancels
	seen.Requests = append(slices.Clone(w.requests), w.backfillRequests()...)
	seen.Settled = w.settled(seen)
	if w.chance(10) {
		state := w.old(5)
		if d := decide(w.policy, state, seen, w.now.Add(w.skew)); d.Checkpoint.Equal(state) { // else it cannot be stored
			w.counts["stale state"]++
			w.delete(d)
		}
		return
	}
	d := decide(w.policy, w.checkpoint, seen, w.now.Add(w.skew))
	w.counts["decided"]++
	for _, holds := range rules {
		holds(w, seen, d)
	}
	if w.chance(25) {
		w.restart()
		return
	}
	w.check(d)
	w.note(d)
	w.forget(d)
	w.checkpoint, w.rejected, w.states = d.Checkpoint, nil, append(w.states, d.Checkpoint)
	w.answer(d)
	for _, r := range d.Start {
		if w.chance(25) {
			w.restart()
			return
		}
		w.ask(r)
	}
	w.delete(d)
}

// note notes the policy with which the first create of a run was decided.
func (w *walk) note(d schedule.Decision) {
	tried := map[string]bool{}
	for _, r := range w.checkpoint.Pending {
		tried[r.Tag] = !r.Tried.IsZero()
	}
	for _, r := range d.Start {
		if !tried[r.Tag] || r.Attempts == 1 {
			w.concurrency[r.Tag] = w.policy.Concurrency
		}
	}
}

// delete carries out the other actions.
func (w *walk) delete(d schedule.Decision) {
	for _, tag := range d.Stop {
		if j := w.jobs[tag]; j != nil && !j.gone && !w.mayArrive(tag) {
			w.counts["stopped"]++
			j.Deleting, j.Foreground = true, true
			w.terminate(j)
			w.revision++
		}
	}
	for _, tag := range d.Delete {
		if j := w.jobs[tag]; j != nil && !j.gone && !w.mayArrive(tag) {
			w.counts["deleted"]++
			j.gone = true
			w.revision++
		}
	}
	for _, tag := range d.Expire {
		if j := w.jobs[tag]; j != nil && !w.mayArrive(tag) {
			w.counts["expired"]++
			j.expire, j.Keeps = true, false
			w.revision++
		}
	}
}

// ask sends a create, whose answer may be lost, late or a rejection.
func (w *walk) ask(r schedule.Run) {
	j := w.jobs[r.Tag]
	switch {
	case j != nil && !j.gone:
	case w.rejects || w.chance(6):
		w.counts["rejected"]++
		may := r.Attempts > 1 && w.mayArrive(r.Tag)
		if may {
			w.counts["rejected, may arrive"]++
		}
		w.rejected = append(w.rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts, Reason: "quota", MayArrive: may})
	case w.chance(3): // not answered
		w.until[r.Tag] = w.now.Add(lateness)
		if !w.chance(3) {
			if _, ok := w.late[r.Tag]; !ok {
				w.late[r.Tag] = w.now.Add(time.Duration(w.r.Int63n(int64(lateness))))
			}
		} else if w.chance(2) {
			w.create(r.Tag)
		}
		if w.jobs[r.Tag] == nil && w.chance(3) { // the answer was an internal error
			w.rejected = append(w.rejected, schedule.Rejection{Tag: r.Tag, Attempt: r.Attempts, Reason: "quota", MayArrive: true})
		}
	default:
		w.create(r.Tag)
	}
}

// check asserts what holds for each stored decision.
func (w *walk) check(d schedule.Decision) {
	s, before := d.Checkpoint, map[string]bool{}
	for _, r := range w.checkpoint.Completed {
		before[r.Tag] = true
	}
	sum, catching := int64(0), 0
	for _, n := range s.MissedBy {
		sum += n
	}
	if sum != s.Missed {
		w.fail("%d missed, %+v", s.Missed, s.MissedBy)
	}
	for _, event := range d.Events {
		r := event.Run
		switch event.Reason {
		case schedule.RunLost:
			w.counts["lost"]++
			if !w.byHand[r.Tag] {
				w.fail("run %s is lost, and nobody deleted its Job", r.Tag)
			}
		case schedule.RunSucceeded, schedule.RunFailed:
			w.counts["completed"]++
			if want := w.truth[r.Tag]; r.Outcome() != want {
				w.fail("run %s is %s, and its Job %q", r.Tag, r.Outcome(), want)
			}
		case schedule.RunStopped:
			w.over[r.Tag] = r.Started.IsZero()
			if _, coming := w.late[r.Tag]; coming && r.Started.IsZero() {
				w.fail("run %s is cancelled, and its create will arrive", r.Tag)
			}
		default:
			continue
		}
		if j := w.jobs[r.Tag]; j != nil && j.pods {
			w.fail("run %s has completed before its pods", r.Tag)
		}
		if w.done[r.Tag] && !(w.byHand[r.Tag] && w.created[r.Tag] > 1) {
			w.fail("run %s completes twice", r.Tag)
		}
		w.done[r.Tag] = true
	}
	for _, r := range append(append([]schedule.Run{}, s.Running...), s.Pending...) {
		if r.CatchUp && (r.Status == schedule.Running || !r.Tried.IsZero()) {
			catching++
		}
	}
	if catching == 10 {
		w.counts["catching up"]++
	}
	if catching > 10 {
		w.fail("%d runs catch up", catching)
	}
	if w.chance(200) {
		data, err := json.Marshal(s)
		require.NoError(w.t, err)
		if len(data) > 60<<10 {
			w.fail("%d bytes", len(data))
		}
	}
}

// healthy is a minute in which each Job ends with the outcome, and a decision that is carried out.
func (w *walk) healthy(outcome schedule.Outcome) schedule.Decision {
	w.pass(time.Minute)
	w.skew, w.backfills = 0, nil
	seen := schedule.Observation{JobsKnown: true, Settled: true, Revision: w.revision + 1, Requests: w.requests, Cancelled: w.cancels}
	for tag, j := range w.jobs {
		if !j.gone && !j.Deleting && j.Outcome == schedule.Unfinished {
			j.Outcome, j.Finished, j.pods, w.truth[tag] = outcome, w.now, false, outcome
		}
		if j.gone {
			j.Deleting, j.Foreground = true, true
		}
		seen.Jobs = append(seen.Jobs, j.Job)
	}
	d := decide(w.policy, w.checkpoint, seen, w.now)
	w.check(d)
	w.note(d)
	w.forget(d)
	w.checkpoint = d.Checkpoint
	for _, r := range d.Start {
		if w.jobs[r.Tag] == nil {
			w.create(r.Tag)
		}
	}
	for _, tag := range append(append(d.Stop, d.Delete...), d.Expire...) {
		if j := w.jobs[tag]; j != nil {
			j.pods, j.gone = false, true
		}
	}
	w.answer(d)
	return d
}

// blockEnds fails all runs, and then lets a requested run succeed, whatever waits.
func (w *walk) blockEnds() {
	w.rejects, w.policy.BlockOnFailure = false, true
	for n := 0; !w.checkpoint.Blocked || len(w.jobs) > 0; n++ {
		if w.healthy(schedule.Failed); n > 50 {
			return
		}
	}
	w.counts["blocked"]++
	w.requests = append(w.requests, schedule.Request{ID: fmt.Sprint(len(w.requests)), RequestedAt: w.now})
	for n := 0; w.checkpoint.Blocked; n++ {
		if w.healthy(schedule.Succeeded); n > 50 {
			w.fail("the block does not end: %+v", w.checkpoint)
		}
	}
}

// settle lets the cluster be healthy until nothing is active: no run is stuck.
func (w *walk) settle() {
	w.rejects, w.policy.Schedule, w.policy.Suspended, w.policy.BlockOnFailure = false, nil, false, false
	for range 3000 {
		d := w.healthy(schedule.Succeeded)
		w.follow(w.checkpoint)
		if s := d.Checkpoint; len(s.Pending)+len(s.Running) == 0 && int64(len(w.nextRuns)) == s.Succeeded+s.Failed+s.Lost+s.Stopped {
			w.counts["followed"] += len(w.nextRuns)
			for _, r := range w.requests {
				if tag := schedule.RequestTag("2f6a", r.ID); w.created[tag] == 0 && !slices.Contains(w.cancels, tag) {
					w.fail("request %s has no run", r.ID)
				}
			}
			return
		}
	}
	w.fail("it never settles: %+v", w.checkpoint)
}

// Whatever happens, no run executes twice, no two runs overlap unless they may, each
// outcome is true, a run is active as long as its pods, and nothing is stuck.
func TestWalk(t *testing.T) {
	counts := map[string]int{}
	for seed := *walkSeed; counts["decided"] < *walkDecisions; seed++ {
		w := newWalk(t, seed, counts)
		for range 400 {
			w.happen()
			if !w.chance(3) {
				w.reconcile()
			}
		}
		w.blockEnds()
		w.settle()
	}
	for _, premise := range []string{"late create", "rejected", "rejected, may arrive", "deleted by hand 0", "deleted by hand 1", "deleted by hand 2",
		"restarted", "cancelled", "stopped", "deleted", "expired", "lost", "completed", "stale Jobs", "stale state", "followed", "catching up", "clock jumps", "stopped while blocked", "blocked", "waits", "edited", "clock jumps by days", "rewound", "ahead", "backfilled", "backfill around now", "oracle", "oracle: missed"} {
		require.GreaterOrEqual(t, counts[premise], 5, premise)
	}
	t.Log(counts)
}

// Each mutant breaks a rule, and TestWalk notices it. Without -mutants, only their texts are tested.
func TestWalkNotices(t *testing.T) {
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
		{"due.go", "case d.policy.Suspended && false:", "case d.policy.Suspended:"},
		{"due.go", "ok && d.busyUntil.IsZero() {", "ok && !d.busyUntil.IsZero() {"},
		{"due.go", "_, ok := d.line.next(r.Due.Add(-1))\n\t\treturn ok", "_, ok := d.line.next(r.Due.Add(-1))\n\t\treturn !ok"},
		{"clock.go", "return false }", "return !r.OnDemand && r.due().After(d.now) }"},
		{"clock.go", "c.Early = nil\n\tfor _, t := range early[:0] {", "c.Early = nil\n\tfor _, t := range early {"},
		{"decide.go", "case c.TimeSpec == identity:", "case c.Identity == identity:"},
		{"backfill.go", "if false {", "if t.After(until) || line.occurrence(t).Due().After(now) {"},
		{"observe.go", "case Failed, Stopped:\n\t\tc.FailedRun", "case Failed:\n\t\tc.FailedRun"},
		{"request.go", "answered, completed := connection.count(outcome), *u.count(outcome)\n\t\t\t\tcompleted = max(completed, *answered+1)", "answered, completed := connection.count(outcome), *u.count(outcome)"},
	} {
		source, err := os.ReadFile(m.file)
		require.NoError(t, err)
		require.Contains(t, string(source), m.was, m.file)
		if !*walkMutants {
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
		out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", overlay, "-run", "^TestWalk$", ".").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--- FAIL: TestWalk") {
			t.Errorf("%s: nobody notices %q: %s", m.file, m.is, out)
			continue
		}
		t.Logf("%s: %q: %.200s", m.file, m.is, out)
	}
}
