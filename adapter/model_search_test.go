package adapter

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// A config bounds the model.
type config struct {
	name      string
	targets   []Target // the versions of the spec
	first     uint8    // the version of the initial worlds
	demands   []uint8  // of polls; the first is served in the end
	ticks     int      // in L
	writers   int      // that act at once
	plans     int      // that a writer carries out at once
	left      budget
	initial   []func(*model) world
	depth     int
	remembers bool // lives remember numbers
	anyAge    bool // requests arrive later than L

	prototypes [][]*batchv1.Job
}

// A model is the writers and the API server.
type model struct {
	*config
	broken  *broken
	lives   *lives
	problem string // of the last event
	fed     []fed  // to the lives by the last event
	cut     int    // events that a bound did not allow
	notes   map[string]int
}

// A fed is an input to the life of a writer.
type fed struct {
	writer uint8
	input  input
}

func newModel(c *config, b *broken) *model {
	if c.prototypes == nil {
		c.prototypes = prototypes(c.targets)
	}
	return &model{config: c, broken: b, lives: newLives(c, b), notes: map[string]int{}}
}

// note counts what happens to a request.
func (m *model) note(sent *message, what string) { m.notes[kindNames[sent.kind]+" "+what]++ }

// settle forgets the excess when nothing is under way and each cache shows everything.
func (m *model) settle(w *world) {
	if w.excess == 0 || w.messages[0].kind != 0 {
		return
	}
	for i := range uint8(2) {
		if w.notices[i][0] != (notice{}) || w.lives[i] != 0 && !m.life(w, i).facts.settled {
			return
		}
	}
	if n, greatest := m.unfinished(w); n <= greatest {
		w.excess = 0
	}
}

// unfinished returns the number of unfinished Jobs, and the largest maximum with which
// the create of one of them was decided.
func (m *model) unfinished(w *world) (n, greatest int) {
	for _, job := range w.jobs {
		if job.uid != 0 && !job.finished && !job.foreign {
			n, greatest = n+1, max(greatest, int(m.targets[job.spec].Policy.Bounds.Max))
		}
	}
	return n, greatest
}

// check notes if there are more Jobs than promised.
func (m *model) check(w *world) {
	if n, greatest := m.unfinished(w); m.problem == "" && n > greatest+int(w.excess) {
		m.problem = fmt.Sprintf("%d unfinished Jobs, at a maximum of %d", n, greatest)
		if w.excess > 0 {
			m.problem += fmt.Sprintf(" and %d deletions by others", w.excess)
		}
	}
}

// calm returns what happens next when faults have stopped: requests are answered,
// caches catch up, L passes, writers poll in turn.
func (m *model) calm(w *world, turn int) (event, func(*world) bool) {
	for i, sent := range w.messages {
		if sent.kind != 0 && sent.phase < orphan {
			return event{kind: serves, sent: sent}, func(w *world) bool { return m.serve(w, i, false) }
		}
	}
	for i := range uint8(2) {
		switch {
		case w.lives[i] == 0:
		case w.notices[i][0] != (notice{}):
			return event{kind: catchesUp, writer: i}, func(w *world) bool { return m.show(w, i, lag) }
		case m.life(w, i).spec != w.spec:
			return event{kind: tracks, writer: i}, func(w *world) bool { return m.feed(w, i, input{kind: track, spec: w.spec}) }
		}
	}
	for i, job := range w.jobs {
		if job.deleting && !job.finished {
			number := uint8(i + 1)
			return event{kind: finalizes, number: number}, func(w *world) bool { return m.deleted(w, number, false, finalizing) }
		}
	}
	if turn%2 == 0 {
		return event{kind: ages}, m.tick
	}
	writer := uint8(turn / 2 % w.writers())
	return event{kind: polls, writer: writer, value: m.demands[0]}, func(w *world) bool { return m.poll(w, writer, m.demands[0]) }
}

// served reports whether the Jobs that serve the demand exist, and no capacity is lost.
func (m *model) served(w *world) bool {
	want, n := min(int64(m.demands[0]), m.targets[w.spec].Policy.Bounds.Max), int64(0)
	for _, job := range w.jobs {
		if job.uid != 0 && !job.finished && !job.deleting && !job.foreign {
			n++
		}
	}
	for i := range uint8(2) {
		if w.lives[i] != 0 && (m.life(w, i).facts.occupied || m.life(w, i).facts.plans > 0) {
			return false
		}
	}
	return n >= want && !m.awaits(w)
}

// mostTurns are the polls and periods of L in which the demand must be served.
const mostTurns = 24

// live checks that the demand is served in the end. It returns what happens until then,
// or until a promise is broken: m.problem. known reports the states from which the
// demand is served.
func (m *model) live(from world, known func(*world) bool) (steps []event) {
	m.problem = ""
	for w, turn := from, 0; !known(&w) && !m.served(&w); {
		if turn > mostTurns {
			m.problem = "the demand is never served"
			return steps
		}
		if !m.awaits(&w) {
			turn++
		}
		e, do := m.calm(&w, turn)
		steps = append(steps, e)
		next, ok := m.after(&w, do)
		if w = next; !ok || m.problem != "" {
			return steps
		}
	}
	return steps
}

