package adapter

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/scaledjob/scaledjob/history"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/strategy"
)

// The model is an API server, one or two writers, and everything that may happen between
// them in any order: a state is a world, a step is an event. The code of the writers is
// the real one, from Tracker.Plan, begin, next and answered to what the reflector calls.
// Two functions mirror code that does I/O: lives.next mirrors the loop of Tracker.Apply,
// and model.execute mirrors call.send and the API server.
//
// The model assumes that the API server executes no request later than L after the client
// gave it up, that no two processes act at once, and that a list is not older than
// another before it. Configurations without these assumptions say so. It knows one owner.
//
// In each state it asserts that
//
//   - no more Jobs are unfinished than the largest maximum with which the create of one of
//     them was decided. Each finished Job that others deleted since nothing was under way
//     may add one: see deleter for who others are.
//   - history deletes finished Jobs only, a rollout unfinished ones of an older spec.
//   - a plan sends nothing after an edit, and a process sends nothing without its lease.
//   - when faults stop, the Jobs that the demand asks for exist after some polls, and no
//     request in doubt occupies capacity.
var (
	deeper = flag.Int("model.depth", 0, "how much deeper than by default TestModel explores")
	chosen = flag.String("model.config", "", "a part of the names of the configurations that TestModel explores")
	raced  bool // by the race detector
)

// versions returns the versions of a target, which prunes each finished Job.
func versions(changes ...func(*Target)) (targets []Target) {
	for i, change := range changes {
		t := newTarget()
		t.Revision.Generation = int64(i + 1)
		t.History = keepNone
		change(&t)
		targets = append(targets, t)
	}
	return targets
}

func atMost(n int64) func(*Target) { return func(t *Target) { t.Policy.Bounds.Max = n } }

var (
	done     = object{uid: 1, finished: true}
	outdated = object{uid: 1}
	foreign  = object{uid: 1, foreign: true}
)

func immediate(t *Target) { t.Rollout = rollout.DefaultPolicy() }

type worlds = []func(*model) world

func configs() []*config {
	return []*config{
		{
			name: "one Job", targets: versions(atMost(1)), demands: []uint8{1, 0}, ticks: 1, writers: 1, plans: 1, depth: 12,
			left: budget{finish: 2, fault: 2, restart: 2, relist: 1, retrack: 1}, initial: worlds{holding(), holding(done)},
		},
		{
			name: "half of L", targets: versions(atMost(1)), demands: []uint8{1, 0}, ticks: 2, writers: 1, plans: 1, depth: 12,
			left: budget{finish: 1, fault: 2, restart: 2, relist: 1}, initial: worlds{holding(), holding(done)},
		},
		{
			name: "two Jobs", targets: versions(atMost(2)), demands: []uint8{2, 0}, ticks: 1, writers: 1, plans: 1, depth: 10,
			left: budget{finish: 2, fault: 2, restart: 2, relist: 1}, initial: worlds{holding(), holding(done), holding(done, done)},
		},
		{
			name: "deletions by others", targets: versions(atMost(1)), demands: []uint8{1, 0}, ticks: 1, writers: 1, plans: 1, depth: 11,
			left:    budget{finish: 2, fault: 1, restart: 1, stop: 1, external: 1, finalizer: 1, relist: 1},
			initial: worlds{holding(), holding(done), holding(foreign)},
		},
		{
			name: "edits", demands: []uint8{3}, ticks: 1, writers: 1, plans: 1, depth: 10,
			targets: versions(atMost(2), func(t *Target) { atMost(1)(t); immediate(t) }, atMost(3)),
			left:    budget{finish: 1, fault: 1, restart: 1, external: 1, finalizer: 1, edit: 2}, initial: worlds{holding(), holding(done)},
		},
		{
			name: "two writers", targets: versions(atMost(2), atMost(1)), demands: []uint8{2}, ticks: 1, writers: 2, plans: 1, depth: 9,
			left: budget{finish: 1, fault: 1, restart: 1, edit: 1}, initial: worlds{holding(), holding(done)},
		},
		{
			name: "no pruning, requests of any age", demands: []uint8{2}, ticks: 1, writers: 2, plans: 1, depth: 8, anyAge: true,
			targets: versions(func(t *Target) { atMost(2)(t); t.History = history.Limits{} }),
			left:    budget{finish: 2, fault: 2, restart: 2, stop: 1, relist: 1}, initial: worlds{holding(), holding(done)},
		},
		{
			name: "two plans at once", demands: []uint8{2, 0}, ticks: 1, writers: 1, plans: 2, depth: 9,
			targets: versions(atMost(2), func(t *Target) { atMost(2)(t); immediate(t) }), first: 1,
			left: budget{fault: 1, restart: 2}, initial: worlds{holding(done, outdated)},
		},
		{
			name: "clocks", demands: []uint8{1}, ticks: 1, writers: 1, plans: 1, depth: 10,
			targets: versions(func(t *Target) {
				atMost(2)(t)
				t.StuckAfter, t.Policy.Strategy = time.Minute, strategy.PendingAware{}
			}),
			left: budget{finish: 1, fault: 1, restart: 1, skew: 3}, initial: worlds{holding(), holding(done)},
		},
	}
}

// What the searches must reach, so that they prove something.
var reached = append(eventNames[:],
	"create arrives late", "create finds that the number is taken", "create finds an unfinished Job", "create finds nothing",
	"delete arrives late", "delete has changed", "prune arrives late", "get pruned has changed",
	"get finds that the number is taken", "get finds an unfinished Job", "get finds nothing",
	"state: a create is unanswered", "state: a create may arrive late", "state: a prune may arrive late", "state: a number is taken",
	"state: the cache is behind", "state: the cache shows a pruned Job", "state: the cache shows the number of a create",
	"state: the cache shows another Job than the created", "state: pruning waits after the start", "state: an edit during a batch",
	"state: a process is stopped", "state: others have deleted a finished Job",
)

func TestModel(t *testing.T) {
	var mu sync.Mutex
	total, seen := 0, map[string]int{}
	t.Run("explore", func(t *testing.T) {
		for _, c := range configs() {
			if !strings.Contains(c.name, *chosen) {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				s := explore(t, c)
				mu.Lock()
				defer mu.Unlock()
				total += len(s.states)
				for what, n := range s.seen {
					seen[what] += n
				}
				for what, n := range s.notes {
					seen[what] += n
				}
			})
		}
	})
	t.Logf("%d states in total; events, states and requests among them:", total)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%9d %s", seen[what], what)
	}
	for _, what := range reached {
		assert.True(t, seen[what] > 0 || raced || testing.Short() || *chosen != "", "%s: never reached", what)
	}
}

func explore(t *testing.T, c *config) *search {
	s, began, depth := newSearch(newModel(c, &broken{})), time.Now(), 0
	most := c.depth + *deeper
	if raced || testing.Short() {
		most -= 4
	}
	for ; depth < most && len(s.level) > 0; depth++ {
		if broken := s.deepen(); broken != nil {
			t.Fatal(broken)
		}
	}
	is := fmt.Sprintf("all %d states", len(s.states))
	if len(s.level) > 0 {
		is = fmt.Sprintf("%d states, all to depth %d", len(s.states), depth)
	}
	t.Logf("%s; %d states of a writer; %d calls of its code; %d events cut by the bounds; %s",
		is, len(s.lives.all)-1, len(s.lives.outputs), s.cut, time.Since(began).Round(time.Millisecond))
	return s
}
