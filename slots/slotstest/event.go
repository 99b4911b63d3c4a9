package slotstest

import (
	"fmt"

	"github.com/scaledjob/scaledjob/slots"
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
	learns
	restarts
	warms
	ends
	stops
	edits
	ages
	finishes
	deletes
	finalizes
	eventKinds
)

var eventNames = [eventKinds]string{
	"poll", "execute", "answer at once", "answer", "time out", "refuse", "show a change",
	"show everything", "list anew", "see the edit", "kill and restart", "kill; a warm standby leads", "end in order and restart",
	"stop before sending and restart", "edit", "a part of L passes", "finish", "delete from outside", "remove the finalizer",
}

func (e event) String() string {
	s := eventNames[e.kind]
	switch e.kind {
	case polls:
		return fmt.Sprintf("process %d: poll for %d", e.writer, e.value)
	case executes, serves, replies, timesOut, refuses:
		s = fmt.Sprintf("process %d: %s %s %d", e.sent.process, s, verbs[e.sent.kind], e.sent.number)
		if e.sent.phase >= orphan {
			s += ", late"
		}
		if e.value > 0 {
			s += ", a finalizer holds the object"
		}
	case shows, catchesUp, relists, learns, restarts, warms, ends, stops:
		s = fmt.Sprintf("process %d: %s", e.writer, s)
	case finishes, deletes, finalizes:
		s += fmt.Sprintf(": %d", e.number)
	}
	return s
}

type try = func(event, func(*system) bool)

// forEach calls try with each event that may happen, and what it does to a system. The
// event cannot happen if that returns false: a bound of the model is exceeded.
func (m *model) forEach(from *system, try try) {
	for i := range uint8(2) {
		if from.lives[i] != 0 {
			m.eachOfProcess(from, i, try)
		}
	}
	for i := range from.messages {
		if from.messages[i].used {
			m.eachOfMessage(from, i, try)
		}
	}
	for i := range uint8(maxNumber) {
		if from.objects[i].uid != 0 {
			m.eachOfObject(from, i+1, try)
		}
	}
	if !m.awaits(from) {
		try(event{kind: ages}, m.tick)
	}
	if from.budget.Edit > 0 && int(from.spec)+1 < len(m.Max) {
		try(event{kind: edits}, func(w *system) bool { w.budget.Edit, w.spec = w.budget.Edit-1, w.spec+1; return true })
	}
}

func (m *model) idle(w *system, i uint8) bool {
	return !w.contains(func(m *message) bool { return m.process == i && m.phase < orphan })
}

func (m *model) eachOfProcess(from *system, i uint8, try try) {
	spec := m.lives.list[from.lives[i]].spec
	if busy := !m.idle(from, i); !busy || from.budget.Overlap > 0 {
		for _, demand := range m.Demands {
			try(event{kind: polls, writer: i, value: demand}, func(w *system) bool {
				if busy {
					w.budget.Overlap--
				}
				return m.poll(w, i, demand)
			})
		}
	}
	if from.lists[i].used || from.notices[i][0] != (notice{}) {
		try(event{kind: shows, writer: i}, func(w *system) bool { return m.show(w, i, 1) })
	}
	if from.notices[i][0] != (notice{}) && (from.lists[i].used || from.notices[i][1] != (notice{})) {
		try(event{kind: catchesUp, writer: i}, func(w *system) bool { return m.show(w, i, maxLag) })
	}
	if from.budget.Relist > 0 && from.notices[i][0] != (notice{}) {
		try(event{kind: relists, writer: i}, func(w *system) bool {
			w.budget.Relist--
			w.lists[i], w.notices[i] = w.snapshot(), [maxLag]notice{}
			return true
		})
	}
	if spec < from.spec {
		try(event{kind: learns, writer: i}, func(w *system) bool { return m.feed(w, i, input{kind: edit, spec: w.spec}) })
	}
	m.eachRestart(from, i, try)
}

func (m *model) eachRestart(from *system, i uint8, try try) {
	if from.budget.Restart > 0 {
		try(event{kind: restarts, writer: i}, func(w *system) bool { w.budget.Restart--; return m.restart(w, i, orphan, false) })
	}
	if from.budget.Stop > 0 {
		try(event{kind: stops, writer: i}, func(w *system) bool { w.budget.Stop--; return m.restart(w, i, stopped, false) })
	}
	if from.budget.Warm > 0 {
		try(event{kind: warms, writer: i}, func(w *system) bool { w.budget.Warm--; return m.restart(w, i, orphan, true) })
	}
	if from.budget.End > 0 && m.idle(from, i) {
		try(event{kind: ends, writer: i}, func(w *system) bool {
			w.budget.End--
			w.marked = w.marked && !m.lives.settled[w.lives[i]]
			return m.restart(w, i, orphan, false)
		})
	}
}

