package requests_test

// What the tests hold:
//
//	Claim                                           Test
//	turns of namespaces and owners                  TestTurns
//	a quarter for congested owners                  TestQuarter
//	slots of requests that hang                     TestHanging
//	Retry-After                                     TestRetryAfter
//	load of the API server                          TestOverload, TestRetry; TestOverloadedServer in adapter/loop
//	congestion in many namespaces                   TestWidespread
//	no goroutine for a waiting request              TestManyHang in adapter/loop
//	the law, with a tracker and any faults          TestLaw, TestLawOfMixtures in adapter/loop
//	a term ends for good, also if the lease is taken again   Example; TestTakenAgain in adapter/loop
//	what the mark says                              TestMark in adapter/loop
//	a request has a deadline of its own             TestRequest
//	the term of a context                           TestWithTerm; TestMayAct in adapter/loop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

func owner(namespace, name string) requests.Owner {
	return requests.Owner{Namespace: namespace, Name: name}
}

// A log notes the owners whose requests got a slot.
type log struct {
	mu  sync.Mutex
	all []string
}

func (l *log) add(o requests.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, o.Namespace+o.Name)
}

func (l *log) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// ask sends a request of an owner that takes some time and has an answer.
func (l *log) ask(ctx context.Context, q *requests.Queue, o requests.Owner, took time.Duration, a requests.Answer, after time.Duration) {
	q.Do(ctx, o, func(ctx context.Context) {
		l.add(o)
		slot, free, err := q.Wait(ctx)
		if err != nil {
			return
		}
		defer free()
		slot.Sends("POST jobs")
		time.Sleep(took)
		slot.Answered(a, after)
	})
}

// Namespaces have turns, and the owners of a namespace have, however many requests they have.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := requests.NewQueue(1), &log{}
		for range 4 {
			l.ask(t.Context(), q, owner("a", "1"), time.Millisecond, requests.Success, 0)
		}
		l.ask(t.Context(), q, owner("a", "2"), time.Millisecond, requests.Success, 0)
		for range 3 {
			l.ask(t.Context(), q, owner("b", "1"), time.Millisecond, requests.Success, 0)
		}
		time.Sleep(time.Second)
		require.Equal(t, []string{"a1", "a1", "b1", "a2", "b1", "a1", "b1", "a1"}, l.got())
		require.Equal(t, requests.Stats{Slots: 1}, q.Stats())
	})
}

// With several slots, the owner with the fewest requests in flight is next, so that an
// owner whose requests take long does not come to hold all.
func TestFewestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := requests.NewQueue(10), &log{}
		for range 100 {
			l.ask(t.Context(), q, owner("a", "long"), time.Second, requests.Success, 0)
			l.ask(t.Context(), q, owner("a", "short"), time.Millisecond, requests.Success, 0)
		}
		time.Sleep(25 * time.Millisecond)
		short := 0
		for _, name := range l.got() {
			if name == "ashort" {
				short++
			}
		}
		require.Equal(t, 100, short, "it has half of the slots at any time")
		time.Sleep(time.Minute)
	})
}

// Congested owners have a quarter of the slots until a request succeeds.
func TestQuarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := requests.NewQueue(16), &log{}
		bad, good := owner("a", "bad"), owner("a", "good")
		l.ask(t.Context(), q, bad, time.Millisecond, requests.Refused, 0)
		time.Sleep(time.Second)
		require.Equal(t, requests.Stats{Slots: 16, Owners: 1}, q.Stats())
		require.Equal(t, []requests.Owner{bad}, q.Congested())
		for range 50 {
			l.ask(t.Context(), q, bad, time.Second, requests.Refused, 0)
			l.ask(t.Context(), q, good, time.Second, requests.Success, 0)
		}
		synctest.Wait()
		require.Equal(t, requests.Stats{Slots: 16, InFlight: 16, Congested: 4, Waiting: 84, Owners: 1}, q.Stats())
		time.Sleep(time.Minute)
		l.ask(t.Context(), q, bad, time.Millisecond, requests.Success, 0)
		time.Sleep(time.Second)
		require.Equal(t, requests.Stats{Slots: 16}, q.Stats())
		l.ask(t.Context(), q, bad, time.Minute, requests.Success, 0) // hangs
		time.Sleep(14 * time.Minute)
		require.Equal(t, []requests.Owner{bad}, q.Congested())
		require.True(t, q.IsCongested(bad))
		time.Sleep(3 * time.Minute)
		require.Empty(t, q.Congested(), "idle since")
		require.Equal(t, requests.Stats{Slots: 16}, q.Stats())
	})
}

