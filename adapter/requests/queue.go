package requests

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// Patience is the time after which a request without an answer hangs.
	Patience = 2 * time.Second
	// LongestDelay bounds a Retry-After.
	LongestDelay = 30 * time.Second
	// pause is the shortest rest of a request that the API server refused because of its load.
	pause = time.Second
	// memory is how long an idle owner stays congested.
	memory = 15 * time.Minute
)

// An Owner is the object with the Jobs of a request. The zero value stands for all
// requests of the process without an owner.
type Owner struct{ Namespace, Name string }

// An Answer is the result of a request for its owner.
type Answer uint8

const (
	Neutral Answer = iota // no evidence about the owner, such as a request that was not sent
	Success
	Refused    // the owner is congested
	Overloaded // the API server refused the request because of its own load
)

// A Queue lets requests wait for slots. The zero value is not ready; use [NewQueue].
type Queue struct {
	slots int

	mu      sync.Mutex
	owners  map[Owner]*owner
	lanes   [2]lane // of owners that are not congested, and of congested owners
	turns   uint64
	active  int // namespaces with requests in flight
	swept   int // number of owners after the last sweep
	hanging int
	held    int // slots that are kept because of the API server's load
	resting int // requests in flight that wait to be sent again, for the same reason
}

const (
	healthy = iota
	congested
)

// A lane holds the requests of the congested owners, or of the other owners.
type lane struct {
	inFlight   int
	active     int // namespaces with requests in flight
	waiting    int
	owners     int // congested owners; not counted in the other lane
	namespaces map[string]*namespace
}

// A place decides which namespace, and which owner of it, is next: the first has the fewest requests
// in flight. Among equals it has waited longest since its last turn or its arrival.
type place struct {
	inFlight int
	turn     uint64
}

func (p *place) compare(q *place) int {
	return cmp.Or(cmp.Compare(p.inFlight, q.inFlight), cmp.Compare(p.turn, q.turn))
}

type namespace struct {
	place
	waiting []*owner // with waiting requests, none delayed
}

// next returns the owner who is next, or nil.
func (l *lane) next() *owner {
	if l.waiting == 0 {
		return nil
	}
	var first *namespace
	for _, n := range l.namespaces {
		if len(n.waiting) > 0 && (first == nil || n.compare(&first.place) < 0) {
			first = n
		}
	}
	if first == nil {
		return nil
	}
	return slices.MinFunc(first.waiting, func(a, b *owner) int { return a.compare(&b.place) })
}

type owner struct {
	place
	Owner
	lane     int
	refused  bool
	hanging  int
	slow     map[string]bool // kinds of requests that hung last
	waiting  []*Slot
	until    time.Time // Retry-After
	answered time.Time // of the last answer
}

// NewQueue returns a queue with n slots. If n < 1, it has a single slot.
func NewQueue(n int) *Queue {
	q := &Queue{slots: max(1, n), owners: map[Owner]*owner{}}
	for i := range q.lanes {
		q.lanes[i].namespaces = map[string]*namespace{}
	}
	return q
}

// A Slot is the right to send requests of an owner, one after another.
type Slot struct {
	queue *Queue
	owner *owner
	run   func()
	timer *time.Timer // of Patience
	kind  string      // of the last request
	hangs bool
	freed bool
	last  Answer

	resting bool // the request waits to be sent again
}

// Do calls f in a goroutine of its own when a slot is free, and frees the slot when f
// returns. Requests of f that use its context share the slot. If ctx ends first, f is called
// without a slot. A nil queue has a slot for every request.
func (q *Queue) Do(ctx context.Context, o Owner, f func(context.Context)) {
	if ctx = WithOwner(ctx, o); q == nil {
		go f(ctx)
		return
	}
	s := &Slot{queue: q}
	q.mu.Lock() // remove waits until the slot is added
	defer q.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		if q.remove(s) {
			f(ctx)
		}
	})
	s.run = func() {
		stop()
		go func() {
			defer s.free()
			f(context.WithValue(ctx, slotKey{}, s))
		}()
	}
	q.add(s, o)
}

// Guard calls f, and returns its panic as an error: an owner must not end the process that others share.
func Guard(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}

