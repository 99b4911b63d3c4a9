package slots

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Ask returns a Want for a list of items that begins now. Call it right before the source is
// asked, and fill in Items.
func (s *Set) Ask() Want {
	s.asked = s.next()
	return Want{of: s.self, at: s.asked}
}

// Want holds the demand of a poll. The zero value asks for nothing.
type Want struct {
	Create int64 // objects to create; a keyed set creates for items only
	Max    int64 // unfinished objects, at most; what is unanswered counts
	// Items are the source's items, in its order. They are a complete list that is no
	// older than its request, before which [Set.Ask] returned the Want. A list that began before
	// another Set, or before the objects were read, is not taken. In a Want of another origin
	// there is no list: nothing keyed is created or deleted.
	Items []Slot
	// Revision grows with the lists of a source, such as a time, if the source states it; else
	// 0. A list with a lower Revision than another list is not taken.
	Revision int64
	// Retries is how many times an item runs again after its object has failed, if a list that began
	// after that still has the item. Each time has the next attempt as its Number.
	Retries int64
	// Delete are UIDs. Finished objects are deleted last, when the rules allow it. An object
	// that is not shown is not deleted: it is gone, or has not been observed yet.
	Delete []string

	of *byte
	at int64
}

// A Request is a request to send, of a verb of the package's page. Send each at most once, and pass
// its reply to [Set.Answer]. Requests of one batch may be sent at the same time.
type Request struct {
	Verb string
	Slot Slot   // zero for list and mark
	UID  string // empty for create, list and mark
	// Finished reports whether the object of a delete had finished. If it had not, the delete
	// must fail once it has: send the resourceVersion that the observation showed as well.
	Finished bool

	of        *byte
	id, round int64
}

// A Result is the known outcome of a request.
type Result uint8

const (
	Unanswered Result = iota // nothing is known: the request may still have its effect
	None                     // it had no effect and will have none; of a read: nothing is there
	Refused                  // as None, and the reason is this object: the next attempt may fail as well
	Done                     // of a create or read: our unfinished object is there; of a delete: it is gone or being deleted
	Taken                    // of a create or read: an object that has finished, is not ours, or has another key is there
)

// A work is a poll that is being carried out.
type work struct {
	round   int64 // seq at its begin
	stopped bool  // by Stop
	stage   stage
	size    int // of the next batch
	max     int64
	left    int64 // objects to create
	items   []Slot
	passed  int  // slots of this poll that were taken or refused
	made    bool // the batch under way has made an object
	some    bool // the poll has made an object, or counts as tired
	again   bool // a number that was set aside has been tried again: one in each poll
	queues  [over][]Request
}

type stage uint8

const (
	reading stage = iota
	removing
	creating
	pruning
	over
)

// Want begins a poll. The rest of the poll before is dropped.
func (s *Set) Want(w Want, now time.Time) {
	s.work = work{round: s.next(), size: 1, max: w.Max, left: w.Create}
	s.takeList(w)
	s.work.queues[reading] = s.due(now)
	for _, uid := range w.Delete {
		if o := s.objects[uid]; o != nil {
			s.queue(Request{Verb: "delete", UID: uid, Slot: o.Slot, Finished: o.ended > 0}, now)
		}
	}
	if len(s.work.queues[pruning]) == 0 {
		s.blocked = time.Time{}
	}
}

// queue adds a delete, unless its object was refused a short time ago, or has one already.
func (s *Set) queue(q Request, now time.Time) {
	at := removing
	if q.Finished {
		at = pruning
	}
	if now.Before(s.held[q.UID].until) || s.deletes[q.UID] != nil || at == pruning && s.options.Keyed && !s.mayDelete(q.UID) {
		return
	}
	s.work.queues[at] = append(s.work.queues[at], q)
}

// takeList takes over a list of items, if it may be used.
func (s *Set) takeList(w Want) {
	if !s.options.Keyed {
		return
	}
	if s.stale(&w) {
		s.work.left = 0
		return
	}
	all, _, back := s.listed(w.Items)
	items := attempts(all)
	for _, key := range back {
		items[key] = s.items[key]
	}
	s.work.items = all
	s.list, s.retries, s.revision, s.items = w.at, w.Retries, max(s.revision, w.Revision), items
	for key, at := range s.known {
		if at < s.list {
			remove(&s.known, key)
		}
	}
	for slot := range s.refused {
		if _, listed := s.items[slot.Key]; !listed {
			remove(&s.refused, slot)
		}
	}
}

// stale reports whether a list may not be used: it is none, it did not begin in this term
// after the objects were read, or there was a newer list.
func (s *Set) stale(w *Want) bool {
	return w.of != s.self || w.at <= s.reads || !s.fresh() || w.at < s.list || w.Revision != 0 && w.Revision < s.revision
}

