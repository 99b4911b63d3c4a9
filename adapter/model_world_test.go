package adapter

import (
	"cmp"
	"fmt"
	"slices"
)

// Bounds of the model. An event that would exceed one is cut, and counted as such.
const (
	slots  = 8 // numbers that Jobs may have
	calls  = 6 // requests in transit
	lag    = 8 // changes that a cache does not show yet
	perJob = 7 // Jobs that one number may have had
	plans  = 2 // that a process carries out at once
)

// An object is a Job at the API server. The zero value is none.
type object struct {
	uid      uint8 // from 1, for each number
	spec     uint8 // the version of the spec that it was made from
	finished bool
	deleting bool // a finalizer keeps it
	future   bool // the API server's clock was ahead when it was created
	foreign  bool // it belongs to somebody else, and no cache shows it
}

// A notice is a change of a Job that a watch reports. The zero value is none.
type notice struct {
	number uint8
	gone   bool
	listed bool // part of a list, which ends with the first notice that is not
	job    object
}

// A message is a request on its way, or its reply. The zero value is none.
type message struct {
	kind   messageKind
	number uint8
	job    object // of a delete: what the cache showed; of a create: its version
	by     uint8  // the writer
	plan   uint8  // of the writer
	phase  phase
	is     outcome // of the reply
	uid    uint8   // of the reply
	age    uint8   // in ticks since the client gave it up
}

type messageKind uint8

const (
	create messageKind = iota + 1
	ask
	askPruned
	remove // an outdated Job
	prune  // a finished Job
)

var kindNames = [...]string{"", "create", "get", "get pruned", "delete", "prune"}

// A phase is where a request is.
type phase uint8

const (
	waiting phase = iota // the client waits; the request has not been executed
	reading              // the name existed, and the client reads the Job
	replied              // the reply is on its way
	orphan               // the client has given it up; it may still be executed
	stopped              // the client was stopped before it sent the request
)

func (m *message) changes() bool { return m.kind == create || m.kind == remove || m.kind == prune }

// sent returns the message as it was sent.
func (m *message) sent() message {
	return message{kind: m.kind, number: m.number, job: m.job, by: m.by, plan: m.plan}
}

// rank orders messages.
func (m *message) rank() uint64 {
	r := uint64(0)
	for _, bit := range []bool{m.job.finished, m.job.deleting, m.job.future} {
		if r <<= 1; bit {
			r++
		}
	}
	for _, v := range []uint8{uint8(m.kind), m.number, m.job.uid, m.job.spec, m.by<<1 | m.plan, uint8(m.phase), uint8(m.is), m.uid, m.age} {
		r = r<<4 | uint64(v)
	}
	return r
}

// A budget is how many events of each kind may still happen.
type budget struct {
	finish, fault, restart, stop, external, finalizer, relist, retrack, edit, skew int8
}

// A world is a state of the model.
type world struct {
	jobs     [slots]object
	made     [slots]uint8 // Jobs that have had the number
	messages [calls]message
	notices  [2][lag]notice // what the cache of each writer does not show yet
	lives    [2]int32       // of each writer; 0 is none
	left     budget
	spec     uint8 // the version at the API server
	ahead    bool  // the API server's clock
	skewed   bool  // the writers' wall clock
	// excess is how many Jobs above the maximum the deletions of finished Jobs by others
	// account for.
	excess uint8
}

// changed tells each cache about a Job. It returns false if a bound is exceeded.
func (w *world) changed(number uint8, job object, gone bool) bool {
	for i := range w.notices {
		if w.lives[i] == 0 || job.foreign {
			continue
		}
		free := slices.Index(w.notices[i][:], notice{})
		if free < 0 {
			return false
		}
		w.notices[i][free] = notice{number: number, job: job, gone: gone}
	}
	return true
}

// shown returns the Jobs that a list has.
func (w *world) shown() (jobs [slots]object) {
	for i, job := range w.jobs {
		if !job.foreign {
			jobs[i] = job
		}
	}
	return jobs
}

func (w *world) update(number uint8, change func(*object)) bool {
	change(&w.jobs[number-1])
	return w.changed(number, w.jobs[number-1], false)
}

// removed removes a Job.
func (w *world) removed(number uint8) bool {
	job := w.jobs[number-1]
	w.jobs[number-1] = object{}
	return w.changed(number, job, true)
}

