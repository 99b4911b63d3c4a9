package adapter

import (
	"fmt"
	"slices"
)

// An event is a transition of the model. The zero value is a poll.
type event struct {
	kind   eventKind
	writer uint8
	number uint8
	value  uint8
	sent   message
}

type eventKind uint8

const (
	polls eventKind = iota
	executes
	serves
	replies
	timesOut
	refuses
	shows
	catchesUp
	relists
	tracks
	retracks
	restarts
	stops
	edits
	ages
	finishes
	deletes
	finalizes
	setsClock
	setsWall
	eventKinds
)

var eventNames = [eventKinds]string{
	"poll", "execute", "answer at once", "answer", "time out", "refuse", "show a change", "show everything", "list anew", "see the edit",
	"untrack and track", "restart", "stop and restart", "edit", "L passes", "finish", "delete from outside", "remove the finalizer",
	"set the API server's clock", "set the writers' wall clock",
}

func (e event) String() string {
	s := eventNames[e.kind]
	switch e.kind {
	case polls:
		return fmt.Sprintf("writer %d: poll for %d Jobs", e.writer, e.value)
	case executes, serves, replies, timesOut, refuses:
		s = fmt.Sprintf("writer %d: %s %s %d", e.sent.by, s, kindNames[e.sent.kind], e.sent.number)
		if e.sent.phase >= orphan {
			s += ", late"
		}
		if e.value > 0 {
			s += ", a finalizer holds the Job"
		}
	case shows, catchesUp, relists, tracks, retracks, restarts, stops:
		s = fmt.Sprintf("writer %d: %s", e.writer, s)
	case finishes, deletes, finalizes:
		s += fmt.Sprintf(" Job %d", e.number)
	}
	return s
}

// each calls try with each event that may happen, and what it does to a world. The
// event cannot happen if that returns false: a bound of the model is exceeded.
func (m *model) each(from *world, try try) {
	for i := range uint8(2) {
		if from.lives[i] != 0 {
			m.eachOfWriter(from, i, try)
		}
	}
	for i := range from.messages {
		if from.messages[i].kind != 0 {
			m.eachOfMessage(from, i, try)
		}
	}
	for i := range uint8(slots) {
		if from.jobs[i].uid != 0 {
			m.eachOfJob(from, i+1, try)
		}
	}
	if !m.awaits(from) {
		try(event{kind: ages}, m.tick)
	}
	if from.left.edit > 0 && int(from.spec)+1 < len(m.targets) {
		try(event{kind: edits}, func(w *world) bool { w.left.edit, w.spec = w.left.edit-1, w.spec+1; return true })
	}
	if from.left.skew > 0 {
		try(event{kind: setsClock}, func(w *world) bool { w.left.skew, w.ahead = w.left.skew-1, !w.ahead; return true })
		try(event{kind: setsWall}, func(w *world) bool { w.left.skew, w.skewed = w.left.skew-1, !w.skewed; return true })
	}
}

type try = func(event, func(*world) bool)

// after returns the world after an event, and whether the event can happen. m.problem
// is the promise that it breaks.
func (m *model) after(from *world, do func(*world) bool) (w world, ok bool) {
	w, m.problem, m.fed = *from, "", m.fed[:0]
	if ok = do(&w); !ok {
		m.cut++
		return w, false
	}
	m.settle(&w)
	m.check(&w)
	return w, true
}

func (m *model) eachOfWriter(from *world, i uint8, try try) {
	life := m.life(from, i)
	if life.facts.plans < m.plans && (i == 0 || !m.broken.anyLease) {
		for _, demand := range m.demands {
			try(event{kind: polls, writer: i, value: demand}, func(w *world) bool { return m.poll(w, i, demand) })
		}
	}
	if from.notices[i][0] != (notice{}) {
		try(event{kind: shows, writer: i}, func(w *world) bool { return m.show(w, i, 1) })
	}
	if from.notices[i][1] != (notice{}) {
		try(event{kind: catchesUp, writer: i}, func(w *world) bool { return m.show(w, i, lag) })
	}
	if from.left.relist > 0 && from.notices[i][1] != (notice{}) {
		try(event{kind: relists, writer: i}, func(w *world) bool { w.left.relist--; return m.relist(w, i) })
	}
	for spec := life.spec + 1; spec <= from.spec; spec++ {
		try(event{kind: tracks, writer: i, value: spec}, func(w *world) bool {
			return m.feed(w, i, input{kind: track, spec: spec})
		})
	}
	if from.left.retrack > 0 {
		try(event{kind: retracks, writer: i}, func(w *world) bool {
			w.left.retrack--
			return m.feed(w, i, input{kind: retrack, spec: life.spec})
		})
	}
	m.eachRestart(from, i, try)
}

