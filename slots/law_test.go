package slots_test

import (
	"cmp"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
)

// faultsOf returns the fault that creates of the first k numbers have for ever.
func faultsOf(kind string, k int64, c *controller) func(slots.Request) (slots.Result, bool) {
	return func(q slots.Request) (slots.Result, bool) {
		if q.Verb != slots.Create || q.Number > k {
			return 0, false
		}
		switch kind {
		case "refused":
			return slots.Refused, true
		case "without effect":
			return slots.NoEffect, true
		case "admitted late":
			c.server.late = append(c.server.late, delayed{c.server.now.Add(lifetime - 1), q})
		}
		return slots.Unanswered, true
	}
}

// The law of the package's page: with k numbers whose creates fail in one way for ever, the others
// exist after 2 k + 8 polls, beside the creates that were not answered. They then stay.
func TestLaw(t *testing.T) {
	for _, kind := range []string{"refused", "without effect", "unanswered", "admitted late"} {
		for _, k := range []int64{1, 2, 8, 11, 12, 32, 64} {
			for _, plain := range []bool{false, true} {
				s := newServer(0)
				c := &controller{server: s, max: k + 6, plain: plain}
				c.fault = faultsOf(kind, k, c)
				full := func() bool {
					expected := c.max
					for number := range c.set.InFlight {
						if s.names[number] == nil {
							expected--
						}
					}
					return s.unfinished() >= 6 && int64(s.unfinished()) >= expected
				}
				polls := c.run(24*time.Hour, full)
				t.Logf("%-14s k = %2d, polls at intervals only %-5v: %3d polls", kind, k, plain, polls)
				require.LessOrEqual(t, polls, int(2*k)+8)
				c.run(2*time.Hour, nil)
				samples, missing := 0, 0
				c.run(time.Hour, func() bool {
					if samples++; !full() {
						missing++
					}
					return false
				})
				require.LessOrEqual(t, missing, samples/20)
				require.LessOrEqual(t, s.peak, int(c.max))
			}
		}
	}
}

// While the creates of all numbers fail, none is set aside: when they work again, the lowest numbers
// are created at once, and nothing is skipped.
func TestOutage(t *testing.T) {
	for _, result := range []slots.Result{slots.NoEffect, slots.Refused, slots.Unanswered} {
		for _, length := range []time.Duration{time.Minute, 10 * time.Minute, 5 * time.Hour} {
			s := newServer(0)
			failing, perPoll := true, map[time.Time]int{}
			c := &controller{server: s, max: 10, fault: func(q slots.Request) (slots.Result, bool) {
				if failing && q.Verb == slots.Create {
					perPoll[s.now]++
				}
				return result, failing && q.Verb == slots.Create
			}}
			c.run(length, nil)
			failing = false
			polls := c.run(time.Hour, func() bool { return s.unfinished() == 10 })
			t.Logf("result %d for %s: %d polls until all exist", result, length, polls)
			require.LessOrEqual(t, polls, 5)
			c.run(time.Minute, nil)
			for _, h := range c.set.Holds(s.now) {
				require.NotEqual(t, slots.NumbersSkipped, h.Reason)
			}
			if result != slots.Unanswered {
				require.NotNil(t, s.names[1], "the lowest number is created")
			}
			for when, n := range perPoll {
				require.LessOrEqual(t, n, 64)
				require.True(t, n <= 8 || when.Before(noon.Add(5*time.Minute)), "%d at %s", n, when)
			}
		}
	}
}

// Creates that fail now and then hold a burst up for a few polls.
func TestBurst(t *testing.T) {
	for _, result := range []slots.Result{slots.NoEffect, slots.Refused} {
		s, calls := newServer(0), 0
		c := &controller{server: s, max: 500, fault: func(q slots.Request) (slots.Result, bool) {
			calls++
			return result, q.Verb == slots.Create && calls%20 == 0
		}}
		polls := c.run(time.Hour, func() bool { return s.unfinished() == 500 })
		t.Logf("result %d: %d polls until 500 exist", result, polls)
		require.LessOrEqual(t, polls, 6)
	}
}

// A cause lasts for ever. It may take a part of the capacity, or of the time.
type cause struct {
	name   string
	verb   slots.Verb
	fault  func(number int64) (slots.Result, bool)
	term   time.Duration
	remain float64 // of the throughput; 0 means 1
}