// Wait returns a slot for a request of the context's owner, to be freed. It fails if the
// context ends first. If the context is one of [Queue.Do], its slot is returned, and free
// does nothing.
func (q *Queue) Wait(ctx context.Context) (s *Slot, free func(), err error) {
	if s, ok := ctx.Value(slotKey{}).(*Slot); ok && s.queue == q {
		return s, func() {}, ctx.Err()
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	turn := make(chan struct{})
	s = &Slot{queue: q, run: func() { close(turn) }}
	q.mu.Lock()
	q.add(s, OwnerOf(ctx))
	q.mu.Unlock()
	select {
	case <-turn:
		return s, s.free, nil
	case <-ctx.Done():
	}
	if !q.remove(s) { // its turn came just now
		s.free()
	}
	return nil, nil, ctx.Err()
}

type (
	slotKey  struct{}
	ownerKey struct{}
)

// WithOwner returns a context for the requests of an owner.
func WithOwner(ctx context.Context, o Owner) context.Context {
	return context.WithValue(ctx, ownerKey{}, o)
}

// OwnerOf returns the owner that WithOwner has set, or the zero value.
func OwnerOf(ctx context.Context) Owner {
	o, _ := ctx.Value(ownerKey{}).(Owner)
	return o
}

// add adds a slot that waits. The caller holds the lock.
func (q *Queue) add(s *Slot, name Owner) {
	o := q.owners[name]
	if o == nil || o.old() {
		if o != nil || len(q.owners) >= 2*q.swept+100 {
			q.sweep()
		}
		o = &owner{Owner: name}
		q.owners[name] = o
	}
	s.owner = o
	o.waiting = append(o.waiting, s)
	q.lanes[o.lane].waiting++
	q.line(o)
	q.admit()
}

// remove removes a slot that waits, and reports whether it did.
func (q *Queue) remove(s *Slot) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := s.owner
	for i, other := range o.waiting {
		if other == s {
			o.waiting = append(o.waiting[:i:i], o.waiting[i+1:]...)
			q.lanes[o.lane].waiting--
			q.line(o)
			q.forget(o)
			return true
		}
	}
	return false
}

// Sends notes that a request of a kind is sent, such as "POST jobs". Patience begins.
func (s *Slot) Sends(kind string) {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calm(s)
	s.kind, s.last = kind, Neutral
	s.timer.Reset(Patience)
}

// Answered records the answer to the request, and the Retry-After that came with it.
func (s *Slot) Answered(a Answer, after time.Duration) {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	o, after := s.owner, min(max(0, after), LongestDelay)
	s.last, o.answered = a, time.Now()
	if a == Success || a == Refused {
		o.refused = a == Refused
	}
	if a == Success && !s.hangs {
		delete(o.slow, s.kind)
	}
	if until := o.answered.Add(after); a == Refused && after > 0 && until.After(o.until) {
		o.until = until
		time.AfterFunc(after, func() { q.change(o) })
	}
	q.move(o)
	q.admit()
}

// free gives the slot back. A second call does nothing.
func (s *Slot) free() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.freed {
		return
	}
	s.freed = true
	s.timer.Stop()
	q.calm(s)
	if s.last == Overloaded {
		q.held++
		time.AfterFunc(randomPause(), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.held--
			q.admit()
		})
	}
	q.count(s.owner, -1)
	q.move(s.owner)
	q.forget(s.owner)
	q.admit()
}

// randomPause returns once to twice pause, so that requests that were refused together are not
// sent again together.
func randomPause() time.Duration { return pause + rand.N(pause) }

// Retry waits in the context's slot if its last request was refused because of the API server's
// load. It reports whether that request may be sent again.
func Retry(ctx context.Context) bool {
	s, ok := ctx.Value(slotKey{}).(*Slot)
	if !ok || s.last != Overloaded {
		return false
	}
	s.queue.rests(s, 1)
	defer s.queue.rests(s, -1)
	select {
	case <-ctx.Done():
	case <-time.After(randomPause()):
	}
	return ctx.Err() == nil
}

// rests counts slots that rest.
func (q *Queue) rests(s *Slot, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.timer.Stop()
	q.calm(s)
	q.move(s.owner)
	s.last, s.resting = Neutral, n > 0
	q.resting += n
}

// change lets an owner wait in its line again after a delay.
func (q *Queue) change(o *owner) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.line(o)
	q.forget(o)
	q.admit()
}

// hang notes that a request has had no answer for Patience.
func (s *Slot) hang() {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.freed || s.hangs || s.resting {
		return
	}
	s.hangs = true
	o := s.owner
	q.hanging++
	if o.hanging++; o.slow == nil {
		o.slow = map[string]bool{}
	}
	o.slow[s.kind] = true
	q.move(o)
	q.admit()
}