// listed returns the items of a list that may be worked on: the first of each key, unless its
// attempt is lower than in the list before.
func (s *Set) listed(all []Slot) (items []Slot, repeated, back []string) {
	seen := make(map[string]bool, len(all))
	for _, item := range all {
		switch {
		case item.Key == "" || seen[item.Key]:
			repeated = append(repeated, item.Key)
		case item.Number < s.items[item.Key]:
			back = append(back, item.Key)
		default:
			items = append(items, item)
		}
		seen[item.Key] = true
	}
	return items, repeated, back
}

// attempts returns the attempts of items by their keys.
func attempts(items []Slot) map[string]int64 {
	of := make(map[string]int64, len(items))
	for _, item := range items {
		of[item.Key] = item.Number
	}
	return of
}

// mayDelete reports whether a list that began after the object's end was shown lacks its key.
func (s *Set) mayDelete(uid string) bool {
	o := s.objects[uid]
	if o == nil || o.ended == 0 || o.ended >= s.list || s.list == 0 {
		return false
	}
	_, listed := s.items[o.Key]
	return !listed
}

// Next returns the requests to send now. It returns none while a request of the batch
// before is unanswered, and when nothing is left to send: see [Set.NextCheck].
func (s *Set) Next(now time.Time) []Request {
	w := &s.work
	for _, q := range s.out {
		if q.round == w.round && w.stage < over {
			return nil
		}
	}
	for ; w.stage < over; w.stage, w.size = w.stage+1, 1 {
		if batch := s.batch(now); len(batch) > 0 {
			w.size = min(2*w.size, maxBatch)
			for i := range batch {
				batch[i].of, batch[i].round = s.self, w.round
			}
			s.out = append(s.out, batch...)
			return batch
		}
	}
	return nil
}

func (s *Set) batch(now time.Time) (batch []Request) {
	w := &s.work
	switch w.stage {
	case creating:
		return s.creates(now)
	case pruning:
		if !s.mayPrune(now) {
			return nil
		}
	}
	n := min(w.size, len(w.queues[w.stage]))
	batch = slices.Clone(w.queues[w.stage][:n])
	w.queues[w.stage] = w.queues[w.stage][n:]
	batch = slices.DeleteFunc(batch, s.needless)
	if n > 0 && len(batch) == 0 {
		return s.batch(now)
	}
	if w.stage == pruning {
		for _, q := range batch {
			put(&s.deletes, q.UID, &doubt{sent: now})
		}
		s.blocked = time.Time{}
	}
	return batch
}

// needless reports whether a request that waited is about an object that is no longer shown, or
// whether its object has finished or is deleted since.
func (s *Set) needless(q Request) bool {
	switch o := s.objects[q.UID]; {
	case q.UID == "":
		return false
	case o == nil:
		return true
	case q.Verb != "delete":
		return false
	default:
		return o.ended > 0 != q.Finished || q.Finished && (o.deleting || s.deletes[q.UID] != nil)
	}
}

// mayPrune reports whether finished objects may be deleted now. A keyed set has no gate
// beside mayDelete.
func (s *Set) mayPrune(now time.Time) bool {
	switch {
	case s.reads == 0, now.Before(s.past()):
		return false
	case s.options.Keyed:
		return s.fresh()
	case now.Before(s.resting.until):
		return false
	case s.doubts(sending) == 0:
		return true
	}
	if s.blocked.IsZero() && len(s.work.queues[pruning]) > 0 {
		s.blocked = now
	}
	return false
}

// drains reports whether creates wait, because creates in doubt have prevented deletes for
// longer than L.
func (s *Set) drains(now time.Time) bool {
	return !s.blocked.IsZero() && now.Sub(s.blocked) >= s.options.Late && !now.Before(s.past()) &&
		!now.Before(s.resting.until) && len(s.work.queues[pruning]) > 0
}

// creates returns creates on free slots: at most the next batch, and within the maximum. After
// polls with refused creates alone it returns fewer.
func (s *Set) creates(now time.Time) (batch []Request) {
	w := &s.work
	w.made = false
	tries := max(leastTries, maxBatch>>min(s.tired, 6))
	n := min(int64(w.size), int64(tries-w.passed), w.left, max(0, w.max)-s.Unfinished())
	switch {
	case n <= 0 || len(s.gates(now)) > 0:
	case s.options.Keyed:
		batch = s.keys(n, now)
	default:
		batch = s.numbers(n, now)
	}
	if len(batch) == 0 && w.passed >= leastTries && !w.some {
		w.some, s.tired = true, s.tired+1
		if w.passed >= tries {
			s.backOff(now)
		}
	}
	return batch
}

// fly begins a flight.
func (s *Set) fly(slot Slot) Request {
	f := &flight{id: s.next()}
	put(&s.flights, slot, f)
	return Request{Verb: "create", Slot: slot, id: f.id}
}

