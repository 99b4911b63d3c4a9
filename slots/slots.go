package slots

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// A Slot is the place of one object. Numbered slots have a Number from 1 and no Key. Keyed
// slots have a Key, and the attempt as Number, such as 0 for the first one. The zero value is no slot: an object without
// a slot counts if it is unfinished, and takes no number.
type Slot struct {
	Key    string
	Number int64
}

// Name returns the name of the slot's object without the owner's name: the number, or 128
// bits of SHA-256 over the owner's UID, the key and the attempt, in hexadecimal digits.
// Store the key in the object as well, and compare it: see the package's rules.
// The UID is any text that no other owner has had.
func (s Slot) Name(uid string) string {
	if s.Key == "" {
		return itoa(s.Number)
	}
	sum := sha256.Sum256([]byte(itoa(int64(len(uid))) + "/" + uid + "/" + itoa(s.Number) + "/" + s.Key))
	return hex.EncodeToString(sum[:16])
}

// An Object is an object of the owner as an observation shows it.
type Object struct {
	Slot
	UID      string
	Finished bool // it does no more work, and takes no capacity
	Failed   bool // it has finished, and its item may run again: Want.Retries
	Deleting bool // it has a deletion timestamp
	Gone     bool // it no longer exists
}

// Options are what a [Set] is made from. A zero Late never waits, which is safe only if
// each request has its effect, or none, before its call returns.
type Options struct {
	// Late is L, the time after which a request can no longer have an effect, counted from
	// the return of its call: twice the request timeout, which the server must know.
	Late time.Duration
	// Unshown is the time after which an answered create that no observation shows is read; 0
	// means 4 Late. A busy server's watch may be minutes behind, and each read is another request.
	Unshown time.Duration
	Keyed   bool // objects are named from keys instead of numbers
	// Start is when the term began. Clean and Aside are the lease's mark: see rule 2 of keyed and
	// rule 6 of numbered objects. Without a mark both are false. A term with Aside waits, also
	// without a mark: see the package's limits.
	Start time.Time
	Clean bool          // the term before ended in order, with nothing in doubt
	Aside bool          // a term before set a number aside
	Rest  time.Duration // pause between two deletes in doubt, doubling; 0 means 20 Late
}

// A Set is what one process knows about the objects of one owner in one term: the objects
// that its observation shows, and the requests that may still change them. It decides
// which requests are sent next. Its methods neither block nor read a clock. A Set may not
// be used from several goroutines at once.
type Set struct {
	options Options
	self    *byte // identifies the set and its copies

	objects    map[string]*object // by UID
	unfinished int64              // objects
	flights    map[Slot]*flight   // creates that no observation shows
	deletes    map[string]*doubt  // deletes of finished objects, by UID, whose effect no observation shows
	held       map[string]backoff // deletes that were refused, by UID
	refused    map[Slot]backoff   // creates that were refused

	seq   int64     // counts events: an order without a clock
	reads int64     // seq when the newest complete read was taken over; 0 is none
	read  time.Time // when that read began

	asked    int64            // seq when the source was last asked
	list     int64            // seq when the newest list of items began
	revision int64            // the highest of a list
	items    map[string]int64 // attempts by key, in that list
	retries  int64            // of items
	known    map[string]int64 // seq when a key was last known to have had an object

	marked  bool      // the lease says that a number may be set aside
	resting backoff   // of deletes
	retry   backoff   // of creates
	tired   int       // polls in a row with refused creates alone, at least leastTries
	blocked time.Time // since when creates in doubt prevent deletes; zero if they do not
	unread  bool      // the last read of an object failed

	work work
	out  []Request // sent, and not answered
}

// An object is shown by an observation.
type object struct {
	Slot
	ended            int64 // seq when it was first shown finished; 0 if it is unfinished
	failed, deleting bool
}

// A flight is a create whose object no observation shows.
type flight struct {
	id    int64
	state state
	uid   string    // of the object that has the slot's name
	shown string    // UID of the last object that was shown in the slot
	at    time.Time // of the last reply, or of its timeout
}

// A state is what is known of a flight.
type state uint8

const (
	sending    state = iota // the call has not returned
	unanswered              // the create may still have its effect
	accepted                // the object exists
	taken                   // the name belongs to a finished object, or to somebody else
)

// over reports whether an observation has shown the flight's object.
func (f *flight) over() bool { return f.state > unanswered && f.shown == f.uid }

