package slots

import (
	"cmp"
	"slices"
	"time"
)

// A Demand is what a poll asks for. The zero value asks for nothing.
type Demand struct {
	Create int64 // objects to create
	Max    int64 // unfinished objects; creates that were not answered count
	// Delete are UIDs. Finished objects are deleted last, when the rules allow it. An object
	// that is not shown is not deleted: it is gone, or has not been observed yet.
	Delete []string
}

// A Verb is what a [Request] does.
type Verb string

// The verbs. The package's page says what an answer to each means.
const (
	Create Verb = "create" // create the object of Number; if its name exists, read that object
	Delete Verb = "delete" // delete the object with UID, as a precondition; see Request.Finished
	Read   Verb = "read"   // read the object of Number; with a UID: whether that object is still there and not being deleted
	List   Verb = "list"   // read all objects, and call Set.Replace, or Set.Synced when the observation shows them
	Mark   Verb = "mark"   // write to the lease, as its holder, that a number may be skipped
)

// A Request is a request to send. Send each at most once, and pass its reply to
// [Set.Answer]. Requests of one batch may be sent at the same time.
type Request struct {
	Verb   Verb
	Number int64  // 0 for List and Mark
	UID    string // empty for Create, List and Mark
	// Finished reports whether the object of a Delete had finished. If it had not, the delete
	// must fail once it has: send the resourceVersion that the observation showed as well.
	Finished bool

	set       *byte
	id, round int64
}

// A Result is the known outcome of a request.
type Result uint8

// The results.
const (
	Unanswered Result = iota // nothing is known: the request may still have its effect
	NoEffect                 // it had no effect and will have none
	Refused                  // as NoEffect, and the reason is this object: the next attempt may fail as well
	Done                     // of a Create or Read: our unfinished object is there; of a Delete: it is gone or being deleted
	Occupied                 // of a Create or Read: an object that has finished, or is not ours, has the name
	Absent                   // of a Read: nothing is there; with a UID: the object is gone or being deleted
)

// A poll is being carried out.
type poll struct {
	round     int64 // sequence at its begin
	stopped   bool  // by Stop
	stage     stage
	batch     int // size of the next batch
	max       int64
	remaining int64 // objects to create
	first     int64 // id of the create on the lowest free number; 0 before it
	rejected  int   // creates that were refused, or whose number is occupied
	failures  int   // creates without an effect or an answer, before one succeeded
	created   bool  // a create succeeded
	worked    bool  // one of the batch did
	queues    [stages][]Request
}

type stage uint8

const (
	reading stage = iota
	removing
	creating
	pruning
	stages
)

// Begin begins a poll. What has not been sent of the poll before is dropped.
func (s *Set) Begin(d Demand, now time.Time) {
	s.poll = poll{round: s.next(), batch: 1, max: d.Max, remaining: d.Create}
	s.poll.queues[reading] = s.due(now)
	for _, uid := range d.Delete {
		if o := s.objects[uid]; o != nil {
			s.queue(Request{Verb: Delete, UID: uid, Number: o.number, Finished: o.finished}, now)
		}
	}
	if len(s.poll.queues[pruning]) == 0 {
		s.historyWaits = time.Time{}
	}
}

// queue adds a delete, unless its object was refused a short time ago, or has one already.
func (s *Set) queue(q Request, now time.Time) {
	if now.Before(s.undeleted[q.UID].until) || s.deletes[q.UID] != nil {
		return
	}
	stage := removing
	if q.Finished {
		stage = pruning
	}
	s.poll.queues[stage] = append(s.poll.queues[stage], q)
}

// Next returns the requests to send now. It returns none while a request of the batch
// before has no answer, and when the poll is over: see [Set.NextCheck].
func (s *Set) Next(now time.Time) []Request {
	p := &s.poll
	if slices.ContainsFunc(s.sent, func(q Request) bool { return q.round == p.round }) {
		return nil
	}
	for ; p.stage < stages; p.stage, p.batch = p.stage+1, 1 {
		if batch := s.requests(now); len(batch) > 0 {
			p.batch = min(2*p.batch, maxBatch)
			for i := range batch {
				batch[i].set, batch[i].round = s.identity, p.round
			}
			s.sent = append(s.sent, batch...)
			return batch
		}
	}
	return nil
}

// requests returns the next batch of the stage.
func (s *Set) requests(now time.Time) []Request {
	switch s.poll.stage {
	case creating:
		return s.chooseCreates(now)
	case pruning:
		if !s.mayPrune(now) {
			return nil
		}
		batch := s.dequeue()
		for _, q := range batch {
			s.deletes[q.UID] = &deletion{sent: now}
			s.historyWaits = time.Time{}
		}
		return batch
	}
	return s.dequeue()
}

// dequeue returns the next requests of the stage's queue that are still needed.
func (s *Set) dequeue() (batch []Request) {
	queue := &s.poll.queues[s.poll.stage]
	for len(batch) == 0 && len(*queue) > 0 {
		n := min(s.poll.batch, len(*queue))
		batch = slices.DeleteFunc(slices.Clone((*queue)[:n]), s.needless)
		*queue = (*queue)[n:]
	}
	return batch
}