// add adds requests in transit. Their order has no meaning.
func (w *world) add(by uint8, sent ...message) bool {
	for _, m := range sent {
		m.by = by
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

// lose takes a message away.
func (w *world) lose(i int) {
	w.messages[i] = message{}
	w.sort()
}

// any reports whether there is a request of the kind in that phase.
func (w *world) any(kind messageKind, p phase) bool {
	return slices.ContainsFunc(w.messages[:], func(m message) bool { return m.kind == kind && m.phase == p })
}

func (w *world) writers() (n int) {
	for _, life := range w.lives {
		if life != 0 {
			n++
		}
	}
	return n
}

// canonical returns the same world for each order of the writers.
func (w *world) canonical() world {
	c := *w
	if c.lives[0] > c.lives[1] && c.lives[1] != 0 {
		c.lives[0], c.lives[1] = c.lives[1], c.lives[0]
		c.notices[0], c.notices[1] = c.notices[1], c.notices[0]
		for i := range c.messages {
			if c.messages[i].kind != 0 {
				c.messages[i].by ^= 1
			}
		}
		c.sort()
	}
	return c
}

// execute carries out the request at the API server, and notes its reply. hold lets a
// finalizer keep a Job that is deleted. execute returns false if a bound is exceeded.
// It mirrors call.send: a create whose name exists is followed by a read.
func (m *model) execute(w *world, i int, hold bool) bool {
	sent := &w.messages[i]
	job := &w.jobs[sent.number-1]
	switch {
	case sent.kind == create && sent.phase != reading && job.uid != 0:
		sent.phase = reading
		return true
	case sent.kind == create && sent.phase != reading:
		return m.created(w, sent)
	case sent.kind == create || sent.kind == ask:
		*sent = m.found(sent, *job)
		return true
	}
	late := sent.phase >= orphan || sent.age > 0
	sent.phase, sent.is = replied, accepted
	switch {
	case job.uid == 0 || job.uid != sent.job.uid && !m.broken.noPreconditions: // deleted already
		return true
	case sent.kind == askPruned || sent.kind == remove && *job != sent.job && !m.broken.noPreconditions:
		if !job.deleting {
			sent.is = none
			m.note(sent, "has changed")
		}
		return true
	case job.deleting:
		return true
	}
	if late {
		m.note(sent, "arrives late")
	}
	m.blame(sent, job)
	return m.deleted(w, sent.number, hold, m.deleter(w, sent, late))
}

func (m *model) created(w *world, sent *message) bool {
	made, late := &w.made[sent.number-1], sent.phase >= orphan
	if *made++; *made > perJob {
		return false
	}
	job := object{uid: *made, spec: sent.job.spec, future: w.ahead}
	w.jobs[sent.number-1] = job
	if late {
		m.note(sent, "arrives late")
	}
	sent.phase, sent.is, sent.uid = replied, accepted, *made
	return w.changed(sent.number, job, false)
}

// found returns the reply to a read.
func (m *model) found(sent *message, job object) message {
	reply := *sent
	reply.phase, reply.uid = replied, job.uid
	switch {
	case job.uid == 0:
		reply.is = none
	case job.finished, job.foreign:
		reply.is = taken
	default:
		reply.is = exists
	}
	m.note(sent, [...]string{none: "finds nothing", taken: "finds that the number is taken", exists: "finds an unfinished Job"}[reply.is])
	return reply
}

// blame checks that the Job may be deleted.
func (m *model) blame(sent *message, job *object) {
	switch {
	case sent.kind == remove && job.finished:
		m.problem = fmt.Sprintf("Job %d has finished, and is deleted as outdated", sent.number)
	case sent.kind == remove && job.uid != sent.job.uid:
		m.problem = fmt.Sprintf("Job %d is another one than the outdated", sent.number)
	case sent.kind == prune && !job.finished:
		m.problem = fmt.Sprintf("Job %d has not finished, and is pruned", sent.number)
	}
}

// A deleter is who deletes a Job.
type deleter uint8

const (
	itself       deleter = iota // the only process that acts
	external                    // such as a user, or the TTL controller
	finalizing                  // who removes a finalizer
	earlier                     // a process that has ended, whose delete arrives late
	secondWriter                // one of two processes that act
)

func (m *model) deleter(w *world, sent *message, late bool) deleter {
	switch {
	case late:
		return earlier
	case w.writers() > 1 && !m.broken.anyLease, w.any(create, stopped):
		return secondWriter
	}
	return itself
}

// deleted deletes a Job, now or when its finalizer is removed. Each number that others
// make free so accounts for one Job above the maximum.
func (m *model) deleted(w *world, number uint8, hold bool, by deleter) bool {
	if hold {
		w.left.finalizer--
		return w.update(number, func(o *object) { o.deleting = true })
	}
	if job := w.jobs[number-1]; (job.finished || job.foreign) && by != itself && by != m.broken.uncounted {
		w.excess++
	}
	return w.removed(number)
}
