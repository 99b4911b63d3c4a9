package schedule_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
)

// A cluster is a job with its Jobs: what has been stored, and the Jobs that are there.
type cluster struct {
	spec     schedule.Policy
	stored   []byte // a state
	now      time.Time
	jobs     map[string]schedule.Job
	created  map[string]bool // every Job that ever was
	requests []schedule.Request
	asked    int
}

func newCluster(spec schedule.Policy) *cluster {
	w := &cluster{spec: spec, now: spec.Created, jobs: map[string]schedule.Job{}, created: map[string]bool{}}
	w.store(schedule.Checkpoint{})
	return w
}

func (w *cluster) state() (s schedule.Checkpoint) {
	if err := json.Unmarshal(w.stored, &s); err != nil {
		panic(err)
	}
	return s
}

func (w *cluster) store(s schedule.Checkpoint) {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	w.stored = data
}

func (w *cluster) observed() schedule.Observation {
	seen := schedule.Observation{JobsKnown: true, Requests: slices.Clone(w.requests)}
	for _, tag := range w.tags(func(schedule.Job) bool { return true }) {
		seen.Jobs = append(seen.Jobs, w.jobs[tag])
	}
	return seen
}

func (w *cluster) decide() schedule.Decision {
	return decide(w.spec, w.state(), w.observed(), w.now)
}

// create is what an API server does, but for a Job that was there before.
func (w *cluster) create(r schedule.Run) error {
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

func (w *cluster) finish(tag string, outcome schedule.Outcome) {
	j := w.jobs[tag]
	j.Outcome, j.Finished = outcome, w.now.Truncate(time.Second)
	w.jobs[tag] = j
}

func (w *cluster) ask() {
	w.asked++
	w.requests = append(w.requests, schedule.Request{ID: fmt.Sprint("request ", w.asked), RequestedAt: w.now})
}

// tags are those of some Jobs, sorted.
func (w *cluster) tags(of func(schedule.Job) bool) []string {
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

// decide is schedule.Decide at a time.
func decide(p schedule.Policy, c schedule.Checkpoint, o schedule.Observation, now time.Time) schedule.Decision {
	o.Now = now
	return schedule.Decide(p, o, c)
}

// refresh is schedule.Refresh at a time.
func refresh(c schedule.Checkpoint, o schedule.Observation, now time.Time) schedule.Decision {
	o.Now = now
	return schedule.Refresh(o, c)
}