// needless reports whether a request that waited is about an object that is no longer shown, or
// whose object has finished or is being deleted since.
func (s *Set) needless(q Request) bool {
	o := s.objects[q.UID]
	switch {
	case q.UID == "":
		return false
	case o == nil:
		return true
	case q.Verb == Delete:
		return o.finished != q.Finished || (q.Finished && o.deleting)
	}
	return false
}

// mayPrune reports whether finished objects may be deleted now. It notes since when creates
// prevent that.
func (s *Set) mayPrune(now time.Time) bool {
	switch {
	case s.read.IsZero(), now.Before(s.past()), now.Before(s.deletePause.until):
		return false
	case s.pending(sending, unanswered) == 0:
		return true
	}
	if s.historyWaits.IsZero() && len(s.poll.queues[pruning]) > 0 {
		s.historyWaits = now
	}
	return false
}

// drains reports whether creates wait, because creates without an answer have prevented
// deletes for longer than L.
func (s *Set) drains(now time.Time) bool {
	if s.historyWaits.IsZero() || now.Before(s.past()) || now.Before(s.deletePause.until) {
		return false
	}
	return now.Sub(s.historyWaits) >= s.options.RequestLifetime
}

// due returns the reads that are due, and what the term needs, in a fixed order.
func (s *Set) due(now time.Time) (due []Request) {
	for number, c := range s.creates {
		wait := s.options.RequestLifetime
		if c.state == accepted {
			wait = s.options.ObservationLag
		}
		if c.state != sending && now.Sub(c.replied) >= wait {
			due = append(due, Request{Verb: Read, Number: number, id: c.id})
		}
	}
	for uid, d := range s.deletes {
		o := s.objects[uid]
		if o != nil && !d.replied.IsZero() && now.Sub(d.replied) >= s.options.RequestLifetime {
			due = append(due, Request{Verb: Read, Number: o.number, UID: uid})
		}
	}
	slices.SortFunc(due, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.UID, b.UID))
	})
	return append(due, s.needs(now)...)
}

// needs returns what the term needs before it may create, or may skip a number.
func (s *Set) needs(now time.Time) []Request {
	past := s.past()
	skip := s.needsSkip() && !now.Before(past)
	stale := !s.fresh() && !now.Before(s.ready())
	switch {
	case s.read.IsZero():
	case stale, skip && s.read.Before(past):
		return []Request{{Verb: List}}
	case skip && !s.marked:
		return []Request{{Verb: Mark}}
	}
	return nil
}

// Answer takes over the result of a request, with the UID of the object that was created or
// found. The result of a client that gave up is [Unanswered].
func (s *Set) Answer(q Request, r Result, uid string, now time.Time) {
	i := slices.Index(s.sent, q)
	if i < 0 {
		return
	}
	s.sent = slices.Delete(s.sent, i, i+1)
	switch q.Verb {
	case Mark:
		s.marked = s.marked || r == Done
	case Delete:
		s.answerDelete(q, r, now)
	case Create:
		s.answerCreate(q, r, uid, now)
		s.count(q, r, now)
	case Read:
		s.readFailed = r == Unanswered || r == Refused
		switch {
		case s.readFailed:
		case q.UID != "":
			s.answerReadOfDeleted(q, r == Absent || (uid != "" && uid != q.UID), now)
		default:
			s.answerCreate(q, r, uid, now)
		}
	}
}

// answerDelete takes over what is known about a delete.
func (s *Set) answerDelete(q Request, r Result, now time.Time) {
	if r == Refused && s.objects[q.UID] != nil {
		s.undeleted[q.UID] = s.undeleted[q.UID].fail(firstPause, longPause, now)
	}
	if !q.Finished {
		return
	}
	switch r {
	case Done:
		s.deletePause.failures = 0
	case Unanswered:
		s.deletePause = s.deletePause.fail(s.options.DeletePause, s.options.DeletePause<<6, now)
	}
	d := s.deletes[q.UID]
	switch {
	case d == nil:
	case r == Done || r == Unanswered:
		d.replied, d.unsure = now, r == Unanswered
	default:
		delete(s.deletes, q.UID)
	}
}

// answerReadOfDeleted takes over whether a deleted object is gone, or is still there: the delete has
// then had no effect. Since it was sent nothing was created: the next pause is twenty times as long.
func (s *Set) answerReadOfDeleted(q Request, gone bool, now time.Time) {
	d := s.deletes[q.UID]
	if d == nil {
		return
	}
	if gone {
		d.replied, d.unsure = now, false
		return
	}
	delete(s.deletes, q.UID)
	if l := s.options.RequestLifetime; d.unsure && l > 0 {
		share := float64(s.options.DeletePause) / float64(l)
		until := now.Add(time.Duration(share * float64(now.Sub(d.sent))))
		s.deletePause.until = later(s.deletePause.until, until)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