func (m *model) eachOfMessage(from *system, i int, try try) {
	sent := from.messages[i]
	for hold := range uint8(2) {
		if hold > 0 && (from.budget.Hold == 0 || sent.kind != toDelete || sent.phase == replied) {
			break
		}
		switch sent.phase {
		case orphan, stopped:
			if _, never := m.fault(&sent); never {
				break
			}
			try(event{kind: executes, sent: sent, value: hold}, func(w *system) bool {
				ok := m.execute(w, i, hold > 0)
				w.lose(i)
				return ok
			})
		case waiting, reading:
			if _, never := m.fault(&sent); !never && sent.number > 0 {
				try(event{kind: executes, sent: sent, value: hold}, func(w *system) bool {
					ok := m.execute(w, i, hold > 0)
					w.sort()
					return ok
				})
			}
			try(event{kind: serves, sent: sent, value: hold}, func(w *system) bool { return m.serve(w, i, hold > 0) })
		case replied:
			try(event{kind: replies, sent: sent}, func(w *system) bool { return m.reply(w, i) })
		}
	}
	if from.budget.Fault == 0 || sent.phase >= orphan || sent.kind == toList {
		return
	}
	if _, never := m.fault(&sent); never {
		return
	}
	try(event{kind: timesOut, sent: sent}, func(w *system) bool { w.budget.Fault--; return m.timeOut(w, i) })
	if sent.phase == waiting && sent.changes() {
		try(event{kind: refuses, sent: sent}, func(w *system) bool {
			w.budget.Fault--
			w.messages[i].result = slots.Refused
			return m.reply(w, i)
		})
	}
}

// fault returns the reply that the request always gets.
func (m *model) fault(sent *message) (slots.Result, bool) {
	for _, f := range m.Faults {
		if f.Verb == verbs[sent.kind] && (f.Number == 0 || f.Number == sent.number) {
			return f.Result, true
		}
	}
	return 0, false
}

func (m *model) eachOfObject(from *system, number uint8, try try) {
	o := from.objects[number-1]
	if !o.finished && !o.foreign && from.budget.Finish > 0 {
		try(event{kind: finishes, number: number}, func(w *system) bool {
			w.budget.Finish--
			return w.update(number, func(o *object) { o.finished = true })
		})
	}
	if !o.deleting && from.budget.External > 0 {
		try(event{kind: deletes, number: number}, func(w *system) bool {
			w.budget.External--
			return m.deleted(w, number, false, false)
		})
	}
	if o.deleting {
		try(event{kind: finalizes, number: number}, func(w *system) bool { return m.deleted(w, number, false, false) })
	}
}

// feed gives an input to the life of a process, and sends what it sends.
func (m *model) feed(w *system, i uint8, in input) bool {
	in.life = w.lives[i]
	out := m.lives.step(in)
	w.lives[i] = out.life
	for _, sent := range out.sent {
		if sent.number > maxNumber {
			return false
		}
		sent.process = i
		if !w.add(sent) {
			return false
		}
	}
	return true
}

func (m *model) poll(w *system, i, demand uint8) bool {
	return m.feed(w, i, input{kind: poll, demand: demand})
}

// show lets the observation of a process show its next n changes. A list is one change.
func (m *model) show(w *system, i uint8, n int) bool {
	notices, in := &w.notices[i], input{kind: show, list: w.lists[i]}
	if w.lists[i].used {
		n--
	}
	w.lists[i] = list{}
	copy(in.changes[:n], notices[:n])
	remaining := *notices
	*notices = [maxLag]notice{}
	copy(notices[:], remaining[n:])
	return m.feed(w, i, in)
}

// begin begins a life with what it has read.
func (m *model) begin(w *system, i, spec uint8, warm bool, read list) bool {
	in := input{kind: start, spec: spec, warm: warm, marked: w.marked, list: read}
	return m.feed(w, i, in)
}

// restart ends a life and begins another. Requests of the old life that were not executed
// stay in transit; its memory is lost. A warm life has the observation of before.
func (m *model) restart(w *system, i uint8, next phase, warm bool) bool {
	for n := range w.messages {
		switch sent := &w.messages[n]; {
		case !sent.used || sent.process != i:
		case sent.phase >= orphan:
			sent.dead = true
		case sent.phase == waiting && sent.changes():
			*sent = sent.inTransit(next)
			sent.dead = true
		default:
			*sent = message{}
		}
	}
	w.sort()
	if warm {
		w.lists[i].age = max(w.lists[i].age, 1) // it began before the term
		if !w.lists[i].used {
			w.lists[i].age = 0
		}
		return m.begin(w, i, w.spec, true, list{used: true, objects: m.lives.list[w.lives[i]].view})
	}
	w.lists[i], w.notices[i] = list{}, [maxLag]notice{}
	return m.begin(w, i, w.spec, false, w.snapshot())
}

