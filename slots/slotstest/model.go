package slotstest

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

// A Config bounds a model. Max is needed.
type Config struct {
	Name    string
	Max     []int64  // of the owner; each edit is the next
	Demands []uint8  // of polls; the first is served in the end
	Ticks   int      // of the clock in L; 0 means 1
	Writers int      // processes that act at once; 0 means 1
	Budget  Budget   // events that may happen
	Initial [][]Held // objects at the start, by number; none means a start without objects
	Depth   int      // events; 0 means 16, at which each fault of the package's table is found
	Faults  []Fault  // that stay for ever
	// Lifetime is the number of ticks for which a request may have an effect after it was sent. 0
	// means Ticks, which is the premise of package slots.
	Lifetime int
	Strict   bool // what others delete is not excused
	Deaf     bool // whether the demand is served is not checked
}

// A Held is an object at the start.
type Held uint8

const (
	nothing  Held = iota
	Finished      // it does no more work
	Foreign       // somebody else's; no observation shows it
)

// A Fault is the reply that a request always gets. It has no effect.
type Fault struct {
	Verb   slots.Verb
	Number uint8 // 0 is all
	Result slots.Result
}

func (c *Config) ticks() int          { return max(1, c.Ticks) }
func (c *Config) lifetime() int       { return cmp.Or(c.Lifetime, c.ticks()) }
func (c *Config) late() time.Duration { return time.Duration(c.ticks()) * unit }

// A Report is the result of [Explore].
type Report struct {
	States, Lives, Calls, Cut int
	Depth                     int    // that was explored completely
	Complete                  bool   // there are no more states
	Steps                     int    // of the counterexample; 0 means that all promises hold
	Broken                    string // the counterexample
}

func (r Report) String() string {
	if r.Broken != "" {
		return fmt.Sprintf("%d steps, %d states:%s", r.Steps, r.States, r.Broken)
	}
	explored := fmt.Sprintf("%d states, all to depth %d", r.States, r.Depth)
	if r.Complete {
		explored = fmt.Sprintf("all %d states", r.States)
	}
	return fmt.Sprintf("%s; %d states of a process; %d calls of the loop; %d events cut by the bounds", explored, r.Lives, r.Calls, r.Cut)
}

// Explore explores a loop: every order of the events that the configuration allows, to its
// depth. In each state it checks that no more objects are unfinished than the largest
// maximum with which one of them was decided; and that the demand is served some polls after the last event, with the faults that stay. The
// shortest counterexample ends the search.
func Explore(c Config, loop func(o slots.Options, maximum int64) Loop) Report {
	s := newSearch(newModel(&c, loop))
	r := Report{}
	for depth := cmp.Or(c.Depth, 16); r.Depth < depth && len(s.level) > 0; r.Depth++ {
		if broken := s.deepen(); broken != nil {
			r.Steps, r.Broken = len(broken.events), broken.String()
			break
		}
	}
	r.Complete = len(s.level) == 0
	r.States, r.Lives, r.Calls, r.Cut = len(s.states), len(s.lives.list)-1, len(s.lives.outputs), s.cut
	return r
}

// A model is the processes and the server.
type model struct {
	*Config
	new     func(slots.Options, int64) Loop
	lives   *lives
	problem string // of the last event
	cut     int    // events that a bound did not allow
}

func newModel(c *Config, loop func(slots.Options, int64) Loop) *model {
	m := &model{Config: c, new: loop}
	m.Writers, m.Config.Writers = max(1, c.Writers), max(1, c.Writers)
	for _, f := range c.Faults {
		if i := slices.Index(verbs[:], f.Verb); i < 0 || verb(i) == toList {
			panic(fmt.Sprintf("Config.Faults: found the verb %q; use create, delete, mark or read", f.Verb))
		}
	}
	if len(c.Initial) == 0 {
		c.Initial = [][]Held{nil}
	}
	m.lives = &lives{model: m, list: []*life{nil}, settled: []bool{true}, byKey: map[string]int32{}, outputs: map[input]output{}}
	return m
}