// A doubt is a delete that may still have an effect, or its effect is not shown.
type doubt struct {
	sent   time.Time
	at     time.Time // of the reply; zero until then
	unsure bool      // it was not answered
}

// A backoff is the time before which something is not tried again.
type backoff struct {
	n     int // failures in a row
	until time.Time
}

// fail returns the backoff after one more failure: first, doubling, at most the limit.
func (b backoff) fail(first, most time.Duration, now time.Time) backoff {
	b.until = now.Add(min(most, first<<min(b.n, 10)))
	b.n++
	return b
}

// soon returns when a create that blocks others is tried again: no later than mostRetry
// after it failed.
func (b backoff) soon() time.Time {
	return b.until.Add(-max(0, min(mostAsideRetry, firstRetry<<min(b.n-1, 10))-mostRetry))
}

const (
	mostAsideRetry = 5 * time.Minute // of what blocks nothing
	firstRetry     = time.Second
	mostRetry      = 16 * time.Second // of creates: below a usual polling interval
	mostAside      = 64               // refused numbers
	maxBatch       = 64               // also of refused creates in a poll
	leastTries     = 8                // of refused creates in a poll, after polls with nothing else
)

// New returns the set of an owner in a term. Nothing is created, and nothing that has finished
// is deleted, until [Set.Replace] or [Set.Listed] was called. Another term needs another set:
// to it, requests and lists of this Set are nothing.
func New(o Options) *Set {
	if o.Unshown == 0 {
		o.Unshown = 4 * o.Late
	}
	if o.Rest == 0 {
		o.Rest = 20 * o.Late
	}
	return &Set{options: o, self: new(byte), marked: o.Aside}
}

// put sets a key of a map, which it makes if it is nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// remove removes a key of a map, and the map if it is then empty.
func remove[K comparable, V any](m *map[K]V, key K) {
	if delete(*m, key); len(*m) == 0 {
		*m = nil
	}
}

// Show takes over an object as the observation shows it now, or that it is Gone. The
// observation must show all objects of the owner in one order, such as a watch does. A shared
// informer keeps an order for each object only, which may break the maximum.
func (s *Set) Show(o Object) {
	if o.Gone {
		s.gone(o.UID)
		return
	}
	is := s.objects[o.UID]
	switch {
	case is == nil:
		is = &object{}
		put(&s.objects, o.UID, is)
	case is.ended == 0:
		s.unfinished--
	}
	is.Slot, is.failed, is.deleting = o.Slot, o.Failed, o.Deleting
	switch {
	case !o.Finished:
		s.unfinished++
		is.ended = 0
	case is.ended == 0:
		is.ended = s.next()
	}
	if o.Deleting {
		remove(&s.deletes, o.UID)
	}
	if f := s.flights[o.Slot]; f != nil {
		if f.shown = o.UID; f.over() {
			remove(&s.flights, o.Slot)
		}
	}
}

func (s *Set) gone(uid string) {
	is := s.objects[uid]
	if is == nil {
		return
	}
	if is.ended == 0 {
		s.unfinished--
	}
	remove(&s.objects, uid)
	remove(&s.deletes, uid)
	remove(&s.held, uid)
	s.knew(is.Slot)
}

// Listed takes over that the observation shows everything that a consistent read showed,
// and when that read began. A consistent read is no older than its request. The zero time takes
// it back: the objects are somewhere else, and have not been read there.
func (s *Set) Listed(began time.Time) {
	switch {
	case began.IsZero():
		s.read, s.reads = began, 0
	case s.reads == 0 || began.After(s.read):
		s.read, s.reads = began, s.next()
	}
}

func (s *Set) next() int64 { s.seq++; return s.seq }

// knew notes that a key had an object until now, or may have had.
func (s *Set) knew(slot Slot) {
	if slot.Key != "" {
		put(&s.known, slot.Key, s.next())
	}
}

// Replace takes over the objects of a consistent read that began then. Objects that it
// lacks are gone; what is known of requests stays.
func (s *Set) Replace(objects []Object, began time.Time) {
	listed := make(map[string]bool, len(objects))
	for _, o := range objects {
		s.Show(o)
		listed[o.UID] = true
	}
	for _, uid := range slices.Sorted(maps.Keys(s.objects)) {
		if !listed[uid] {
			s.gone(uid)
		}
	}
	s.Listed(began)
}

