package slotstest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

const unit = time.Minute // of the clocks

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A life is a process in its term: the loop under test, from its start to its end. Lives are
// kept once each, see lives, and never modified.
type life struct {
	loop  Loop
	ticks int
	spec  uint8
	view  [maxNumber]object // what its observation shows
	out   []slots.Request
}

func (x *life) now() time.Time { return noon.Add(time.Duration(x.ticks) * unit) }

// An input is anything that happens to a life.
type input struct {
	life    int32
	kind    inputKind
	spec    uint8   // of start and edit
	marked  bool    // of start
	warm    bool    // of start: the list was shown before
	demand  uint8   // of poll
	sent    message // of answer
	reply   slots.Result
	found   uint8
	list    list // of show and start
	changes [maxLag]notice
}

type inputKind uint8

const (
	start inputKind = iota
	poll
	answer
	show
	edit
	tick
)

// An output holds the actions of a life.
type output struct {
	life int32
	sent []message
}

// lives are all lives that were reached, each kept once. The loop runs once for each life
// and input.
type lives struct {
	model   *model
	list    []*life
	settled []bool
	byKey   map[string]int32
	outputs map[input]output
}

func (l *lives) step(in input) output {
	if out, ok := l.outputs[in]; ok {
		return out
	}
	x := &life{}
	if in.kind != start {
		old := l.list[in.life]
		*x = *old
		x.loop, x.out = old.loop.Clone(), slices.Clone(old.out)
	}
	sent := l.run(x, in)
	out := output{life: l.intern(x)}
	for _, q := range sent {
		out.sent = append(out.sent, l.messageOf(x, q))
	}
	l.outputs[in] = out
	return out
}

func (l *lives) intern(x *life) int32 {
	key := fmt.Sprint(x.spec, x.view, x.loop.Fingerprint(x.now()))
	id, ok := l.byKey[key]
	if !ok {
		id = int32(len(l.list))
		l.list, l.settled, l.byKey[key] = append(l.list, x), append(l.settled, x.loop.Settled(x.now())), id
	}
	return id
}

// run lets the input happen. It returns the requests that the life sends then.
func (l *lives) run(x *life, in input) (sent []slots.Request) {
	c := l.model.Config
	switch in.kind {
	case start:
		l.start(x, in)
	case poll:
		sent = x.loop.Poll(int64(in.demand), x.now())
	case answer:
		i := slices.IndexFunc(x.out, func(q slots.Request) bool {
			m := l.messageOf(x, q)
			return m.kind == in.sent.kind && m.number == in.sent.number && m.uid == in.sent.uid
		})
		q := x.out[i]
		x.out = slices.Delete(x.out, i, i+1)
		sent = x.loop.Answer(q, in.reply, uidOf(in.sent.number, in.found), x.now())
	case show:
		l.show(x, in)
	case edit:
		x.spec = in.spec
		x.loop.Edit(c.Max[in.spec])
	case tick:
		x.ticks++
	}
	x.out = append(x.out, sent...)
	return sent
}

func (l *lives) start(x *life, in input) {
	c := l.model.Config
	x.spec = in.spec
	readStart := x.now()
	if in.warm {
		readStart = readStart.Add(-unit)
	}
	x.loop = l.model.new(slots.Options{
		RequestLifetime: c.late(), ObservationLag: c.late(), DeletePause: 2 * c.late(), Start: x.now(), Marked: in.marked,
	}, c.Max[in.spec])
	l.replace(x, in.list, readStart)
}

// show shows the life a list or the changes of objects.
func (l *lives) show(x *life, in input) {
	if in.list.used {
		l.replace(x, in.list, x.now().Add(-time.Duration(in.list.age)*unit))
	}
	for _, n := range in.changes {
		switch {
		case n.number == 0:
		case n.gone:
			o := objectOf(n.number, n.object)
			x.loop.Observe(o)
			o.Gone = true
			x.loop.Observe(o)
			x.view[n.number-1] = object{}
		default:
			x.loop.Observe(objectOf(n.number, n.object))
			x.view[n.number-1] = n.object
		}
	}
}

func (l *lives) replace(x *life, read list, start time.Time) {
	var objects []slots.Object
	for i, o := range read.objects {
		if o.uid != 0 {
			objects = append(objects, objectOf(uint8(i+1), o))
		}
	}
	x.view = read.objects
	x.loop.Replace(objects, start)
}

// messageOf describes a request to the system.
func (l *lives) messageOf(x *life, q slots.Request) message {
	m := message{used: true, kind: verb(slices.Index(verbs[:], q.Verb))}
	switch {
	case q.Verb == slots.Mark, q.Verb == slots.List:
		return m
	case q.Verb == slots.Create:
		m.version.spec = x.spec
	}
	m.number = uint8(min(q.Number, maxNumber+1))
	if q.UID != "" {
		m.number, m.uid = parse(q.UID)
		if v := x.view[m.number-1]; q.Verb == slots.Delete && !q.Finished && v.uid == m.uid {
			m.version = v
		}
	}
	return m
}

func objectOf(number uint8, o object) slots.Object {
	return slots.Object{Number: int64(number), UID: uidOf(number, o.uid), Finished: o.finished, Deleting: o.deleting}
}

func uidOf(number, n uint8) string {
	if n == 0 {
		return ""
	}
	return uids[number][n]
}

func parse(uid string) (number, n uint8) { return uid[0] - '0', uid[2] - '0' }

var uids [maxNumber + 1][maxPerName + 1]string

func init() {
	for n := range uids {
		for i := range uids[n] {
			uids[n][i] = strconv.Itoa(n) + "." + strconv.Itoa(i)
		}
	}
}
