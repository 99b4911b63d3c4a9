package schedule_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/schedule"
)

// A world is a job with its cluster: what has been stored, and the Jobs that are
// there. It breaks, goes on and changes its clock as it likes.
type world struct {
	spec     schedule.Spec
	stored   []byte // a state
	now      time.Time
	jobs     map[string]schedule.Job
	created  map[string]bool // every Job that ever was
	requests []schedule.Request
	cancels  []string
	asked    int
	single   bool // Concurrency has never been Allow

	happened map[string]bool // of what matters to a property
}

func newWorld(spec schedule.Spec) *world {
	w := &world{spec: spec, single: spec.Concurrency != schedule.Allow, now: spec.Created, jobs: map[string]schedule.Job{}, created: map[string]bool{}, happened: map[string]bool{}}
	w.store(schedule.State{})
	return w
}

func (w *world) state() (s schedule.State) {
	if err := json.Unmarshal(w.stored, &s); err != nil {
		panic(err)
	}
	return s
}

func (w *world) store(s schedule.State) {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	w.stored = data
}

func (w *world) observed() schedule.Observed {
	seen := schedule.Observed{JobsKnown: true, Requests: slices.Clone(w.requests), Cancelled: slices.Clone(w.cancels)}
	for _, tag := range w.tags(func(schedule.Job) bool { return true }) {
		seen.Jobs = append(seen.Jobs, w.jobs[tag])
	}
	return seen
}

func (w *world) decide() schedule.Decision {
	return schedule.Decide(w.spec, w.state(), w.observed(), w.now)
}

// create is what an API server does, but for a Job that was there before.
func (w *world) create(r schedule.Run) error {
	if _, ok := w.jobs[r.Tag]; ok {
		return nil
	}
	if w.created[r.Tag] {
		return fmt.Errorf("run %s starts a second time", r.Tag)
	}
	w.created[r.Tag] = true
	w.jobs[r.Tag] = schedule.Job{Tag: r.Tag, Created: w.now.Truncate(time.Second)}
	return nil
}

func (w *world) finish(tag string, outcome schedule.Outcome) {
	j := w.jobs[tag]
	j.Outcome, j.Finished = outcome, w.now.Truncate(time.Second)
	w.jobs[tag] = j
}

func (w *world) ask() {
	w.asked++
	w.requests = append(w.requests, schedule.Request{ID: fmt.Sprint("request ", w.asked), RequestedAt: w.now})
}

// tags are those of some Jobs, sorted.
func (w *world) tags(of func(schedule.Job) bool) []string {
	var tags []string
	for _, tag := range slices.Sorted(maps.Keys(w.jobs)) {
		if of(w.jobs[tag]) {
			tags = append(tags, tag)
		}
	}
	return tags
}

func active(j schedule.Job) bool { return j.Outcome == schedule.Unfinished }

// dusk is the last that a time can hold.
var dusk = time.Unix(math.MaxInt64-62_135_596_800, 999_999_999)

var created = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// pick draws one of these.
func pick(t *rapid.T, name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }

// drawInterval draws one that does something near the beginning of 2026.
func drawInterval(t *rapid.T, name string) schedule.Schedule {
	text := "R" + pick(t, name+" times", "", "", "", "1", "3", "10", "0") + "/" +
		pick(t, name+" start", "", "T00:00:30", "2026-01-01T00:01:00Z", "2025-12-31T23:59:30.5Z", "2025-06-30T12:00:00+02:00", "T23:59:50-01:00") + "/" +
		pick(t, name+" duration", "PT30S", "PT10S", "PT1.5S", "PT90S", "PT10M", "P1D", "P1M", "PT24H", "P1DT1H", "PT0.000000001S", "P1Y2M")
	return schedule.ISO8601(parse(t, text), nil)
}

var drawSpec = rapid.Custom(func(t *rapid.T) schedule.Spec {
	s := schedule.DefaultSpec()
	s.UID, s.Created = "2f6a", created
	s.Schedule = drawInterval(t, "interval")
	s.SkipOutdated = rapid.Bool().Draw(t, "skipOutdated")
	s.BlockOnFailure = rapid.Bool().Draw(t, "blockOnFailure")
	s.Concurrency = rapid.SampledFrom([]schedule.Concurrency{schedule.Allow, schedule.Wait, schedule.Forbid, schedule.Replace}).Draw(t, "concurrency")
	s.Suspended = rapid.IntRange(0, 9).Draw(t, "suspended") == 0
	s.StartingDeadline = rapid.SampledFrom([]time.Duration{0, 0, 0, time.Nanosecond, time.Second, time.Minute, 24 * time.Hour}).Draw(t, "startingDeadline")
	s.MaxWaiting = rapid.IntRange(1, 4).Draw(t, "maxWaiting")
	s.History.Succeeded = drawLimit(t, "succeeded")
	s.History.Failed = drawLimit(t, "failed")
	return s
})

func drawLimit(t *rapid.T, name string) history.Limit {
	n := rapid.IntRange(-1, 5).Draw(t, name)
	if n < 0 {
		return history.Limit{}
	}
	return history.Keep(n)
}