// numbers returns creates on the lowest free numbers.
func (s *Set) numbers(n int64, now time.Time) (batch []Request) {
	n = min(n, int64(max(1, mostAside-len(s.refused)))) // which may all be refused
	busy := make(map[int64]bool, len(s.objects)+len(s.flights))
	for _, o := range s.objects {
		busy[o.Number] = true
	}
	for slot := range s.flights {
		busy[slot.Number] = true
	}
	aside, again, last := s.mayAside(), s.again(busy, now), int64(math.MaxInt64)
	full := len(s.refused) >= mostAside // no others are tried
	if full {
		last = again
	}
	for k := int64(1); k <= last && int64(len(batch)) < n; k++ {
		slot := Slot{Number: k}
		switch r, refused := s.refused[slot]; {
		case busy[k], full && !refused, aside && refused && k != again:
			continue
		case !aside && refused && now.Before(r.soon()):
			return batch
		}
		s.work.again = s.work.again || k == again
		batch = append(batch, s.fly(slot))
	}
	return batch
}

// again returns the refused number that is tried again in this poll: the one with the fewest
// failures, so that each is in its turn. It returns 0 if there is none.
func (s *Set) again(busy map[int64]bool, now time.Time) (number int64) {
	for slot, r := range s.refused {
		at := r.until
		if len(s.refused) >= mostAside {
			at = r.soon()
		}
		least := s.refused[Slot{Number: number}].n
		if !s.work.again && !busy[slot.Number] && !now.Before(at) && (number == 0 || r.n < least || r.n == least && slot.Number < number) {
			number = slot.Number
		}
	}
	return number
}

// keys returns creates for the first items that have no object. Those that failed come last.
func (s *Set) keys(n int64, now time.Time) (batch []Request) {
	open := s.open(s.work.items, s.list, s.retries)
	if len(s.refused) > 0 {
		slices.SortStableFunc(open, func(a, b Slot) int { return cmp.Compare(s.refused[a].n, s.refused[b].n) })
	}
	for _, slot := range open {
		if int64(len(batch)) == n {
			break
		}
		if known, is := s.known[slot.Key]; is && known >= s.list || now.Before(s.refused[slot].until) {
			continue
		}
		batch = append(batch, s.fly(slot))
	}
	return batch
}

// open returns the slots of the items of a list that have no object: with the item's attempt,
// or the one after an object that failed before the list began. No key repeats.
func (s *Set) open(items []Slot, list, retries int64) (open []Slot) {
	type attempt struct {
		number int64
		again  bool // the next attempt may begin
	}
	busy := map[string]bool{} // keys with unfinished objects or creates
	first := attempts(items)
	newest := map[string]attempt{}
	note := func(slot Slot, again bool) {
		if n, listed := first[slot.Key]; !listed || slot.Number < n {
			return
		}
		is, known := newest[slot.Key]
		switch {
		case !known || slot.Number > is.number:
			newest[slot.Key] = attempt{slot.Number, again}
		case slot.Number == is.number:
			newest[slot.Key] = attempt{slot.Number, is.again && again}
		}
	}
	for _, o := range s.objects {
		note(o.Slot, o.failed && o.ended < list)
		busy[o.Key] = busy[o.Key] || o.ended == 0
	}
	for slot, f := range s.flights {
		note(slot, false)
		busy[slot.Key] = busy[slot.Key] || f.state < taken
	}
	for _, slot := range items {
		is, known := newest[slot.Key]
		switch {
		case busy[slot.Key]:
		case !known:
			open = append(open, slot)
		case is.again && is.number < lastAttempt(slot.Number, retries):
			open = append(open, Slot{slot.Key, is.number + 1})
		}
	}
	return open
}

// lastAttempt returns the last attempt of an item whose first is that.
func lastAttempt(first, retries int64) int64 {
	return first + min(max(0, retries), math.MaxInt64-max(0, first))
}

// Waiting returns how many items of a list have no object. Items that are skipped do not count.
func (s *Set) Waiting(w Want) int64 {
	items, _, _ := s.listed(w.Items)
	return int64(len(s.open(items, w.at, w.Retries)))
}

// due returns the reads that are due, and what the term needs, in a fixed order.
func (s *Set) due(now time.Time) (due []Request) {
	for slot, f := range s.flights {
		wait := s.options.Late
		if f.state == accepted {
			wait = s.options.Unshown
		}
		if f.state != sending && now.Sub(f.at) >= wait {
			due = append(due, Request{Verb: "read", Slot: slot, id: f.id})
		}
	}
	for uid, d := range s.deletes {
		if o := s.objects[uid]; o != nil && !d.at.IsZero() && now.Sub(d.at) >= s.options.Late {
			due = append(due, Request{Verb: "read", Slot: o.Slot, UID: uid})
		}
	}
	slices.SortFunc(due, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Slot.Key, b.Slot.Key), cmp.Compare(a.Slot.Number, b.Slot.Number), cmp.Compare(a.UID, b.UID))
	})
	return append(due, s.needs(now)...)
}