// initial returns an initial state: objects, and processes that saw them long ago.
func (m *model) initial(held []Held) system {
	w := system{budget: m.Budget}
	for i, initial := range held {
		if initial != nothing {
			w.objects[i], w.created[i] = object{uid: 1, finished: initial == Finished, foreign: initial == Foreign}, 1
		}
	}
	for i := range uint8(m.Writers) {
		m.begin(&w, i, 0, false, w.snapshot())
	}
	for range m.ticks() {
		m.tick(&w)
	}
	return w
}

func (m *model) unfinished(w *system) (n, greatest int64) {
	for _, o := range w.objects {
		if o.uid != 0 && !o.finished && !o.foreign {
			n, greatest = n+1, max(greatest, m.Max[o.spec])
		}
	}
	return n, greatest
}

func (m *model) check(w *system) {
	if n, greatest := m.unfinished(w); m.problem == "" && n > greatest+int64(w.excess) {
		m.problem = fmt.Sprintf("%d unfinished objects, at a maximum of %d", n, greatest)
		if w.excess > 0 {
			m.problem += fmt.Sprintf(" and %d deletions by others", w.excess)
		}
	}
}

// settle forgets the excess when nothing is under way and each observation is complete.
func (m *model) settle(w *system) {
	if w.excess == 0 || w.messages[0].used {
		return
	}
	for i := range uint8(2) {
		if w.lists[i].used || w.notices[i][0] != (notice{}) || !m.lives.settled[w.lives[i]] {
			return
		}
	}
	if n, greatest := m.unfinished(w); n <= greatest {
		w.excess = 0
	}
}

// after returns the system after an event, and whether the event can happen. m.problem
// is the promise that it breaks.
func (m *model) after(from *system, do func(*system) bool) (w system, ok bool) {
	w, m.problem = *from, ""
	if ok = do(&w); !ok {
		m.cut++
		return w, false
	}
	m.settle(&w)
	m.check(&w)
	return w, true
}

// A search explores a model, breadth first.
type search struct {
	*model
	seed   maphash.Seed
	states map[uint64]bool // by hash; whether the demand is known to be served
	from   []uint32        // the index of the state before each
	step   []uint16        // the ordinal of the event that led to each
	level  []system        // the states of the last depth
	first  uint32          // the index of the first of them
}

func newSearch(m *model) *search {
	s := &search{model: m, seed: maphash.MakeSeed(), states: map[uint64]bool{}}
	for _, held := range m.Initial {
		s.add(m.initial(held), math.MaxUint32, 0)
	}
	return s
}

// hash returns a hash. Of 10 million states two have the same with a probability of 1 in 400,000.
func (s *search) hash(w *system) uint64 { return maphash.Comparable(s.seed, *w) }

func (s *search) add(w system, from uint32, step uint16) {
	h := s.hash(&w)
	if _, ok := s.states[h]; ok {
		return
	}
	s.states[h] = false
	s.from, s.step, s.level = append(s.from, from), append(s.step, step), append(s.level, w)
}

// deepen explores a further event. It returns the first broken promise.
func (s *search) deepen() *trace {
	level, first := s.level, s.first
	s.level, s.first = nil, s.first+uint32(len(level))
	var broken *trace
	for i := range level {
		index, ordinal := first+uint32(i), 0
		if !s.Deaf {
			if steps := s.live(level[i], s.isServed); s.problem != "" {
				return s.trace(index, steps...)
			}
			s.states[s.hash(&level[i])] = true
		}
		s.forEach(&level[i], func(e event, do func(*system) bool) {
			if w, ok := s.after(&level[i], do); ok && broken == nil {
				if s.problem != "" {
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

func (s *search) isServed(w *system) bool { return s.states[s.hash(w)] }

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

// trace returns the events that lead to a state, and the events after it.
func (s *search) trace(index uint32, after ...event) *trace {
	t := &trace{problem: s.problem}
	var ordinals []int
	for ; s.from[index] != math.MaxUint32; index = s.from[index] {
		ordinals = append(ordinals, int(s.step[index]))
	}
	w := s.initial(s.Initial[index])
	for i := len(ordinals) - 1; i >= 0; i-- {
		n, before := 0, w
		s.forEach(&before, func(e event, do func(*system) bool) {
			if n == ordinals[i] {
				t.events = append(t.events, e)
				w, _ = s.after(&before, do)
			}
			n++
		})
	}
	t.events = append(t.events, after...)
	return t
}