// calm notes that the request of a slot does not hang any more.
func (q *Queue) calm(s *Slot) {
	if s.hangs {
		s.hangs = false
		q.hanging--
		s.owner.hanging--
	}
}

// widespread reports whether congestion is not a matter of few tenants.
func (q *Queue) widespread() bool {
	n := q.lanes[congested].active
	return n >= 3 && 2*n >= q.active
}

// admit gives the free slots to the next owners. Congested owners come first, since
// they have so few.
func (q *Queue) admit() {
	for {
		inFlight := [2]int{q.lanes[healthy].inFlight, q.lanes[congested].inFlight}
		total, slots := inFlight[0]+inFlight[1]+q.held, q.slots
		if q.widespread() {
			slots -= slots / 3 // so that others keep half of all slots
		}
		quarter := max(1, slots/4)
		switch free := slots - q.held; {
		case inFlight[congested] < min(quarter, max(1, free)) && total < slots && q.begin(congested):
		case total < 2*q.slots && inFlight[healthy] < max(1, free-min(inFlight[congested], quarter)) && q.begin(healthy):
		default:
			return
		}
	}
}

// begin gives a slot to the next owner of a lane, and reports whether it has a next owner.
func (q *Queue) begin(which int) bool {
	l := &q.lanes[which]
	o := l.next()
	if o == nil {
		return false
	}
	s := o.waiting[0]
	o.waiting[0] = nil
	o.waiting = o.waiting[1:]
	l.waiting--
	q.turns++
	o.turn, l.namespaces[o.Namespace].turn = q.turns, q.turns
	q.count(o, 1)
	s.timer = time.AfterFunc(Patience, s.hang)
	s.run()
	return true
}

// count counts requests in flight of an owner.
func (q *Queue) count(o *owner, n int) {
	o.inFlight += n
	l, other := &q.lanes[o.lane], q.lanes[1-o.lane].namespaces[o.Namespace]
	l.inFlight += n
	namespace := l.namespace(o.Namespace)
	before := namespace.inFlight > 0
	namespace.inFlight += n
	if after := namespace.inFlight > 0; after != before {
		change := map[bool]int{true: 1, false: -1}[after]
		l.active += change
		if other == nil || other.inFlight == 0 {
			q.active += change
		}
	}
	q.line(o)
}

func (l *lane) namespace(name string) *namespace {
	n := l.namespaces[name]
	if n == nil {
		n = &namespace{}
		l.namespaces[name] = n
	}
	return n
}

// move moves an owner to its lane.
func (q *Queue) move(o *owner) {
	target := healthy
	if o.refused || o.hanging > 0 || len(o.slow) > 0 {
		target = congested
	}
	if target == o.lane {
		return
	}
	waiting, inFlight := o.waiting, o.inFlight
	q.lanes[o.lane].waiting -= len(waiting)
	q.lanes[congested].owners += target - o.lane
	o.waiting = nil
	q.count(o, -inFlight) // leaves the line too
	o.lane, o.waiting = target, waiting
	q.lanes[target].waiting += len(waiting)
	q.count(o, inFlight)
}

// line lets an owner wait in its lane, or not. Who begins to wait is behind all whose turn is known.
func (q *Queue) line(o *owner) {
	l := &q.lanes[o.lane]
	n := l.namespace(o.Namespace)
	waits, i := len(o.waiting) > 0 && !time.Now().Before(o.until), slices.Index(n.waiting, o)
	switch {
	case waits && i < 0:
		q.turns++
		if o.turn = q.turns; len(n.waiting) == 0 {
			n.turn = q.turns
		}
		n.waiting = append(n.waiting, o)
	case !waits && i >= 0:
		n.waiting = slices.Delete(n.waiting, i, i+1)
	}
	if n.inFlight == 0 && len(n.waiting) == 0 {
		delete(l.namespaces, o.Namespace)
	}
}

// forget forgets an owner of whom nothing is to be known.
func (q *Queue) forget(o *owner) {
	if q.owners[o.Owner] == o && o.idle() && o.lane == healthy && !time.Now().Before(o.until) {
		delete(q.owners, o.Owner)
	}
}

func (o *owner) idle() bool { return o.inFlight == 0 && len(o.waiting) == 0 }

// old reports whether the owner has been idle for long.
func (o *owner) old() bool { return o.idle() && time.Since(o.answered) > memory }

// sweep forgets old owners.
func (q *Queue) sweep() {
	for name, o := range q.owners {
		if o.old() {
			q.lanes[congested].owners -= o.lane
			delete(q.owners, name)
		}
	}
	q.swept = len(q.owners)
}
