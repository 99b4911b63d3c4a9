package adapter

import (
	"maps"
	"slices"
	"testing"
)

// A broken breaks a rule. The zero value breaks none.
type broken struct {
	name            string
	polled          func(*life)                                       // before a poll is planned
	next            func(*life, *application, uint8) (restore func()) // around the choice of requests
	answered        func(*life, *request, reply)                      // after a reply was noted
	shown           func(*life)                                       // after a change of the cache
	ticked          func(*life)                                       // after a tick
	retracked       func(*life)                                       // after an owner was tracked again
	start           func(*life)                                       // after a start
	avoids          bool                                              // numbers that any Job has had
	remembers       bool                                              // lives know which numbers they have seen
	oldList         bool                                              // a life starts with what the one before it had seen
	partialList     bool                                              // a list is shown in part
	anyLease        bool                                              // a process goes on without its lease
	unserved        bool                                              // the demand is not served
	noPreconditions bool                                              // a delete does not say which Job it is about
	uncounted       deleter                                           // whose deletions do not account for a Job

	config *config
}

// avoid lets numbers seem taken.
func (x *life) avoid(numbers func(number int64) bool) (restore func()) {
	o := x.owned()
	if o.flights == nil {
		o.flights = map[int64]*flight{}
	}
	var added []int64
	for n := int64(1); n <= slots; n++ {
		if o.flights[n] == nil && numbers(n) {
			o.flights[n] = &flight{state: taken, at: x.now()}
			added = append(added, n)
		}
	}
	return func() {
		for _, n := range added {
			delete(o.flights, n)
		}
	}
}

// highest returns the highest number that a life knows of.
func (x *life) highest() (highest int64) {
	for _, j := range x.owned().jobs {
		highest = max(highest, j.Number)
	}
	for n := range x.owned().flights {
		highest = max(highest, n)
	}
	return highest
}

// end ends flights.
func (x *life) end(which func(*flight) bool) {
	maps.DeleteFunc(x.owned().flights, func(_ int64, f *flight) bool { return which(f) })
}

// forgetPruned forgets the Jobs that were pruned.
func (x *life) forgetPruned() {
	for _, j := range x.owned().jobs {
		j.pruning = false
	}
	x.owned().pruning = 0
}

// with sets a value for the time of a choice of requests.
func with[T any](at *T, value T) (restore func()) {
	before := *at
	*at = value
	return func() { *at = before }
}

func nothing() {}

func brokenRules() []*broken {
	one := &config{
		targets: versions(atMost(1)), demands: []uint8{1, 0}, ticks: 1, writers: 1, plans: 1,
		left: budget{finish: 2, fault: 2, restart: 2, relist: 1, external: 1}, initial: worlds{holding(), holding(done)},
	}
	edits := &config{
		targets: versions(atMost(1), func(t *Target) { atMost(1)(t); immediate(t) }), demands: []uint8{1, 0}, ticks: 1, writers: 1, plans: 1,
		left: budget{finish: 2, fault: 1, restart: 1, edit: 1}, initial: worlds{holding(), holding(done)},
	}
	two := *one
	two.writers = 2
	anyAge := *one
	anyAge.anyAge = true
	again := *one
	again.left.retrack = 1
	half := *one
	half.ticks = 2
	gap := *one
	gap.targets, gap.demands, gap.initial = versions(atMost(2)), []uint8{2}, worlds{holding(object{}, object{uid: 1})}
	held := *one
	held.left.finalizer = 1
	return []*broken{
		{name: "random names", config: one, avoids: true, next: func(x *life, _ *application, avoid uint8) func() {
			return x.avoid(func(n int64) bool { return avoid>>(n-1)&1 > 0 })
		}},
		{name: "numbers above the highest", config: &gap, next: func(x *life, a *application, _ uint8) func() {
			highest := x.highest()
			return x.avoid(func(n int64) bool { return n <= highest })
		}},
		{name: "numbers remembered", config: one, remembers: true, next: func(x *life, a *application, _ uint8) func() {
			return x.avoid(func(n int64) bool { return x.known[n] })
		}},
		{name: "a flight ends by name", config: one, shown: func(x *life) {
			x.end(func(f *flight) bool { return f.state != sending && f.shown != "" })
		}},
		{name: "a flight expires before L", config: &half, ticked: func(x *life) {
			x.end(func(f *flight) bool { return x.now().Sub(f.at) >= late/2 })
		}},
		{name: "a create that was not answered is over", config: one, answered: func(x *life, _ *request, r reply) {
			x.end(func(f *flight) bool { return f.state == unanswered })
		}},
		{name: "a create that was not answered is never asked for", unserved: true, config: one, next: func(x *life, a *application, _ uint8) func() {
			a.queues[asking] = slices.DeleteFunc(a.queues[asking], func(q request) bool { return q.delete == nil })
			return nothing
		}},
		{name: "a prune that was not answered is never asked for", unserved: true, config: one, next: func(x *life, a *application, _ uint8) func() {
			a.queues[asking] = slices.DeleteFunc(a.queues[asking], func(q request) bool { return q.delete != nil })
			return nothing
		}},
		{name: "pruning while a create is unanswered", config: one, next: func(x *life, a *application, _ uint8) func() {
			var restores []func()
			for _, f := range x.owned().flights {
				if f.state == unanswered {
					restores = append(restores, with(&f.state, accepted), with(&f.uid, "nobody"))
				}
			}
			return func() {
				for _, restore := range restores {
					restore()
				}
			}
		}},
		{name: "L is too short", config: &half, start: func(x *life) { x.tracker.options.Timeout = DefaultTimeout / 2 }},
		{name: "pruning within L of the start", config: one, start: func(x *life) { x.owned().start = nil }},
		{name: "creating while a pruned Job is shown", config: one, polled: (*life).forgetPruned},
		{name: "untracking forgets pruned Jobs", config: &again, retracked: (*life).forgetPruned},
		{name: "an old list", config: one, oldList: true},
		{name: "a list in parts", config: one, partialList: true},
		{name: "a process goes on without its lease", config: one, anyLease: true},
		{name: "an edit stops no plan", config: edits, next: func(x *life, a *application, _ uint8) func() {
			a.plan.target = x.owned().target
			return nothing
		}},
		{name: "deletes of any Job of the name", config: edits, noPreconditions: true},
		{name: "requests later than L", config: &anyAge},
		{name: "a finished Job is deleted from outside", config: one, uncounted: external},
		{name: "a finalizer is removed later", config: &held, uncounted: finalizing},
		{name: "a delete of an earlier process arrives", config: one, uncounted: earlier},
		{name: "a second writer prunes", config: &two, uncounted: secondWriter},
	}
}

// The model fails if a rule is broken, and finds the shortest way.
func TestBrokenRules(t *testing.T) {
	for _, b := range brokenRules() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := *b.config
			c.remembers, c.name = b.remembers, b.name
			s := newSearch(newModel(&c, b))
			s.deaf = !b.unserved
			for depth := 0; depth < 14 && len(s.level) > 0; depth++ {
				if broken := s.deepen(); broken != nil {
					t.Logf("%d steps, %d states: %s", len(broken.events), len(s.states), broken)
					return
				}
			}
			t.Fatalf("no promise is broken in %d states", len(s.states))
		})
	}
}
