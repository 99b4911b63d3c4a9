package slotstest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/slots"
)

// Bounds of the model. An event that would exceed a bound is cut, and counted as such.
const (
	most    = 6 // slots
	calls   = 6 // requests in transit
	lag     = 6 // changes that an observation does not show yet
	perSlot = 6 // objects that a slot may have had
)

// An object is an object of the server. The zero value is none.
type object struct {
	uid      uint8 // from 1, for each slot
	spec     uint8 // the maximum when its create was decided
	finished bool
	deleting bool // a finalizer keeps it
	foreign  bool // it belongs to somebody else, and no observation shows it
}

// A notice is a change that an observation reports. The zero value is none.
type notice struct {
	number uint8
	gone   bool
	is     object
}

// A list is a consistent read that an observation has not shown yet. It replaces what the
// observation showed before; notices follow it.
type list struct {
	is      bool
	age     uint8 // in ticks, since it began
	objects [most]object
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

var verbs = [...]string{"read", "list", "mark", "create", "delete"}

// A message is a request on its way, or its reply. The zero value is none.
type message struct {
	is     bool
	kind   verb
	number uint8
	uid    uint8  // of the object that it is about; 0 is none
	job    object // that the Delete of an unfinished object is about, as it was shown; of a Create: its spec
	by     uint8  // the process
	phase  phase
	result slots.Result // of the reply
	found  uint8        // uid in the reply
	age    uint8        // in ticks since the client gave it up
	ended  bool         // the process has ended
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

// sent returns the message as it was sent.
func (m *message) sent() message {
	return message{is: true, kind: m.kind, number: m.number, uid: m.uid, job: m.job, by: m.by}
}

// rank orders messages.
func (m *message) rank() uint64 {
	r := uint64(0)
	for _, bit := range []bool{m.is, m.ended, m.job.finished, m.job.deleting} {
		if r <<= 1; bit {
			r++
		}
	}
	for _, v := range []uint8{uint8(m.kind), m.number, m.uid, m.job.uid, m.job.spec, m.by, uint8(m.phase), uint8(m.result), m.found, m.age} {
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
	External int8 // somebody deletes an object; a keyed object only if its item is not listed
	Hold     int8 // a finalizer keeps a deleted object
	Return   int8 // an item that its source hides while it is worked on comes back
}

// A world is a state of the model.
type world struct {
	objects  [most]object
	made     [most]uint8 // objects that have had the slot
	messages [calls]message
	lists    [2]list
	notices  [2][lag]notice // that the observation of each process does not show yet
	lives    [2]int32       // of each process; 0 is none
	left     Budget
	spec     uint8
	clean    bool // the lease's marks
	aside    bool
	// excess is how many objects above the maximum the deletions of others account for.
	excess uint8

	listed [most]bool // items of the source
	again  [most]bool // items that a list had after their objects finished
	list   source     // under way
}

// A source is a list of items under way.
type source struct {
	phase uint8 // 0 is none, 1 is asked for, 2 is answered
	items [most]bool
}

// changed passes an object on to each observation. It returns false if a bound is exceeded.
func (w *world) changed(number uint8, is object, gone bool) bool {
	for i := range w.notices {
		if w.lives[i] == 0 || is.foreign {
			continue
		}
		free := slices.Index(w.notices[i][:], notice{})
		if free < 0 {
			return false
		}
		w.notices[i][free] = notice{number: number, is: is, gone: gone}
	}
	return true
}

// latest returns the object of the latest attempt of an item.
func (w *world) latest(item uint8, width int) (o object) {
	for i := int(item); i < most; i += width {
		if w.objects[i].uid != 0 {
			o = w.objects[i]
		}
	}
	return o
}

// snapshot returns a consistent read.
func (w *world) snapshot() list {
	l := list{is: true}
	for i, o := range w.objects {
		if !o.foreign {
			l.objects[i] = o
		}
	}
	return l
}

func (w *world) update(number uint8, change func(*object)) bool {
	change(&w.objects[number-1])
	return w.changed(number, w.objects[number-1], false)
}

func (w *world) removed(number uint8) bool {
	is := w.objects[number-1]
	w.objects[number-1] = object{}
	return w.changed(number, is, true)
}

// add adds requests in transit. Their order has no meaning.
func (w *world) add(sent ...message) bool {
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

func (w *world) sort() {
	slices.SortFunc(w.messages[:], func(a, b message) int { return cmp.Compare(b.rank(), a.rank()) })
}

func (w *world) lose(i int) {
	w.messages[i] = message{}
	w.sort()
}

func (w *world) any(match func(*message) bool) bool {
	for i := range w.messages {
		if w.messages[i].is && match(&w.messages[i]) {
			return true
		}
	}
	return false
}

// execute carries out a request at the server, and notes its reply. hold lets a finalizer
// keep an object that is deleted. execute returns false if a bound is exceeded.
func (m *model) execute(w *world, i int, hold bool) bool {
	sent := &w.messages[i]
	switch {
	case sent.kind == toMark:
		sent.phase, sent.result, w.aside = replied, slots.Done, true
		return true
	case sent.kind == toList:
		sent.phase, sent.result = replied, slots.Done
		w.lists[sent.by], w.notices[sent.by] = w.snapshot(), [lag]notice{}
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
		if sent.result = slots.None; o.uid != 0 && o.uid == sent.uid && !o.deleting {
			sent.result = slots.Done
		}
		return true
	case o.uid == 0 || o.uid != sent.uid: // deleted already
		return true
	case sent.job.uid != 0 && *o != sent.job:
		if !o.deleting {
			sent.result = slots.None
		}
		return true
	case o.deleting:
		return true
	case !o.finished && sent.job.uid == 0:
		m.problem = fmt.Sprintf("object %d has not finished, and is pruned", sent.number)
	}
	return m.deleted(w, sent.number, hold, !sent.ended && sent.phase != stopped && m.Writers < 2 && !w.any(func(m *message) bool { return m.phase == stopped }))
}

func (m *model) created(w *world, sent *message) bool {
	made := &w.made[sent.number-1]
	if *made++; *made > perSlot {
		return false
	}
	if m.Keyed && *made > 1 && m.problem == "" {
		m.problem = fmt.Sprintf("item %d has a second object", sent.number)
	}
	if i := int(sent.number - 1); m.Retries > 0 && i >= m.width() {
		item := uint8(i % m.width())
		if o := w.latest(item, m.width()); m.problem == "" && (!w.again[item] || o.uid != 0 && !o.finished) {
			m.problem = fmt.Sprintf("item %d runs again, and its object has not finished, or no list had it since", item+1)
		}
		w.again[item] = false
	}
	o := object{uid: *made, spec: sent.job.spec}
	w.objects[sent.number-1] = o
	sent.phase, sent.result, sent.found = replied, slots.Done, *made
	return w.changed(sent.number, o, false)
}

// found notes the reply to a read.
func (m *model) found(sent *message, o object) {
	sent.phase, sent.found = replied, o.uid
	switch {
	case o.uid == 0:
		sent.result = slots.None
	case o.foreign, o.finished:
		sent.result = slots.Taken
	default:
		sent.result = slots.Done
	}
}

// deleted deletes an object, now or when its finalizer is removed. Each slot that others
// make free so accounts for one object above the maximum.
func (m *model) deleted(w *world, number uint8, hold, ours bool) bool {
	if hold {
		w.left.Hold--
		return w.update(number, func(o *object) { o.deleting = true })
	}
	if o := w.objects[number-1]; (o.finished || o.foreign) && !ours && !m.Strict && !m.Keyed {
		w.excess++
	}
	return w.removed(number)
}