func (m *model) eachRestart(from *world, i uint8, try try) {
	for spec := max(1, from.spec) - 1; spec <= from.spec; spec++ {
		if from.left.restart > 0 {
			try(event{kind: restarts, writer: i, value: spec}, func(w *world) bool {
				w.left.restart--
				return m.restart(w, i, spec, orphan)
			})
		}
		if from.left.stop > 0 {
			try(event{kind: stops, writer: i, value: spec}, func(w *world) bool {
				w.left.stop--
				return m.restart(w, i, spec, stopped)
			})
		}
	}
}

func (m *model) eachOfMessage(from *world, i int, try try) {
	sent := from.messages[i]
	for hold := range uint8(2) {
		if hold > 0 && (from.left.finalizer == 0 || sent.kind != remove && sent.kind != prune || sent.phase == replied) {
			break
		}
		switch sent.phase {
		case orphan, stopped:
			try(event{kind: executes, sent: sent, value: hold}, func(w *world) bool {
				ok := m.execute(w, i, hold > 0)
				w.lose(i)
				return ok
			})
		case waiting, reading:
			try(event{kind: executes, sent: sent, value: hold}, func(w *world) bool {
				ok := m.execute(w, i, hold > 0)
				w.sort()
				return ok
			})
			try(event{kind: serves, sent: sent, value: hold}, func(w *world) bool { return m.serve(w, i, hold > 0) })
		case replied:
			try(event{kind: replies, sent: sent}, func(w *world) bool { return m.reply(w, i) })
		}
	}
	if from.left.fault == 0 || sent.phase >= orphan {
		return
	}
	try(event{kind: timesOut, sent: sent}, func(w *world) bool { w.left.fault--; return m.timeOut(w, i) })
	if sent.phase == waiting && sent.changes() {
		try(event{kind: refuses, sent: sent}, func(w *world) bool {
			w.left.fault--
			w.messages[i].is = none
			return m.reply(w, i)
		})
	}
}

func (m *model) eachOfJob(from *world, number uint8, try try) {
	job := from.jobs[number-1]
	if !job.finished && !job.foreign && from.left.finish > 0 {
		try(event{kind: finishes, number: number}, func(w *world) bool {
			w.left.finish--
			return w.update(number, func(o *object) { o.finished = true })
		})
	}
	if !job.deleting && from.left.external > 0 {
		try(event{kind: deletes, number: number}, func(w *world) bool {
			w.left.external--
			return m.deleted(w, number, false, external)
		})
	}
	if job.deleting {
		try(event{kind: finalizes, number: number}, func(w *world) bool { return m.deleted(w, number, false, finalizing) })
	}
}

func (m *model) life(w *world, writer uint8) *life { return m.lives.all[w.lives[writer]] }

// feed gives an input to the life of a writer, and sends what it sends.
func (m *model) feed(w *world, writer uint8, in input) bool {
	in.life = w.lives[writer]
	if m.broken.avoids {
		in.avoid = m.used(w)
	}
	m.fed = append(m.fed, fed{writer, in})
	out := m.lives.step(in)
	if out.problem != "" {
		m.problem = out.problem
	}
	w.lives[writer] = out.life
	return !slices.ContainsFunc(out.sent, func(s message) bool { return s.number > slots }) && w.add(writer, out.sent...)
}

// used returns a bit for each number that a Job has had or is to have.
func (m *model) used(w *world) (bits uint8) {
	for n, made := range w.made {
		if made > 0 {
			bits |= 1 << n
		}
	}
	for _, sent := range w.messages {
		if sent.kind == create {
			bits |= 1 << (sent.number - 1)
		}
	}
	return bits
}

func (m *model) poll(w *world, writer, demand uint8) bool {
	return m.feed(w, writer, input{kind: poll, demand: demand, skewed: w.skewed})
}

