package slots_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/scaledjob/scaledjob/slots"
)

const (
	lifetime = 30 * time.Second // L
	interval = 10 * time.Second // of polls
	half     = 20 * time.Minute // of a run
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A server runs objects in virtual time.
type server struct {
	work    time.Duration // of an object, about; 0 means that it never finishes
	objects []*record
	names   map[int64]*record // that exist
	late    []delayed
	now     time.Time
	created int // since it was last set to 0
	calls   int
	peak    int // unfinished objects
}

// A record is an object, and when it was created, finished and was deleted.
type record struct {
	slots.Object
	created, finished, deleted time.Time
}

// A delayed request was not answered, and has its effect later.
type delayed struct {
	due time.Time
	q   slots.Request
}

func newServer(work time.Duration) *server {
	return &server{work: work, names: map[int64]*record{}, now: noon}
}

// advance lets time pass.
func (s *server) advance(to time.Time) {
	slices.SortFunc(s.late, func(a, b delayed) int { return a.due.Compare(b.due) })
	for len(s.late) > 0 && !s.late[0].due.After(to) {
		s.now = s.late[0].due
		s.execute(s.late[0].q)
		s.late = s.late[1:]
	}
	s.now = to
}

func (s *server) unfinished() (n int) {
	for _, r := range s.names {
		if s.now.Before(r.finished) {
			n++
		}
	}
	return n
}

// execute carries a request out.
func (s *server) execute(q slots.Request) (slots.Result, string) {
	r := s.names[q.Number]
	switch {
	case q.Verb == slots.Mark, q.Verb == slots.List:
		return slots.Done, ""
	case q.Verb == slots.Delete:
		if r != nil && r.UID == q.UID {
			r.deleted = s.now
			delete(s.names, q.Number)
		}
		return slots.Done, ""
	case r != nil && q.UID != "" && r.UID != q.UID, r == nil && q.Verb == slots.Read:
		return slots.Absent, ""
	case r == nil:
		return slots.Done, s.create(q.Number)
	case !s.now.Before(r.finished):
		return slots.Occupied, r.UID
	}
	return slots.Done, r.UID
}

func (s *server) create(number int64) (uid string) {
	never := noon.Add(1e6 * time.Hour)
	r := &record{slots.Object{Number: number, UID: strconv.Itoa(len(s.objects))}, s.now, never, never}
	if s.created++; s.work > 0 {
		r.finished = s.now.Add(s.work * time.Duration(40+7*s.created%20) / 60)
	}
	s.objects, s.names[number] = append(s.objects, r), r
	s.peak = max(s.peak, s.unfinished())
	return r.UID
}

// list returns each object as it was at a time up to stale ago.
func (s *server) list(stale time.Duration) (objects []slots.Object) {
	for _, r := range s.objects {
		when := s.now
		if stale > 0 {
			when = when.Add(-rand.N(stale))
		}
		if !when.Before(r.created) && when.Before(r.deleted) {
			o := r.Object
			o.Finished = !when.Before(r.finished)
			objects = append(objects, o)
		}
	}
	return objects
}

// A controller polls a server.
type controller struct {
	server *server
	max    int64
	term   time.Duration // after which the process is killed; 0 means never
	stale  time.Duration // of lists
	plain  bool          // it polls at intervals only, whatever NextCheck says
	fault  func(slots.Request) (slots.Result, bool)

	set    *slots.Set
	began  time.Time
	marked bool
	cache  cache
}

// poll carries out a poll.
func (c *controller) poll() {
	now := c.server.now
	if c.set == nil || (c.term > 0 && now.Sub(c.began) >= c.term) {
		c.set, c.began = slots.New(slots.Options{RequestLifetime: lifetime, Start: now, Marked: c.marked}), now
		c.cache = cache{map[string]slots.Object{}, map[string]time.Time{}}
	}
	objects := c.cache.update(c.server.list(c.stale), now, c.stale)
	c.set.Replace(objects, now.Add(-c.stale))
	d := slots.Demand{Max: c.max, Create: c.max - c.set.Unfinished()}
	for _, o := range objects {
		if o.Finished {
			d.Delete = append(d.Delete, o.UID)
		}
	}
	c.set.Begin(d, now)
	for batch := c.set.Next(now); len(batch) > 0; batch = c.set.Next(now) {
		for _, q := range batch {
			c.send(q, objects)
		}
	}
}

func (c *controller) send(q slots.Request, objects []slots.Object) {
	c.server.calls++
	if q.Verb == slots.List {
		c.set.Replace(objects, c.server.now.Add(-c.stale))
	}
	var uid string
	result, faulty := slots.Unanswered, false
	if c.fault != nil && q.Verb != slots.List {
		result, faulty = c.fault(q)
	}
	if !faulty {
		result, uid = c.server.execute(q)
	}
	c.marked = c.marked || (q.Verb == slots.Mark && result == slots.Done)
	c.set.Answer(q, result, uid, c.server.now)
}

// run polls each interval, and at each NextCheck, until the time or until done reports true. It
// returns the number of intervals.
func (c *controller) run(length time.Duration, done func() bool) (polls int) {
	until := c.server.now.Add(length)
	for next := c.server.now; c.server.now.Before(until); polls++ {
		for next = next.Add(interval); c.server.now.Before(next); {
			c.poll()
			if done != nil && done() {
				return polls
			}
			check := c.set.NextCheck(c.server.now)
			if c.plain || check.IsZero() || check.After(next) {
				check = next
			}
			c.server.advance(check)
		}
	}
	return polls
}

// A cache makes one order of lists that are stale.
type cache struct {
	objects map[string]slots.Object
	began   map[string]time.Time // of the last list with the object
}

func (v *cache) update(list []slots.Object, began time.Time, stale time.Duration) (objects []slots.Object) {
	for _, o := range list {
		o.Finished = o.Finished || (stale > 0 && v.objects[o.UID].Finished)
		v.objects[o.UID], v.began[o.UID] = o, began
	}
	for uid, o := range v.objects {
		if began.Sub(v.began[uid]) > stale || (stale == 0 && v.began[uid] != began) {
			delete(v.objects, uid)
			continue
		}
		objects = append(objects, o)
	}
	slices.SortFunc(objects, func(a, b slots.Object) int { return cmp.Compare(a.UID, b.UID) })
	return objects
}