// serve executes a request and answers it.
func (m *model) serve(w *system, i int, hold bool) bool {
	if result, always := m.fault(&w.messages[i]); always {
		w.messages[i].result = result
		return m.reply(w, i)
	}
	for w.messages[i].phase != replied {
		if !m.execute(w, i, hold) {
			return false
		}
	}
	return m.reply(w, i)
}

func (m *model) reply(w *system, i int) bool {
	sent := w.messages[i]
	w.lose(i)
	return m.feed(w, sent.process, input{kind: answer, sent: sent.request(), reply: sent.result, found: sent.found})
}

// timeOut lets the client give up: the request may still be executed, or the reply is lost.
func (m *model) timeOut(w *system, i int) bool {
	sent := w.messages[i]
	if w.messages[i] = (message{}); sent.phase == waiting && sent.changes() {
		w.messages[i] = sent.inTransit(orphan)
	}
	w.sort()
	return m.feed(w, sent.process, input{kind: answer, sent: sent.request(), reply: slots.Unanswered})
}

// awaits reports whether a client waits that has to give up before more time passes: a call
// returns after half of L at the latest.
func (m *model) awaits(w *system) bool {
	return w.contains(func(s *message) bool { return s.phase < orphan && int(s.age) >= m.ticks()/2 })
}

// tick lets time pass. After its lifetime a request that was given up arrives no more.
func (m *model) tick(w *system) bool {
	for i := range w.messages {
		sent := &w.messages[i]
		if !sent.used || sent.phase == stopped {
			continue
		}
		sent.age = min(sent.age+1, maxAge)
		if sent.phase == orphan && int(sent.age) >= m.lifetime() {
			*sent = message{}
		}
	}
	w.sort()
	for i := range uint8(2) {
		if w.lists[i].used {
			w.lists[i].age = min(w.lists[i].age+1, uint8(m.ticks())+1)
		}
		if w.lives[i] != 0 && !m.feed(w, i, input{kind: tick}) {
			return false
		}
	}
	return true
}

// calm returns what happens next when faults, except for lasting faults, have stopped:
// requests are answered, observations catch up, L passes, processes poll in turn, and items
// are worked on.
func (m *model) calm(w *system, turn int) (event, func(*system) bool) {
	for i, sent := range w.messages {
		if sent.used && sent.phase < orphan {
			return event{kind: serves, sent: sent}, func(w *system) bool { return m.serve(w, i, false) }
		}
	}
	for i := range uint8(2) {
		switch {
		case w.lives[i] == 0:
		case w.lists[i].used || w.notices[i][0] != (notice{}):
			return event{kind: catchesUp, writer: i}, func(w *system) bool { return m.show(w, i, maxLag) }
		case m.lives.list[w.lives[i]].spec != w.spec:
			return event{kind: learns, writer: i}, func(w *system) bool { return m.feed(w, i, input{kind: edit, spec: w.spec}) }
		}
	}
	for i, o := range w.objects {
		number := uint8(i + 1)
		switch {
		case o.deleting && !o.finished:
			return event{kind: finalizes, number: number}, func(w *system) bool { return m.deleted(w, number, false, false) }
		}
	}
	writer := uint8(turn / 2 % m.Writers)
	if turn%2 == 0 {
		return event{kind: ages}, m.tick
	}
	return event{kind: polls, writer: writer, value: m.demand()}, func(w *system) bool { return m.poll(w, writer, m.demand()) }
}

func (m *model) demand() uint8 {
	if len(m.Demands) > 0 {
		return m.Demands[0]
	}
	return 0
}

// served reports whether the objects that serve the demand exist. Creates that are never
// answered take capacity.
func (m *model) served(w *system) bool {
	if w.contains(func(s *message) bool { return s.phase < orphan }) {
		return false
	}
	want, n := min(int64(m.demand()), m.Max[w.spec]), int64(0)
	for _, f := range m.Faults {
		switch {
		case f.Verb == "read":
			return true
		case f.Verb == "create" && f.Number == 0:
			return true
		case f.Verb == "create" && f.Result == slots.Unanswered:
			want--
		}
	}
	for _, o := range w.objects {
		if o.uid != 0 && !o.finished && !o.deleting && !o.foreign {
			n++
		}
	}
	return n >= want
}

// mostTurns are the polls and periods of L that may pass until the demand is served.
const mostTurns = 60

// live checks that the demand is served in the end. It returns what happens until then,
// or until a promise is broken: m.problem. isServed reports the states from which the
// demand is served.
func (m *model) live(from system, isServed func(*system) bool) (steps []event) {
	m.problem = ""
	for w, turn := from, 0; !isServed(&w) && !m.served(&w); {
		if turn > mostTurns || len(steps) > 40*mostTurns {
			m.problem = "the demand is never served"
			return steps
		}
		e, do := m.calm(&w, turn)
		if e.kind == polls || e.kind == ages {
			turn++
		}
		steps = append(steps, e)
		next, ok := m.after(&w, do)
		if w = next; !ok || m.problem != "" {
			return steps
		}
	}
	return steps
}