// show lets the cache of a writer show its next n changes. A list is shown as a whole.
func (m *model) show(w *world, writer uint8, n int) bool {
	feed, in := &w.notices[writer], input{kind: show}
	for n < lag && feed[n-1].listed {
		n++
	}
	copy(in.notices[:n], feed[:n])
	rest := *feed
	*feed = [lag]notice{}
	copy(feed[:], rest[n:])
	return m.feed(w, writer, in)
}

// relist cuts the watch of a writer. A list replaces the changes that it did not show.
func (m *model) relist(w *world, writer uint8) bool {
	var list []notice
	view, shown := m.life(w, writer).view, w.shown()
	for i, job := range view {
		if job.uid != 0 && shown[i].uid == 0 {
			list = append(list, notice{number: uint8(i + 1), job: job, gone: true})
		}
	}
	for i, job := range shown {
		if job.uid != 0 && view[i] != job {
			list = append(list, notice{number: uint8(i + 1), job: job})
		}
	}
	for i := range list[:max(1, len(list))-1] {
		list[i].listed = !m.broken.partialList
	}
	w.notices[writer] = [lag]notice{}
	return copy(w.notices[writer][:], list) == len(list)
}

// restart ends a life and begins another. Requests of the old one that were not
// executed stay in transit; its memory is lost.
func (m *model) restart(w *world, writer, spec uint8, then phase) bool {
	in := input{kind: start, spec: spec, view: w.shown()}
	switch old := w.lives[writer]; {
	case old == 0:
	case m.broken.anyLease && w.lives[1] == 0:
		w.lives[1], w.notices[1] = old, w.notices[0]
		for i := range w.messages {
			if w.messages[i].kind != 0 && w.messages[i].phase < orphan {
				w.messages[i].by, w.messages[i].age = 1, 1
			}
		}
	default:
		if !m.feed(w, writer, input{kind: depose}) {
			return false
		}
		m.abandon(w, writer, then)
	}
	if w.lives[writer] != 0 && m.broken.oldList {
		in.view = m.life(w, writer).view
	} else {
		w.notices[writer] = [lag]notice{}
	}
	w.sort()
	return m.feed(w, writer, in)
}

// abandon leaves the requests of a writer in transit.
func (m *model) abandon(w *world, writer uint8, then phase) {
	for i := range w.messages {
		switch sent := &w.messages[i]; {
		case sent.by != writer || sent.phase >= orphan:
		case sent.phase == waiting && sent.changes():
			*sent = sent.sent()
			sent.phase, sent.plan = then, 0
		default:
			*sent = message{}
		}
	}
}

// serve executes a request and answers it.
func (m *model) serve(w *world, i int, hold bool) bool {
	for w.messages[i].phase != replied {
		if !m.execute(w, i, hold) {
			return false
		}
	}
	return m.reply(w, i)
}

func (m *model) reply(w *world, i int) bool {
	sent := w.messages[i]
	w.lose(i)
	return m.feed(w, sent.by, input{kind: answer, sent: sent.sent(), is: sent.is, uid: sent.uid})
}

// timeOut lets the client give up: the request may still be executed, or the reply is
// lost.
func (m *model) timeOut(w *world, i int) bool {
	sent := w.messages[i]
	if w.messages[i] = (message{}); sent.phase == waiting && sent.changes() {
		w.messages[i] = sent.sent()
		w.messages[i].phase, w.messages[i].plan = orphan, 0
	}
	w.sort()
	return m.feed(w, sent.by, input{kind: answer, sent: sent.sent(), is: unanswered})
}

// awaits reports whether a client waits: calls return before L has passed.
func (m *model) awaits(w *world) bool {
	return slices.ContainsFunc(w.messages[:], func(s message) bool {
		return s.kind != 0 && s.phase < orphan && (s.by == 0 || !m.broken.anyLease)
	})
}

// tick lets time pass. After L a request that was given up arrives no more.
func (m *model) tick(w *world) bool {
	for i := range w.messages {
		sent := &w.messages[i]
		if sent.phase != orphan || m.anyAge {
			continue
		}
		if sent.age++; int(sent.age) >= m.ticks {
			*sent = message{}
		}
	}
	w.sort()
	for i := range uint8(2) {
		if w.lives[i] != 0 && !m.feed(w, i, input{kind: tick}) {
			return false
		}
	}
	return true
}
