package slots

import (
	"maps"
	"slices"
	"time"
)

// An Object is an object of the owner as an observation shows it.
type Object struct {
	Number   int64 // in its name, from 1; an object with 0 counts if it is unfinished, and takes no number
	UID      string
	Finished bool // it does no more work, and takes no capacity
	Deleting bool // it has a deletion timestamp
	Gone     bool // it no longer exists
}

// Options are what a [Set] is made from. A zero RequestLifetime never waits, which is safe
// only if each request has its effect, or none, before its call returns.
type Options struct {
	// RequestLifetime is L: a request has no effect later than L after it was sent. See the
	// premise on the package's page.
	RequestLifetime time.Duration
	// ObservationLag is the time after which an answered create that no observation shows is
	// read; 0 means 4 L. A busy server's watch may be minutes behind, and each read is another request.
	ObservationLag time.Duration
	// DeletePause is the pause after a delete that was not answered, doubling; 0 means 20 L.
	DeletePause time.Duration
	// Start is when the term began.
	Start time.Time
	// Marked reports whether the lease has the mark of a term that skipped a number. A term
	// with Marked waits for L before it creates, and may skip numbers without writing the mark.
	Marked bool
}

// A Set holds what one process knows about the objects of one owner in one term: the objects
// that its observation shows, and the requests that may still change them. It decides
// which requests are sent next. Its methods neither block nor read a clock. A Set may not
// be used from several goroutines at once.
type Set struct {
	options  Options
	identity *byte // tells the requests of this set, and of its copies, from those of others

	objects    map[string]*object   // by UID
	unfinished int64                // objects
	creates    map[int64]*create    // by number: those that no observation shows
	deletes    map[string]*deletion // by UID: of finished objects, whose effect no observation shows
	undeleted  map[string]backoff   // by UID: deletes that were refused
	failed     map[int64]*failure   // by number: creates without an effect

	sequence     int64     // counts requests and polls
	read         time.Time // when the newest complete read began; zero before the first
	marked       bool      // the lease says that a number may be skipped
	deletePause  backoff   // after deletes that were not answered
	createPause  backoff   // after creates that failed
	failedPolls  int       // in a row, whose lowest number failed
	created      int64     // sequence when a create last succeeded
	retried      bool      // a skipped number was tried last
	historyWaits time.Time // since when unanswered creates prevent deletes; zero if they do not
	readFailed   bool      // the last read of an object failed

	poll poll
	sent []Request // without an answer
}

// An object is shown by an observation.
type object struct {
	number             int64
	finished, deleting bool
}

// A create is one whose object no observation shows.
type create struct {
	id       int64
	state    state
	uid      string    // of the object that has the name
	shownUID string    // UID of the last object that was shown with the number
	replied  time.Time // when the last reply or timeout came
}

// A state is what is known about a create.
type state uint8

const (
	sending    state = iota // the call has not returned
	unanswered              // it may still have its effect
	accepted                // the object exists
	occupied                // the name belongs to a finished object, or to somebody else
)

// observed reports whether an observation has shown the object of the create.
func (c *create) observed() bool { return c.state > unanswered && c.shownUID == c.uid }

// A deletion is one that may still have an effect, or whose effect is not shown.
type deletion struct {
	sent    time.Time
	replied time.Time // zero until then
	unsure  bool      // it was not answered, and no read has told since
}

// A backoff is the time before which something is not tried again.
type backoff struct {
	failures int // in a row
	until    time.Time
}

// fail returns the backoff after one more failure: first, doubling, up to the limit.
func (b backoff) fail(first, limit time.Duration, now time.Time) backoff {
	b.until = now.Add(min(limit, first<<min(b.failures, 10)))
	b.failures++
	return b
}

const (
	firstPause  = time.Second
	longPause   = 5 * time.Minute  // of what holds nothing else up
	shortPause  = 16 * time.Second // of what does: below a usual polling interval
	maxFailed   = 128              // numbers that are remembered as failed
	maxBatch    = 64               // requests
	maxAttempts = 64               // refused creates in a poll
	outagePolls = 3                // failed polls after which a higher number is tried
)

// New returns the set of an owner in a term. Nothing is created, and nothing that has finished
// is deleted, until [Set.Replace] or [Set.Synced] was called. Another term needs another set:
// it ignores the requests of this one.
func New(o Options) *Set {
	if o.ObservationLag == 0 {
		o.ObservationLag = 4 * o.RequestLifetime
	}
	if o.DeletePause == 0 {
		o.DeletePause = 20 * o.RequestLifetime
	}
	return &Set{
		options: o, identity: new(byte), marked: o.Marked, objects: map[string]*object{}, creates: map[int64]*create{},
		deletes: map[string]*deletion{}, undeleted: map[string]backoff{}, failed: map[int64]*failure{},
	}
}

func (s *Set) next() int64 { s.sequence++; return s.sequence }

