package slotstest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/slots"
)

// Bounds of the model. An event that would exceed a bound is cut, and counted as such.
const (
	maxNumber  = 6  // of objects
	maxCalls   = 6  // requests in transit
	maxLag     = 6  // changes that an observation does not show yet
	maxPerName = 6  // objects that a number may have had
	maxAge     = 15 // ticks
)

// An object is an object of the server. The zero value is none.
type object struct {
	uid      uint8 // from 1, for each number
	spec     uint8 // the maximum when its create was decided
	finished bool
	deleting bool // a finalizer keeps it
	foreign  bool // it belongs to somebody else, and no observation shows it
}

// A notice is a change that an observation reports. The zero value is none.
type notice struct {
	number uint8
	gone   bool
	object object
}

// A list is a consistent read that an observation has not shown yet. It replaces what the
// observation showed before; notices follow it.
type list struct {
	used    bool
	age     uint8 // in ticks, since it began
	objects [maxNumber]object
}

// A verb is the Verb of a request.
type verb uint8

const (
	toRead verb = iota
	toList
	toMark
	toCreate
	toDelete
)

var verbs = [...]slots.Verb{slots.Read, slots.List, slots.Mark, slots.Create, slots.Delete}

// A message is a request on its way, or its reply. The zero value is none.
type message struct {
	used    bool
	kind    verb
	number  uint8
	uid     uint8  // of the object that it is about; 0 is none
	version object // that the Delete of an unfinished object is about, as it was shown; of a Create: its spec
	process uint8
	phase   phase
	result  slots.Result // of the reply
	found   uint8        // uid in the reply
	age     uint8        // in ticks since it was sent
	dead    bool         // the process has ended
}

// A phase is where a request is.
type phase uint8

const (
	waiting phase = iota // the client waits; the request has not been executed
	reading              // the name existed, and the client reads the object
	replied              // the reply is on its way
	orphan               // the client has given it up; it may still be executed
	stopped              // the client was stopped before it sent the request
)

func (m *message) changes() bool { return m.kind >= toCreate }

// request returns the message as it was sent.
func (m *message) request() message {
	return message{used: true, kind: m.kind, number: m.number, uid: m.uid, version: m.version, process: m.process}
}

// inTransit returns the message as it may still be executed, although nobody waits for it.
func (m *message) inTransit(p phase) message {
	sent := m.request()
	sent.phase, sent.age = p, m.age
	return sent
}

// rank orders messages.
func (m *message) rank() uint64 {
	r := uint64(0)
	for _, bit := range []bool{m.used, m.dead, m.version.finished, m.version.deleting} {
		if r <<= 1; bit {
			r++
		}
	}
	for _, v := range []uint8{uint8(m.kind), m.number, m.uid, m.version.uid, m.version.spec, m.process, uint8(m.phase), uint8(m.result), m.found, m.age} {
		r = r<<4 | uint64(v)
	}
	return r
}

// A Budget is how many events of each kind may happen.
type Budget struct {
	Finish   int8 // an object finishes
	Fault    int8 // a request is not answered, or is refused
	Restart  int8 // the process is killed, and another takes the lease
	End      int8 // the process ends in order, and another takes the lease
	Warm     int8 // as Restart, and the other has watched before
	Stop     int8 // as Restart, and a request of the old process is sent at any time later
	Relist   int8 // the watch is cut
	Edit     int8 // the owner gets the next maximum
	External int8 // somebody deletes an object
	Hold     int8 // a finalizer keeps a deleted object
	Overlap  int8 // a poll begins while requests of the poll before have no answer
}

// A system is a state of the model.
type system struct {
	objects  [maxNumber]object
	created  [maxNumber]uint8 // objects that have had the number
	messages [maxCalls]message
	lists    [2]list
	notices  [2][maxLag]notice // that the observation of each process does not show yet
	lives    [2]int32          // of each process; 0 is none
	budget   Budget
	spec     uint8
	marked   bool // the lease
	// excess is how many objects above the maximum the deletions of others account for.
	excess uint8
}

// changed passes an object on to each observation. It returns false if a bound is exceeded.
func (w *system) changed(number uint8, o object, gone bool) bool {
	for i := range w.notices {
		if w.lives[i] == 0 || o.foreign {
			continue
		}
		free := slices.Index(w.notices[i][:], notice{})
		if free < 0 {
			return false
		}
		w.notices[i][free] = notice{number: number, object: o, gone: gone}
	}
	return true
}

