package slotstest

import (
	"fmt"
	"slices"

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
	asks
	lists
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
	consumes
	returns
	eventKinds
)

var eventNames = [eventKinds]string{
	"poll", "ask the source", "the source lists its items", "execute", "answer at once", "answer", "time out", "refuse", "show a change",
	"show everything", "list anew", "see the edit", "kill and restart", "kill; a warm standby leads", "end in order and restart",
	"stop before sending and restart", "edit", "a part of L passes", "finish", "delete from outside", "remove the finalizer",
	"take from the source", "come back to the source",
}

func (e event) String() string {
	s := eventNames[e.kind]
	switch e.kind {
	case polls:
		return fmt.Sprintf("process %d: poll for %d", e.writer, e.value)
	case executes, serves, replies, timesOut, refuses:
		s = fmt.Sprintf("process %d: %s %s %d", e.sent.by, s, verbs[e.sent.kind], e.sent.number)
		if e.sent.phase >= orphan {
			s += ", late"
		}
		if e.value > 0 {
			s += ", a finalizer holds the object"
		}
	case shows, catchesUp, relists, learns, restarts, warms, ends, stops, asks:
		s = fmt.Sprintf("process %d: %s", e.writer, s)
	case finishes, deletes, finalizes, consumes, returns:
		s += fmt.Sprintf(": %d", e.number)
	}
	return s
}

type try = func(event, func(*world) bool)

// each calls try with each event that may happen, and what it does to a world. The
// event cannot happen if that returns false: a bound of the model is exceeded.
func (m *model) each(from *world, try try) {
	for i := range uint8(2) {
		if from.lives[i] != 0 {
			m.eachOfProcess(from, i, try)
		}
	}
	for i := range from.messages {
		if from.messages[i].is {
			m.eachOfMessage(from, i, try)
		}
	}
	for i := range uint8(most) {
		if from.objects[i].uid != 0 {
			m.eachOfObject(from, i+1, try)
		}
	}
	if m.Keyed {
		m.eachOfSource(from, try)
	}
	if !m.awaits(from) {
		try(event{kind: ages}, m.tick)
	}
	if from.left.Edit > 0 && int(from.spec)+1 < len(m.Max) {
		try(event{kind: edits}, func(w *world) bool { w.left.Edit, w.spec = w.left.Edit-1, w.spec+1; return true })
	}
}

func (m *model) idle(w *world, i uint8) bool {
	return !w.any(func(m *message) bool { return m.by == i && m.phase < orphan })
}

func (m *model) eachOfProcess(from *world, i uint8, try try) {
	spec := m.lives.all[from.lives[i]].spec
	switch {
	case m.Keyed && from.list.phase == 0:
		try(event{kind: asks, writer: i}, func(w *world) bool { w.list.phase = 1; return m.feed(w, i, input{kind: ask}) })
	case !m.idle(from, i):
	case !m.Keyed:
		for _, demand := range m.Demands {
			try(event{kind: polls, writer: i, value: demand}, func(w *world) bool { return m.poll(w, i, demand) })
		}
	case from.list.phase == 2:
		try(event{kind: polls, writer: i}, func(w *world) bool { return m.poll(w, i, 0) })
	}
	if from.lists[i].is || from.notices[i][0] != (notice{}) {
		try(event{kind: shows, writer: i}, func(w *world) bool { return m.show(w, i, 1) })
	}
	if from.notices[i][0] != (notice{}) && (from.lists[i].is || from.notices[i][1] != (notice{})) {
		try(event{kind: catchesUp, writer: i}, func(w *world) bool { return m.show(w, i, lag) })
	}
	if from.left.Relist > 0 && from.notices[i][0] != (notice{}) {
		try(event{kind: relists, writer: i}, func(w *world) bool {
			w.left.Relist--
			w.lists[i], w.notices[i] = w.snapshot(), [lag]notice{}
			return true
		})
	}
	if spec < from.spec {
		try(event{kind: learns, writer: i}, func(w *world) bool { return m.feed(w, i, input{kind: edit, spec: w.spec}) })
	}
	m.eachRestart(from, i, try)
}

func (m *model) eachRestart(from *world, i uint8, try try) {
	if from.left.Restart > 0 {
		try(event{kind: restarts, writer: i}, func(w *world) bool { w.left.Restart--; return m.restart(w, i, orphan, false) })
	}
	if from.left.Stop > 0 {
		try(event{kind: stops, writer: i}, func(w *world) bool { w.left.Stop--; return m.restart(w, i, stopped, false) })
	}
	if from.left.Warm > 0 {
		try(event{kind: warms, writer: i}, func(w *world) bool { w.left.Warm--; return m.restart(w, i, orphan, true) })
	}
	if from.left.End > 0 && m.idle(from, i) {
		try(event{kind: ends, writer: i}, func(w *world) bool {
			w.left.End--
			settled := m.lives.settled[w.lives[i]]
			w.aside = w.aside && !settled
			w.clean = settled && !w.aside
			return m.restart(w, i, orphan, false)
		})
	}
}

