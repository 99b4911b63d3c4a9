package slots_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
)

// A plant is a server in virtual time. Its objects work for about a minute.
type plant struct {
	things  []*thing
	names   map[slots.Slot]*thing // that exist
	late    []arrival
	creates int // since the middle of the run
	sent    int // requests
	peak    int // unfinished objects
	twice   int // items with two objects
}

// A thing is an object, and when it was created, ended and was deleted.
type thing struct {
	slots.Object
	made, ended, gone time.Time
}

// An arrival is a request that was not answered, and has its effect later.
type arrival struct {
	at time.Time
	q  slots.Request
}

func (p *plant) execute(q slots.Request, now time.Time) (slots.Result, string) {
	is := p.names[q.Slot]
	switch {
	case q.Verb == "delete":
		if is != nil && is.UID == q.UID {
			is.gone = now
			delete(p.names, q.Slot)
		}
		return slots.Done, ""
	case q.Verb == "mark", q.Verb == "list":
		return slots.Done, ""
	case is != nil && !now.Before(is.ended):
		return slots.Taken, is.UID
	case is != nil:
		return slots.Done, is.UID
	case q.Verb == "read":
		return slots.None, ""
	}
	p.creates++
	is = &thing{slots.Object{Slot: q.Slot, UID: strconv.Itoa(len(p.things))}, now, now.Add(time.Duration(40+7*p.creates%20) * time.Second), now.Add(1e6 * time.Hour)}
	unfinished := 1
	for _, other := range p.things {
		if now.Before(other.ended) && now.Before(other.gone) {
			unfinished++
		}
		if q.Slot.Key != "" && other.Slot == q.Slot {
			p.twice++
		}
	}
	p.peak = max(p.peak, unfinished)
	p.things, p.names[q.Slot] = append(p.things, is), is
	return slots.Done, is.UID
}

// list returns each object as it was at a time up to stale ago.
func (p *plant) list(now time.Time, stale time.Duration) (all []slots.Object) {
	for _, is := range p.things {
		at := now
		if stale > 0 {
			at = now.Add(-rand.N(stale))
		}
		if !at.Before(is.made) && at.Before(is.gone) {
			o := is.Object
			o.Finished = !at.Before(is.ended)
			all = append(all, o)
		}
	}
	return all
}

// A situation is the world of a controller.
type situation struct {
	keyed bool
	most  int64
	bad   int           // items that stay first in the list, and whose creates are refused
	term  time.Duration // after which the process is killed; 0 means never
	stale time.Duration // of lists
	fault func(p *plant, q slots.Request, now time.Time) (slots.Result, bool)
}

// A view makes one order of lists that are stale.
type view struct {
	objects map[string]slots.Object
	last    map[string]time.Time // start of the last list with the object
}

func (v *view) list(all []slots.Object, began time.Time, stale time.Duration) (shown []slots.Object) {
	for _, o := range all {
		o.Finished = o.Finished || stale > 0 && v.objects[o.UID].Finished
		v.objects[o.UID], v.last[o.UID] = o, began
	}
	for uid, o := range v.objects {
		if began.Sub(v.last[uid]) > stale || stale == 0 && v.last[uid] != began {
			delete(v.objects, uid)
			continue
		}
		shown = append(shown, o)
	}
	slices.SortFunc(shown, func(a, b slots.Object) int { return cmp.Compare(a.UID, b.UID) })
	return shown
}

const late, every, half = 30 * time.Second, 10 * time.Second, 20 * time.Minute

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// run returns the plant after 40 minutes.
func (c situation) run() *plant {
	p := &plant{names: map[slots.Slot]*thing{}}
	var s *slots.Set
	var seen view
	var began time.Time
	var items []slots.Slot
	aside, listed, later := false, 0, false
	for now := noon; now.Before(noon.Add(2 * half)); {
		slices.SortFunc(p.late, func(a, b arrival) int { return a.at.Compare(b.at) })
		for len(p.late) > 0 && !p.late[0].at.After(now) {
			p.execute(p.late[0].q, p.late[0].at)
			p.late = p.late[1:]
		}
		if !later && now.Sub(noon) >= half {
			later, p.creates = true, 0
		}
		if s == nil || c.term > 0 && now.Sub(began) >= c.term {
			s, began = slots.New(slots.Options{Late: late, Start: now, Keyed: c.keyed, Aside: aside}), now
			seen = view{map[string]slots.Object{}, map[string]time.Time{}}
		}
		shown := seen.list(p.list(now, c.stale), now, c.stale)
		s.Replace(shown, now.Add(-c.stale))
		w := s.Ask()
		w.Max, w.Create = c.most, c.most-s.Unfinished()
		for _, o := range shown {
			if o.Finished {
				w.Delete = append(w.Delete, o.UID)
			}
		}
		if c.keyed {
			w.Create = c.most
			items = slices.DeleteFunc(items, func(i slots.Slot) bool { is := p.names[i]; return is != nil && !now.Before(is.ended) })
			for ; len(items) < c.bad+50; listed++ {
				items = append(items, slots.Slot{Key: strconv.Itoa(listed)})
			}
			w.Items = items
		}
		s.Want(w, now)
		for batch := s.Next(now); len(batch) > 0; batch = s.Next(now) {
			for _, q := range batch {
				p.sent++
				if q.Verb == "list" {
					s.Replace(shown, now.Add(-c.stale))
				}
				r, uid := slots.Unanswered, ""
				if fault, is := c.fault(p, q, now); is && q.Verb != "list" {
					r = fault
				} else {
					r, uid = p.execute(q, now)
				}
				aside = aside || q.Verb == "mark" && r == slots.Done
				s.Answer(q, r, uid, now)
			}
		}
		next := now.Add(every)
		if check := s.NextCheck(now); !check.IsZero() && check.Before(next) {
			next = check
		}
		now = next
	}
	return p
}