func causes() []cause {
	from := func(low, high int64, r slots.Result) func(int64) (slots.Result, bool) {
		return func(number int64) (slots.Result, bool) { return r, low <= number && number <= high }
	}
	each := func(n int, r slots.Result) func(int64) (slots.Result, bool) {
		calls := 0
		return func(int64) (slots.Result, bool) { calls++; return r, calls%n == 0 }
	}
	return []cause{
		{name: "creates of 1 and 2 are refused", verb: slots.Create, fault: from(1, 2, slots.Refused)},
		{name: "creates of 1 to 50 are refused", verb: slots.Create, fault: from(1, 50, slots.Refused)},
		{name: "creates of 1 to 3 have no effect", verb: slots.Create, fault: from(1, 3, slots.NoEffect)},
		{name: "creates of 3 and 4 are not answered", verb: slots.Create, fault: from(3, 4, slots.Unanswered), remain: 0.8},
		{name: "each third create has no effect", verb: slots.Create, fault: each(3, slots.NoEffect)},
		{name: "each twentieth create is not answered", verb: slots.Create, fault: each(20, slots.Unanswered), remain: 0.95},
		{name: "deletes are not answered", verb: slots.Delete, fault: from(0, 1<<40, slots.Unanswered), remain: 0.95},
		{name: "deletes of 5 are not answered", verb: slots.Delete, fault: from(5, 5, slots.Unanswered), remain: 0.95},
		{name: "deletes are refused", verb: slots.Delete, fault: from(0, 1<<40, slots.Refused)},
		{name: "the process is killed each 10 minutes", term: 10 * time.Minute, remain: 0.9},
	}
}

// Whatever two causes stay for ever, the other objects are created: 20 minutes later, they are
// nearly as many as without the causes.
func TestAlive(t *testing.T) {
	throughput := func(c *controller) (*server, int) {
		c.server, c.max = newServer(time.Minute), 10
		c.run(half, nil)
		c.server.created = 0
		c.run(half, nil)
		return c.server, c.server.created
	}
	_, without := throughput(&controller{})
	require.Greater(t, without, 150)
	for i := range causes() {
		for j := range i + 1 {
			pair := []cause{causes()[i], causes()[j]}
			if i == j {
				pair = pair[:1]
			}
			c, share, what := &controller{}, 0.85, ""
			for _, p := range pair {
				c.term, share, what = max(c.term, p.term), share*cmp.Or(p.remain, 1), what+p.name+"; "
			}
			c.fault = func(q slots.Request) (slots.Result, bool) {
				for _, p := range pair {
					if p.fault != nil && p.verb == q.Verb {
						if r, hit := p.fault(q.Number); hit {
							return r, true
						}
					}
				}
				return 0, false
			}
			s, created := throughput(c)
			t.Logf("%s %d requests: %d of %d", what, s.calls, created, without)
			require.GreaterOrEqual(t, float64(created), share*float64(without), what)
			require.LessOrEqual(t, s.peak, 10, what)
			if c.term == 0 {
				require.Less(t, s.calls, 40*len(s.objects), what)
			}
		}
	}
}

// Lists that are older than their request become an observation by the rule of the page, also if
// requests are lost and late, and processes are killed.
func TestStaleLists(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		s := newServer(time.Minute)
		c := &controller{server: s, max: 3, term: 3 * time.Minute, stale: 25 * time.Second, fault: func(q slots.Request) (slots.Result, bool) {
			change := q.Verb == slots.Create || q.Verb == slots.Delete
			if !change || random.IntN(10) > 0 {
				return 0, false
			}
			if random.IntN(3) > 0 {
				s.late = append(s.late, delayed{s.now.Add(time.Duration(random.Int64N(int64(lifetime)))), q})
			}
			return slots.Unanswered, true
		}}
		c.run(2*half, nil)
		require.LessOrEqual(t, s.peak, 3, "seed %d", seed)
		require.Positive(t, s.created)
	}
}

// Creates without an answer do not keep finished objects for ever.
func TestHistoryIsPruned(t *testing.T) {
	s, calls := newServer(time.Minute), 0
	c := &controller{server: s, max: 10, fault: func(q slots.Request) (slots.Result, bool) {
		if q.Verb == slots.Create {
			calls++
		}
		return slots.Unanswered, q.Verb == slots.Create && calls%3 == 0
	}}
	finished := 0
	c.run(3*time.Hour, func() bool { finished = max(finished, len(s.names)); return false })
	t.Logf("at most %d objects exist, %d were created", finished, len(s.objects))
	require.Less(t, finished, 60)
	require.Greater(t, len(s.objects), 500)
}