// list lets the source answer. It notes the items whose objects have finished: these may run again.
func (m *model) list(w *world) bool {
	w.list = source{2, w.listed}
	for i := range uint8(m.width()) {
		w.again[i] = w.again[i] || m.Retries > 0 && w.listed[i] && w.latest(i, m.width()).finished
	}
	return true
}

// eachOfSource lets the source list its items, and lose items of finished objects.
func (m *model) eachOfSource(from *world, try try) {
	if from.list.phase == 1 {
		try(event{kind: lists}, m.list)
	}
	for i := range uint8(m.width()) {
		o := from.latest(i, m.width())
		if from.listed[i] && (o.finished || o.uid != 0 && from.left.Return > 0) {
			try(event{kind: consumes, number: i + 1}, func(w *world) bool { w.listed[i] = false; return true })
		}
		if !from.listed[i] && from.left.Return > 0 && o.uid != 0 && !o.finished {
			try(event{kind: returns, number: i + 1}, func(w *world) bool { w.left.Return--; w.listed[i] = true; return true })
		}
	}
}

func (m *model) eachOfMessage(from *world, i int, try try) {
	sent := from.messages[i]
	for hold := range uint8(2) {
		if hold > 0 && (from.left.Hold == 0 || sent.kind != toDelete || sent.phase == replied) {
			break
		}
		switch sent.phase {
		case orphan, stopped:
			if _, never := m.fault(&sent); never {
				break
			}
			try(event{kind: executes, sent: sent, value: hold}, func(w *world) bool {
				ok := m.execute(w, i, hold > 0)
				w.lose(i)
				return ok
			})
		case waiting, reading:
			if _, never := m.fault(&sent); !never && sent.number > 0 {
				try(event{kind: executes, sent: sent, value: hold}, func(w *world) bool {
					ok := m.execute(w, i, hold > 0)
					w.sort()
					return ok
				})
			}
			try(event{kind: serves, sent: sent, value: hold}, func(w *world) bool { return m.serve(w, i, hold > 0) })
		case replied:
			try(event{kind: replies, sent: sent}, func(w *world) bool { return m.reply(w, i) })
		}
	}
	if from.left.Fault == 0 || sent.phase >= orphan || sent.kind == toList {
		return
	}
	if _, never := m.fault(&sent); never {
		return
	}
	try(event{kind: timesOut, sent: sent}, func(w *world) bool { w.left.Fault--; return m.timeOut(w, i) })
	if sent.phase == waiting && sent.changes() {
		try(event{kind: refuses, sent: sent}, func(w *world) bool {
			w.left.Fault--
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

func (m *model) eachOfObject(from *world, number uint8, try try) {
	o := from.objects[number-1]
	if !o.finished && !o.foreign && from.left.Finish > 0 {
		try(event{kind: finishes, number: number}, func(w *world) bool {
			w.left.Finish--
			return w.update(number, func(o *object) { o.finished = true })
		})
	}
	if !o.deleting && from.left.External > 0 && !(m.Keyed && from.listed[int(number-1)%m.width()]) {
		try(event{kind: deletes, number: number}, func(w *world) bool {
			w.left.External--
			return m.deleted(w, number, false, false)
		})
	}
	if o.deleting {
		try(event{kind: finalizes, number: number}, func(w *world) bool { return m.deleted(w, number, false, false) })
	}
}

// feed gives an input to the life of a process, and sends what it sends.
func (m *model) feed(w *world, i uint8, in input) bool {
	in.life = w.lives[i]
	out := m.lives.step(in)
	w.lives[i] = out.life
	for _, sent := range out.sent {
		if sent.number > most {
			return false
		}
		sent.by = i
		if !w.add(sent) {
			return false
		}
	}
	return true
}

func (m *model) poll(w *world, i, demand uint8) bool {
	in := input{kind: poll, demand: demand, items: w.list.items}
	w.list = source{}
	return m.feed(w, i, in)
}

// show lets the observation of a process show its next n changes. A list is one change.
func (m *model) show(w *world, i uint8, n int) bool {
	notices, in := &w.notices[i], input{kind: show, list: w.lists[i]}
	if w.lists[i].is {
		n--
	}
	w.lists[i] = list{}
	copy(in.shown[:n], notices[:n])
	rest := *notices
	*notices = [lag]notice{}
	copy(notices[:], rest[n:])
	return m.feed(w, i, in)
}

// begin begins a life with what it has read.
func (m *model) begin(w *world, i, spec uint8, warm bool, shown list) bool {
	in := input{kind: start, spec: spec, warm: warm, clean: w.clean, aside: w.aside, list: shown}
	w.clean = false // taken with the lease
	return m.feed(w, i, in)
}

// restart ends a life and begins another. Requests of the old life that were not executed
// stay in transit; its memory is lost. A warm life has the observation of before.
func (m *model) restart(w *world, i uint8, then phase, warm bool) bool {
	for n := range w.messages {
		switch sent := &w.messages[n]; {
		case !sent.is || sent.by != i:
		case sent.phase >= orphan:
			sent.ended = true
		case sent.phase == waiting && sent.changes():
			*sent = sent.sent()
			sent.phase, sent.ended = then, true
		default:
			*sent = message{}
		}
	}
	w.sort()
	w.list = source{}
	if warm {
		w.lists[i].age = max(w.lists[i].age, 1) // it began before the term
		if !w.lists[i].is {
			w.lists[i].age = 0
		}
		return m.begin(w, i, w.spec, true, list{is: true, objects: m.lives.all[w.lives[i]].view})
	}
	w.lists[i], w.notices[i] = list{}, [lag]notice{}
	return m.begin(w, i, w.spec, false, w.snapshot())
}

// serve executes a request and answers it.
func (m *model) serve(w *world, i int, hold bool) bool {
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

func (m *model) reply(w *world, i int) bool {
	sent := w.messages[i]
	w.lose(i)
	return m.feed(w, sent.by, input{kind: answer, sent: sent.sent(), reply: sent.result, found: sent.found})
}

// timeOut lets the client give up: the request may still be executed, or the reply is lost.
func (m *model) timeOut(w *world, i int) bool {
	sent := w.messages[i]
	if w.messages[i] = (message{}); sent.phase == waiting && sent.changes() {
		w.messages[i] = sent.sent()
		w.messages[i].phase = orphan
	}
	w.sort()
	return m.feed(w, sent.by, input{kind: answer, sent: sent.sent(), reply: slots.Unanswered})
}

// awaits reports whether a client waits: calls return before L has passed.
func (m *model) awaits(w *world) bool {
	return w.any(func(s *message) bool { return s.phase < orphan })
}

// tick lets time pass. After L a request that was given up arrives no more.
func (m *model) tick(w *world) bool {
	for i := range w.messages {
		sent := &w.messages[i]
		if sent.phase != orphan || m.AnyAge {
			continue
		}
		if sent.age++; int(sent.age) >= m.ticks() {
			*sent = message{}
		}
	}
	w.sort()
	for i := range uint8(2) {
		if w.lists[i].is {
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
func (m *model) calm(w *world, turn int) (event, func(*world) bool) {
	for i, sent := range w.messages {
		if sent.is && sent.phase < orphan {
			return event{kind: serves, sent: sent}, func(w *world) bool { return m.serve(w, i, false) }
		}
	}
	for i := range uint8(2) {
		switch {
		case w.lives[i] == 0:
		case w.lists[i].is || w.notices[i][0] != (notice{}):
			return event{kind: catchesUp, writer: i}, func(w *world) bool { return m.show(w, i, lag) }
		case m.lives.all[w.lives[i]].spec != w.spec:
			return event{kind: learns, writer: i}, func(w *world) bool { return m.feed(w, i, input{kind: edit, spec: w.spec}) }
		}
	}
	for i, o := range w.objects {
		number := uint8(i + 1)
		switch {
		case o.deleting && !o.finished:
			return event{kind: finalizes, number: number}, func(w *world) bool { return m.deleted(w, number, false, false) }
		case m.Keyed && o.uid != 0 && !o.finished && !o.foreign:
			return event{kind: finishes, number: number}, func(w *world) bool { return w.update(number, func(o *object) { o.finished = true }) }
		case m.Keyed && o.finished && w.listed[i%m.width()]:
			return event{kind: consumes, number: number}, func(w *world) bool { w.listed[i%m.width()] = false; return true }
		}
	}
	writer := uint8(turn / 2 % m.Writers)
	switch {
	case turn%2 == 0:
		return event{kind: ages}, m.tick
	case m.Keyed && w.list.phase == 0:
		return event{kind: asks, writer: writer}, func(w *world) bool { w.list.phase = 1; return m.feed(w, writer, input{kind: ask}) }
	case m.Keyed && w.list.phase == 1:
		return event{kind: lists}, m.list
	}
	return event{kind: polls, writer: writer, value: m.demand()}, func(w *world) bool { return m.poll(w, writer, m.demand()) }
}

func (m *model) demand() uint8 {
	if len(m.Demands) > 0 {
		return m.Demands[0]
	}
	return 0
}

// served reports whether the objects that serve the demand exist. Creates that are never
// answered take capacity.
func (m *model) served(w *world) bool {
	if m.awaits(w) {
		return false
	}
	if m.Keyed {
		for i, listed := range w.listed {
			never := slices.ContainsFunc(m.Faults, func(f Fault) bool {
				return f.Verb == "create" && (f.Number == 0 || int(f.Number) == i+1)
			})
			if listed && w.made[i] == 0 && !never {
				return false
			}
		}
		return true
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
// or until a promise is broken: m.problem. known reports the states from which the
// demand is served.
func (m *model) live(from world, known func(*world) bool) (steps []event) {
	m.problem = ""
	for w, turn := from, 0; !known(&w) && !m.served(&w); {
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