// A cause lasts for ever. It may take a part of the capacity, or of the time.
type cause struct {
	name   string
	verb   string
	fault  func(slots.Slot) (slots.Result, bool)
	bad    int
	term   time.Duration
	leaves float64 // 0 means 1
}

func causes() []cause {
	from := func(low, high int64, r slots.Result) func(slots.Slot) (slots.Result, bool) {
		return func(s slots.Slot) (slots.Result, bool) {
			n := s.Number
			if s.Key != "" {
				i, _ := strconv.Atoi(s.Key)
				n = int64(i) + 1
			}
			return r, low <= n && n <= high
		}
	}
	every := func(n int, r slots.Result) func(slots.Slot) (slots.Result, bool) {
		calls := 0
		return func(slots.Slot) (slots.Result, bool) { calls++; return r, calls%n == 0 }
	}
	all := int64(1 << 40)
	return []cause{
		{name: "creates of 1 and 2 are refused", verb: "create", fault: from(1, 2, slots.Refused), bad: 2},
		{name: "creates of 1 to 50 are refused", verb: "create", fault: from(1, 50, slots.Refused), bad: 50},
		{name: "creates of 3 and 4 are not answered", verb: "create", fault: from(3, 4, slots.Unanswered), bad: 4, leaves: 0.8},
		{name: "each third create has no effect", verb: "create", fault: every(3, slots.None)},
		{name: "each twentieth create is not answered", verb: "create", fault: every(20, slots.Unanswered), leaves: 0.95},
		{name: "deletes are not answered", verb: "delete", fault: from(0, all, slots.Unanswered), leaves: 0.95},
		{name: "deletes of 5 are not answered", verb: "delete", fault: from(5, 5, slots.Unanswered), leaves: 0.95},
		{name: "deletes are refused", verb: "delete", fault: from(0, all, slots.Refused)},
		{name: "the process is killed each 10 minutes", term: 10 * time.Minute, leaves: 0.9},
	}
}

func never(*plant, slots.Request, time.Time) (slots.Result, bool) { return 0, false }

// Whatever two causes stay for ever, the other objects are created: 20 minutes later, they are
// nearly as many as without the causes.
func TestAlive(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		without := situation{keyed: keyed, most: 10, fault: never}.run().creates
		require.Greater(t, without, 150)
		for i := range causes() {
			for j := range i + 1 {
				a, b := causes()[i], causes()[j]
				if i == j {
					b = cause{}
				}
				p := situation{keyed: keyed, most: 10, bad: max(a.bad, b.bad), term: max(a.term, b.term), fault: func(_ *plant, q slots.Request, _ time.Time) (slots.Result, bool) {
					for _, is := range []cause{a, b} {
						if is.fault != nil && is.verb == q.Verb {
							if r, hit := is.fault(q.Slot); hit {
								return r, true
							}
						}
					}
					return 0, false
				}}.run()
				what := fmt.Sprintf("keyed %v: %s; %s: %d requests", keyed, a.name, b.name, p.sent)
				t.Logf("%s: %d of %d", what, p.creates, without)
				require.GreaterOrEqual(t, float64(p.creates), 0.85*cmp.Or(a.leaves, 1)*cmp.Or(b.leaves, 1)*float64(without), what)
				require.LessOrEqual(t, p.peak, 10, what)
				require.Zero(t, p.twice, what)
				if a.term == 0 {
					require.Less(t, p.sent, 40*len(p.things), what)
				}
			}
		}
	}
}

// While all creates are refused, such as by a full quota, a poll has few of them. When they are no
// longer refused, the objects are as many as before.
func TestQuota(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		for _, most := range []int64{10, 200} {
			calls, polls := 0, map[time.Time]int{}
			p := situation{keyed: keyed, most: most, fault: func(_ *plant, q slots.Request, now time.Time) (slots.Result, bool) {
				full := q.Verb == "create" && now.Before(noon.Add(half))
				if full {
					calls++
					polls[now]++
				}
				return slots.Refused, full
			}}.run()
			t.Logf("keyed %v, most %d: %d refused in %d polls, then %d objects", keyed, most, calls, len(polls), p.creates)
			require.Less(t, calls, 1200)
			for at, n := range polls {
				require.LessOrEqual(t, n, 64)
				require.True(t, n <= 8 || at.Before(noon.Add(5*time.Minute)), "%d at %s", n, at)
			}
			without := situation{keyed: keyed, most: most, fault: never}.run().creates
			require.GreaterOrEqual(t, float64(p.creates), 0.85*float64(without))
		}
	}
}

// Lists that are older than their request become an observation by the rule of the page, also if
// requests are lost and late, and processes are killed.
func TestStaleLists(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for _, keyed := range []bool{false, true} {
		for range 20 {
			p := situation{keyed: keyed, most: 3, term: 3 * time.Minute, stale: 25 * time.Second, fault: func(p *plant, q slots.Request, now time.Time) (slots.Result, bool) {
				if q.Verb != "create" && q.Verb != "delete" || random.IntN(10) > 0 {
					return 0, false
				}
				if random.IntN(3) > 0 {
					p.late = append(p.late, arrival{now.Add(time.Duration(random.Int64N(int64(late)))), q})
				}
				return slots.Unanswered, true
			}}.run()
			require.LessOrEqual(t, p.peak, 3, "seed %d", seed)
			require.Zero(t, p.twice, "seed %d", seed)
			require.Positive(t, p.creates)
		}
	}
}