// Observe takes over an object as the observation shows it now, or that it is Gone. The
// observation must show all objects of the owner in one order, such as a watch does. A shared
// informer keeps an order for each object only, which may break the maximum.
func (s *Set) Observe(o Object) {
	if o.Gone {
		s.gone(o.UID)
		return
	}
	if before := s.objects[o.UID]; before != nil && !before.finished {
		s.unfinished--
	}
	if !o.Finished {
		s.unfinished++
	}
	s.objects[o.UID] = &object{o.Number, o.Finished, o.Deleting}
	if o.Deleting {
		delete(s.deletes, o.UID)
	}
	if c := s.creates[o.Number]; c != nil {
		if c.shownUID = o.UID; c.observed() {
			delete(s.creates, o.Number)
		}
	}
}

func (s *Set) gone(uid string) {
	o := s.objects[uid]
	if o == nil {
		return
	}
	if !o.finished {
		s.unfinished--
	}
	delete(s.objects, uid)
	delete(s.deletes, uid)
	delete(s.undeleted, uid)
}

// Synced takes over that the observation shows everything that a consistent read showed,
// and when that read began. A consistent read is no older than its request. The zero time takes
// it back: the objects are somewhere else, and have not been read there.
func (s *Set) Synced(readStart time.Time) { s.read = readStart }

// Replace takes over the objects of a consistent read that began at readStart. Objects that it
// lacks are gone; what is known about requests stays.
func (s *Set) Replace(objects []Object, readStart time.Time) {
	listed := make(map[string]bool, len(objects))
	for _, o := range objects {
		s.Observe(o)
		listed[o.UID] = true
	}
	for uid := range s.objects {
		if !listed[uid] {
			s.gone(uid)
		}
	}
	s.Synced(readStart)
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
func (s *Set) InFlight(yield func(number int64, uid string) bool) {
	for number, c := range s.creates {
		if s.hidden(c) && !yield(number, c.uid) {
			return
		}
	}
}

// Reserved reports whether a create of the number is, or may again be, in [Set.InFlight].
func (s *Set) Reserved(number int64) bool { return s.creates[number] != nil }

// hidden reports whether the create takes capacity beside the objects that are shown.
func (s *Set) hidden(c *create) bool { return c.state < occupied && s.objects[c.shownUID] == nil }

// pending returns how many creates are in one of the states.
func (s *Set) pending(states ...state) (n int) {
	for _, c := range s.creates {
		if slices.Contains(states, c.state) {
			n++
		}
	}
	return n
}

// Settled reports whether the lease's mark may go when the term ends in order: no number may
// be skipped, no request is under way or unanswered, and none of an earlier term may still have an effect.
func (s *Set) Settled(now time.Time) bool {
	quiet := len(s.sent) == 0 && s.unsureDeletes() == 0 && s.pending(sending, unanswered) == 0
	skips := s.marked && len(s.failed) > 0
	return quiet && !skips && !now.Before(s.past())
}

// past returns when no request of an earlier term can have an effect any more.
func (s *Set) past() time.Time { return s.options.Start.Add(s.options.RequestLifetime) }

// ready returns when a read that the term may create from begins at the earliest.
func (s *Set) ready() time.Time {
	if s.options.Marked {
		return s.past()
	}
	return s.options.Start
}

// fresh reports whether the newest read is late enough for this term.
func (s *Set) fresh() bool { return !s.read.IsZero() && !s.read.Before(s.ready()) }

// maySkip reports whether a number that failed may be skipped: the objects were read after
// requests of earlier terms were over, and the lease is marked.
func (s *Set) maySkip() bool { return s.marked && !s.read.IsZero() && !s.read.Before(s.past()) }

// Stop drops the requests that have not been sent, such as after an edit of the owner. It
// reports whether there were any.
func (s *Set) Stop() (dropped bool) {
	p := &s.poll
	for stage := p.stage; stage < stages; stage++ {
		creates := stage == creating && p.remaining > 0
		dropped = dropped || creates || len(p.queues[stage]) > 0
	}
	s.poll = poll{round: p.round, stage: stages, stopped: true}
	return dropped
}

// Empty reports whether the set of an owner that is no longer worked for may be dropped: there
// are no objects, and no creates that may still make one.
func (s *Set) Empty(now time.Time) bool {
	wait := max(s.options.RequestLifetime, s.options.ObservationLag)
	for _, c := range s.creates {
		if c.state == sending || now.Sub(c.replied) < wait {
			return false
		}
	}
	return len(s.objects) == 0 && len(s.sent) == 0
}

// Clone returns a copy that shares nothing, for a model that explores a program.
func (s *Set) Clone() *Set {
	c := *s
	c.objects, c.creates, c.deletes, c.failed = cloned(s.objects), cloned(s.creates), cloned(s.deletes), cloned(s.failed)
	c.undeleted, c.sent = maps.Clone(s.undeleted), slices.Clone(s.sent)
	for i, queue := range s.poll.queues {
		c.poll.queues[i] = slices.Clone(queue)
	}
	return &c
}

func cloned[K comparable, V any](m map[K]*V) map[K]*V {
	c := make(map[K]*V, len(m))
	for key, value := range m {
		copied := *value
		c[key] = &copied
	}
	return c
}