// A search explores a model, breadth first.
type search struct {
	*model
	seed   maphash.Seed
	states map[uint64]bool // by hash; whether the demand is known to be served
	from   []uint32        // the index of the state before each
	by     []uint16        // the ordinal of the event that led to each
	level  []world         // the states of the last depth
	first  uint32          // the index of the first of them
	seen   map[string]int
	deaf   bool // to whether the demand is served
}

func newSearch(m *model) *search {
	s := &search{model: m, seed: maphash.MakeSeed(), states: map[uint64]bool{}, seen: map[string]int{}}
	for _, initial := range m.initial {
		s.add(initial(m), math.MaxUint32, 0)
	}
	return s
}

// hash is the same for worlds that differ in the names of the writers only. Of 10 million
// states two have the same hash with a probability of 1 in 400,000.
func (s *search) hash(w *world) uint64 {
	if s.writers == 1 {
		return maphash.Comparable(s.seed, *w)
	}
	return maphash.Comparable(s.seed, w.canonical())
}

func (s *search) add(w world, from uint32, by uint16) {
	h := s.hash(&w)
	if _, ok := s.states[h]; ok {
		return
	}
	s.states[h] = false
	s.from, s.by, s.level = append(s.from, from), append(s.by, by), append(s.level, w)
	s.observe(&w, func(what string) { s.seen[what]++ })
}

// deepen explores one event more. It returns the first broken promise.
func (s *search) deepen() *trace {
	level, first := s.level, s.first
	s.level, s.first = nil, s.first+uint32(len(level))
	var broken *trace
	for i := range level {
		index, ordinal := first+uint32(i), 0
		if !s.deaf {
			if steps := s.live(level[i], s.known); s.problem != "" {
				return s.trace(index, steps...)
			}
			s.states[s.hash(&level[i])] = true
		}
		s.each(&level[i], func(e event, do func(*world) bool) {
			if w, ok := s.after(&level[i], do); ok && broken == nil {
				if s.seen[eventNames[e.kind]]++; s.problem != "" {
					broken = s.trace(index, e)
				} else {
					s.add(w, index, uint16(ordinal))
				}
			}
			ordinal++
		})
		if broken != nil {
			return broken
		}
	}
	return nil
}

// known reports whether it is known that the demand is served after the state.
func (s *search) known(w *world) bool { return s.states[s.hash(w)] }

// observe calls note with everything that a state has.
func (m *model) observe(w *world, note func(string)) {
	count := func(is bool, what string) {
		if is {
			note("state: " + what)
		}
	}
	for i := range uint8(2) {
		if w.lives[i] == 0 {
			continue
		}
		f := m.life(w, i).facts
		count(f.unanswered, "a create is unanswered")
		count(f.waiting, "the cache shows a pruned Job")
		count(f.taken, "a number is taken")
		count(f.gated, "pruning waits after the start")
		count(f.editing, "an edit during a batch")
		count(f.doubled, "the cache shows the number of a create")
		count(f.stale, "the cache shows another Job than the created")
		count(w.notices[i][0] != (notice{}), "the cache is behind")
	}
	count(w.any(create, orphan), "a create may arrive late")
	count(w.any(prune, orphan), "a prune may arrive late")
	count(w.any(create, stopped), "a process is stopped")
	count(w.excess > 0, "others have deleted a finished Job")
}

// A trace is how a promise is broken.
type trace struct {
	events  []event
	problem string
}

func (t *trace) String() string {
	var s strings.Builder
	for i, e := range t.events {
		fmt.Fprintf(&s, "\n%3d. %s", i+1, e)
	}
	fmt.Fprintf(&s, "\n     %s", t.problem)
	return s.String()
}

// trace returns the events that lead to a state, and those after it.
func (s *search) trace(index uint32, after ...event) *trace {
	t := &trace{problem: s.problem}
	var ordinals []int
	for ; s.from[index] != math.MaxUint32; index = s.from[index] {
		ordinals = append(ordinals, int(s.by[index]))
	}
	w := s.initial[index](s.model)
	for _, ordinal := range slices.Backward(ordinals) {
		n, before := 0, w
		s.each(&before, func(e event, do func(*world) bool) {
			if n == ordinal {
				t.events = append(t.events, e)
				w, _ = s.after(&before, do)
			}
			n++
		})
	}
	t.events = append(t.events, after...)
	return t
}

// holding returns an initial state: Jobs, and writers that saw them long ago.
func holding(jobs ...object) func(*model) world {
	return func(m *model) world {
		w := world{left: m.left, spec: m.first}
		for i, job := range jobs {
			w.jobs[i], w.made[i] = job, job.uid
		}
		for i := range uint8(m.writers) {
			m.restart(&w, i, m.first, orphan)
		}
		for range m.ticks {
			m.tick(&w)
		}
		return w
	}
}