// Unfinished returns the number of unfinished objects: those that are shown, and the creates
// of [Set.InFlight].
func (s *Set) Unfinished() int64 {
	n := s.unfinished
	for range s.InFlight {
		n++
	}
	return n
}

// InFlight calls yield for each create that takes capacity and that the observation does not
// show, with the UID if the object is known to exist, in no order.
func (s *Set) InFlight(yield func(slot Slot, uid string) bool) {
	for slot, f := range s.flights {
		if s.hidden(f) && !yield(slot, f.uid) {
			return
		}
	}
}

// Flying reports whether a create of the slot may still take capacity: it is, or may again
// be, in [Set.InFlight].
func (s *Set) Flying(slot Slot) bool { return s.flights[slot] != nil }

// hidden reports whether the flight takes capacity beside the objects that are shown.
func (s *Set) hidden(f *flight) bool {
	o := s.objects[f.shown]
	return f.state < taken && (o == nil || o.ended > 0)
}

// doubts returns the number of creates that may still have an effect, and whose calls have
// returned if from is unanswered.
func (s *Set) doubts(from state) (n int) {
	for _, f := range s.flights {
		if from <= f.state && f.state <= unanswered {
			n++
		}
	}
	return n
}

// Settled reports whether the lease's mark may say that the term ended in order: no number
// was set aside, no request is under way or in doubt, and none of an earlier term may still
// have an effect. If it has read its objects, it did so after its wait.
func (s *Set) Settled(now time.Time) bool {
	for _, d := range s.deletes {
		if d.unsure {
			return false
		}
	}
	return !now.Before(s.past()) && len(s.out) == 0 && s.doubts(sending) == 0 && (s.options.Keyed || len(s.refused) == 0) && (s.reads == 0 || s.fresh())
}

// fresh reports whether the newest read is late enough for this term.
func (s *Set) fresh() bool { return s.reads > 0 && !s.read.Before(s.ready()) }

// ready returns the time at which a read that the term may create from begins at the
// earliest.
func (s *Set) ready() time.Time {
	if s.waits() {
		return s.past()
	}
	return s.options.Start
}

// waits reports whether the term creates nothing until L has passed.
func (s *Set) waits() bool {
	return s.options.Aside || s.options.Keyed && !s.options.Clean
}

// past returns when no request of an earlier term can have an effect any more.
func (s *Set) past() time.Time {
	if s.options.Clean {
		return s.options.Start
	}
	return s.options.Start.Add(s.options.Late)
}

// mayAside reports whether a number that was refused may be set aside: the term is older
// than L, has read since, and the lease is marked.
func (s *Set) mayAside() bool {
	return s.marked && s.reads > 0 && !s.read.Before(s.options.Start.Add(s.options.Late))
}

// Stop drops the requests that have not been sent, such as after an edit of the owner. It
// reports whether there were any.
func (s *Set) Stop() (dropped bool) {
	for at := s.work.stage; at < over; at++ {
		dropped = dropped || at == creating && s.work.left > 0 || len(s.work.queues[at]) > 0
	}
	s.work = work{round: s.work.round, stage: over, stopped: true}
	return dropped
}

// Empty reports whether the set of an owner that is no longer worked for may be dropped: there
// are no objects, and no creates that may still make one.
func (s *Set) Empty(now time.Time) bool {
	for _, f := range s.flights {
		if f.state == sending || now.Sub(f.at) < max(s.options.Late, s.options.Unshown) {
			return false
		}
	}
	return len(s.objects) == 0 && len(s.out) == 0
}

// Clone returns a copy that shares nothing, for a model that explores a program.
func (s *Set) Clone() *Set {
	c := *s
	c.objects, c.flights, c.deletes = cloned(s.objects), cloned(s.flights), cloned(s.deletes)
	c.held, c.refused, c.items, c.known = maps.Clone(s.held), maps.Clone(s.refused), maps.Clone(s.items), maps.Clone(s.known)
	c.out, c.work.items = slices.Clone(s.out), slices.Clone(s.work.items)
	for i, queue := range s.work.queues {
		c.work.queues[i] = slices.Clone(queue)
	}
	return &c
}

func cloned[K comparable, V any](m map[K]*V) map[K]*V {
	if m == nil {
		return nil
	}
	c := make(map[K]*V, len(m))
	for key, value := range m {
		copied := *value
		c[key] = &copied
	}
	return c
}