// Requests that hang leave their slots to others. A success of another kind does not help
// their owner.
func TestHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := requests.NewQueue(8), &log{}
		bad, good := owner("a", "bad"), owner("a", "good")
		for range 20 {
			l.ask(t.Context(), q, bad, 15*time.Second, requests.Success, 0)
		}
		l.ask(t.Context(), q, good, time.Millisecond, requests.Success, 0)
		time.Sleep(requests.Patience - time.Millisecond)
		require.Len(t, l.got(), 8)
		time.Sleep(3 * time.Millisecond)
		require.Equal(t, "agood", l.got()[8])
		require.Equal(t, requests.Stats{Slots: 8, InFlight: 8, Congested: 8, Hanging: 8, Waiting: 12, Owners: 1}, q.Stats())
		q.Do(t.Context(), bad, func(ctx context.Context) {
			slot, _, _ := q.Wait(ctx)
			slot.Sends("GET jobs")
			slot.Answered(requests.Success, 0)
		})
		time.Sleep(14 * time.Second)
		require.Equal(t, 2, q.Stats().Congested, "a quarter, once the first have ended")
		time.Sleep(3 * time.Minute)
		require.Equal(t, requests.Stats{Slots: 8, Owners: 1}, q.Stats())
		l.ask(t.Context(), q, bad, time.Second, requests.Success, 0)
		time.Sleep(time.Minute)
		require.Equal(t, requests.Stats{Slots: 8}, q.Stats())
	})
}

// Retry-After delays its owner, for 30 s at most, and nobody else.
func TestRetryAfter(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{20 * time.Second: 20 * time.Second, time.Hour: requests.LongestDelay} {
		synctest.Test(t, func(t *testing.T) {
			q, l := requests.NewQueue(4), &log{}
			bad, good := owner("a", "bad"), owner("a", "good")
			l.ask(t.Context(), q, bad, 0, requests.Refused, after)
			synctest.Wait()
			l.ask(t.Context(), q, bad, 0, requests.Success, 0)
			l.ask(t.Context(), q, good, 0, requests.Success, 0)
			time.Sleep(want - time.Millisecond)
			require.Equal(t, []string{"abad", "agood"}, l.got())
			require.Equal(t, 1, q.Stats().Waiting)
			time.Sleep(2 * time.Millisecond)
			require.Equal(t, []string{"abad", "agood", "abad"}, l.got())
			require.Equal(t, requests.Stats{Slots: 4}, q.Stats())
		})
	}
}

// A request that the API server refuses because of its own load keeps its slot for a while.
// Its owner is not congested, and one slot always remains.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, l := requests.NewQueue(4), &log{}
		for i := range 3 {
			l.ask(t.Context(), q, owner("a", fmt.Sprint(i)), 0, requests.Overloaded, 32*time.Second)
		}
		synctest.Wait()
		require.Equal(t, requests.Stats{Slots: 4, Held: 3}, q.Stats())
		for range 3 {
			l.ask(t.Context(), q, owner("a", "0"), 10*time.Second, requests.Success, 0)
		}
		synctest.Wait()
		require.Equal(t, 1, q.Stats().InFlight)
		time.Sleep(2 * time.Second)
		require.Equal(t, 3, q.Stats().InFlight)
		require.Zero(t, q.Stats().Held)
		time.Sleep(time.Minute)
		for range 10 {
			l.ask(t.Context(), q, owner("a", "0"), 0, requests.Overloaded, time.Second)
		}
		synctest.Wait()
		require.Equal(t, 4, q.Stats().Held)
		time.Sleep(time.Minute)
	})
}