// snapshot returns a consistent read.
func (w *system) snapshot() list {
	l := list{used: true}
	for i, o := range w.objects {
		if !o.foreign {
			l.objects[i] = o
		}
	}
	return l
}

func (w *system) update(number uint8, change func(*object)) bool {
	change(&w.objects[number-1])
	return w.changed(number, w.objects[number-1], false)
}

func (w *system) removed(number uint8) bool {
	o := w.objects[number-1]
	w.objects[number-1] = object{}
	return w.changed(number, o, true)
}

// add adds requests in transit. Their order has no meaning.
func (w *system) add(sent ...message) bool {
	for _, m := range sent {
		free := slices.Index(w.messages[:], message{})
		if free < 0 {
			return false
		}
		w.messages[free] = m
	}
	w.sort()
	return true
}

func (w *system) sort() {
	slices.SortFunc(w.messages[:], func(a, b message) int { return cmp.Compare(b.rank(), a.rank()) })
}

func (w *system) lose(i int) {
	w.messages[i] = message{}
	w.sort()
}

func (w *system) contains(match func(*message) bool) bool {
	for i := range w.messages {
		if w.messages[i].used && match(&w.messages[i]) {
			return true
		}
	}
	return false
}

// execute carries out a request at the server, and notes its reply. hold lets a finalizer
// keep an object that is deleted. execute returns false if a bound is exceeded.
func (m *model) execute(w *system, i int, hold bool) bool {
	sent := &w.messages[i]
	switch {
	case sent.kind == toMark:
		sent.phase, sent.result, w.marked = replied, slots.Done, true
		return true
	case sent.kind == toList:
		sent.phase, sent.result = replied, slots.Done
		w.lists[sent.process], w.notices[sent.process] = w.snapshot(), [maxLag]notice{}
		return true
	}
	o := &w.objects[sent.number-1]
	switch {
	case sent.kind == toCreate && sent.phase != reading && o.uid != 0:
		sent.phase = reading
		return true
	case sent.kind == toCreate && sent.phase != reading:
		return m.created(w, sent)
	case sent.kind == toCreate, sent.kind == toRead && sent.uid == 0:
		m.found(sent, *o)
		return true
	}
	sent.phase, sent.result = replied, slots.Done
	switch {
	case sent.kind == toRead:
		if sent.result = slots.Absent; o.uid == sent.uid && !o.deleting {
			sent.result = slots.Done
		}
		return true
	case o.uid == 0 || o.uid != sent.uid: // deleted already
		return true
	case sent.version.uid != 0 && *o != sent.version:
		if !o.deleting {
			sent.result = slots.NoEffect
		}
		return true
	case o.deleting:
		return true
	case !o.finished && sent.version.uid == 0:
		m.problem = fmt.Sprintf("object %d has not finished, and is pruned", sent.number)
	}
	stopping := w.contains(func(m *message) bool { return m.phase == stopped })
	leading := !sent.dead && m.Writers < 2
	return m.deleted(w, sent.number, hold, leading && !stopping)
}

func (m *model) created(w *system, sent *message) bool {
	created := &w.created[sent.number-1]
	if *created++; *created > maxPerName {
		return false
	}
	o := object{uid: *created, spec: sent.version.spec}
	w.objects[sent.number-1] = o
	sent.phase, sent.result, sent.found = replied, slots.Done, *created
	return w.changed(sent.number, o, false)
}

// found notes the reply to a read.
func (m *model) found(sent *message, o object) {
	sent.phase, sent.found = replied, o.uid
	switch {
	case o.uid == 0 && sent.kind == toRead:
		sent.result = slots.Absent
	case o.uid == 0:
		sent.result = slots.NoEffect
	case o.foreign, o.finished:
		sent.result = slots.Occupied
	default:
		sent.result = slots.Done
	}
}

// deleted deletes an object, now or when its finalizer is removed. Each slot that others
// make free so accounts for one object above the maximum.
func (m *model) deleted(w *system, number uint8, hold, ours bool) bool {
	if hold {
		w.budget.Hold--
		return w.update(number, func(o *object) { o.deleting = true })
	}
	o := w.objects[number-1]
	if counts := o.finished || o.foreign; counts && !ours && !m.Strict {
		w.excess++
	}
	return w.removed(number)
}