// needs returns what the term needs before it may create, or may set a number aside.
func (s *Set) needs(now time.Time) []Request {
	past := s.options.Start.Add(s.options.Late)
	aside := len(s.refused) > 0 && !s.options.Keyed && !now.Before(past)
	switch {
	case s.reads == 0:
	case !s.fresh() && !now.Before(s.ready()), aside && s.read.Before(past):
		return []Request{{Verb: "list"}}
	case aside && !s.marked:
		return []Request{{Verb: "mark"}}
	}
	return nil
}

// Answer takes over the result of a request, with the UID of the object that was created or
// found. The result of a client that gave up is [Unanswered].
func (s *Set) Answer(q Request, r Result, uid string, now time.Time) {
	i := slices.Index(s.out, q)
	if i < 0 {
		return
	}
	s.out = slices.Delete(s.out, i, i+1)
	switch {
	case q.Verb == "mark":
		s.marked = s.marked || r == Done
	case q.Verb == "delete":
		s.pruned(q, r, now)
	case q.Verb == "create":
		s.created(q, r, uid, now)
		s.progress(q, r, now)
	case q.Verb == "list":
	case r == Unanswered || r == Refused:
		s.unread = true
	case q.UID != "": // whether the delete had its effect
		if s.unread = false; r == None || uid != "" && uid != q.UID {
			r = Done
		} else {
			r = None
		}
		s.pruned(q, r, now)
	default:
		s.unread = false
		s.created(q, r, uid, now)
	}
}

// progress counts the reply to a create in the work, and backs off after failures. A refused
// create is no evidence about other slots: the next one takes its place.
func (s *Set) progress(q Request, r Result, now time.Time) {
	w := &s.work
	mine := q.round == w.round
	if mine && (r == Taken || r == Refused) {
		w.passed++
	}
	switch {
	case r == Done:
		s.retry, s.tired = backoff{}, 0
		if mine {
			w.left, w.made, w.some = w.left-1, true, true
		}
	case r == Taken:
		w.made = w.made || mine
	case r == Refused:
	case mine && (w.made || w.stopped): // others of the batch succeed, or the caller did not send it
	default:
		s.backOff(now)
	}
}

// backOff lets all creates wait.
func (s *Set) backOff(now time.Time) {
	s.retry = s.retry.fail(firstRetry, min(mostRetry, max(firstRetry, s.options.Late)), now)
}

// created takes over what is known about a create.
func (s *Set) created(q Request, r Result, uid string, now time.Time) {
	f := s.flights[q.Slot]
	if f == nil || f.id != q.id {
		return
	}
	f.uid, f.at = uid, now
	switch r {
	case Unanswered:
		f.state = unanswered
	case None, Refused:
		remove(&s.flights, q.Slot)
		if q.Verb == "read" {
			s.knew(q.Slot)
		}
		if b, is := s.refused[q.Slot]; r == Refused || q.Verb == "read" && (is || s.options.Keyed) {
			put(&s.refused, q.Slot, b.fail(firstRetry, mostAsideRetry, now))
		} else if q.Verb == "read" { // a create that is never answered again counts as refused
			put(&s.refused, q.Slot, backoff{n: 1, until: now})
		}
	case Done:
		f.state = accepted
		remove(&s.refused, q.Slot)
	case Taken:
		f.state = taken
		remove(&s.refused, q.Slot)
	}
	if f.over() {
		remove(&s.flights, q.Slot)
	}
}

// pruned takes over what is known about a delete.
func (s *Set) pruned(q Request, r Result, now time.Time) {
	d := s.deletes[q.UID]
	switch {
	case (r == Refused || r == Unanswered && s.options.Keyed) && s.objects[q.UID] != nil:
		put(&s.held, q.UID, s.held[q.UID].fail(firstRetry, mostAsideRetry, now))
	case r == Done && q.Finished:
		s.resting.n = 0
	}
	if q.Finished && r == Unanswered {
		s.resting = s.resting.fail(s.options.Rest, s.options.Rest<<6, now)
	}
	if d == nil {
		return
	}
	d.at, d.unsure = now, d.unsure || r == Unanswered
	if r == None || r == Refused {
		if lost := now.Sub(d.sent); d.unsure && s.options.Late > 0 { // in which nothing was created
			rest := now.Add(time.Duration(float64(lost) * float64(s.options.Rest) / float64(s.options.Late)))
			if rest.After(s.resting.until) {
				s.resting.until = rest
			}
		}
		remove(&s.deletes, q.UID)
	}
}