// A request that was refused because of the API server's load rests in its slot, and is then sent
// again. An end of the context ends the rest. Nothing else rests.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := requests.NewQueue(2)
		ctx, stop := context.WithCancel(t.Context())
		var sent []time.Duration
		begin := time.Now()
		q.Do(ctx, owner("a", "1"), func(ctx context.Context) {
			slot, _, _ := q.Wait(ctx)
			for again := true; again; again = requests.Retry(ctx) {
				sent = append(sent, time.Since(begin))
				slot.Sends("POST jobs")
				slot.Answered(requests.Overloaded, 32*time.Second)
			}
		})
		synctest.Wait()
		require.Equal(t, requests.Stats{Slots: 2, Held: 1}, q.Stats())
		time.Sleep(15 * time.Second)
		synctest.Wait()
		require.InDelta(t, 10, len(sent), 5)
		for i := range sent[1:] {
			require.InDelta(t, 1.5, (sent[i+1] - sent[i]).Seconds(), 0.5)
		}
		stop()
		synctest.Wait()
		require.Equal(t, requests.Stats{Slots: 2}, q.Stats())
		q.Do(t.Context(), owner("a", "1"), func(ctx context.Context) {
			slot, _, _ := q.Wait(ctx)
			for _, a := range []requests.Answer{requests.Success, requests.Refused, requests.Neutral} {
				slot.Sends("POST jobs")
				slot.Answered(a, time.Second)
				require.False(t, requests.Retry(ctx))
			}
		})
		require.False(t, requests.Retry(t.Context()))
	})
}

// Congestion in half of the namespaces, and in three at least, slows the whole process down.
func TestWidespread(t *testing.T) {
	for _, c := range []struct {
		refused, well int // namespaces
		want          int // requests in flight of owners that are not congested
	}{{2, 1, 30}, {3, 4, 29}, {3, 3, 19}, {6, 1, 17}} {
		synctest.Test(t, func(t *testing.T) {
			q, l := requests.NewQueue(32), &log{}
			for i := range c.refused {
				l.ask(t.Context(), q, owner(fmt.Sprint("bad", i), ""), 0, requests.Refused, 0)
			}
			synctest.Wait()
			for i := range c.refused {
				l.ask(t.Context(), q, owner(fmt.Sprint("bad", i), ""), time.Second, requests.Refused, 0)
			}
			for i := range 100 * c.well {
				l.ask(t.Context(), q, owner(fmt.Sprint("good", i%c.well), ""), 100*time.Millisecond, requests.Success, 0)
			}
			time.Sleep(250 * time.Millisecond) // the first turns are from before
			s := q.Stats()
			require.Equal(t, c.want < 24, s.Widespread)
			require.Equal(t, c.want, s.InFlight-s.Congested)
			time.Sleep(time.Hour)
			require.False(t, q.Stats().Widespread)
		})
	}
}

// If the turn comes and the context ends at once, no slot is lost.
func TestWaitRace(t *testing.T) {
	q := requests.NewQueue(1)
	taken := 0
	for range 100 {
		if _, free, err := q.Wait(&ending{Context: t.Context()}); err == nil {
			taken++
			free()
		}
		require.Equal(t, requests.Stats{Slots: 1}, q.Stats())
	}
	require.Greater(t, taken, 10)
	require.Less(t, taken, 90)
}

// An ending context ends after Err has been called once.
type ending struct {
	context.Context
	asked bool
}

func (e *ending) Err() (err error) {
	if e.asked {
		err = context.Canceled
	}
	e.asked = true
	return err
}

func (e *ending) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// Functions whose context has ended before are called, each once.
func TestDoAfterTheEnd(t *testing.T) {
	q := requests.NewQueue(2)
	var calls sync.WaitGroup
	for range 5000 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		calls.Add(1)
		q.Do(ctx, owner("shop", "orders"), func(context.Context) { calls.Done() })
	}
	calls.Wait()
	require.Zero(t, q.Stats().Waiting)
}
