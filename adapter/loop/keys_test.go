package loop_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

func key(i int) cache.ObjectName { return cache.NewObjectName("n", strconv.Itoa(i)) }

// calling runs do with keys whose calls are call, and stops them then.
func calling(t *testing.T, slots int, call func(ctx context.Context, turn loop.Turn, ended func()), do func(k *loop.Keys)) {
	synctest.Test(t, func(t *testing.T) {
		k := loop.NewKeys(requests.NewQueue(slots))
		var running sync.WaitGroup
		running.Go(func() { k.Run(t.Context(), call) })
		do(k)
		k.Stop()
		running.Wait()
	})
}

// Each key is called at its time, and never twice at once, also if the call goes on after its
// function has returned.
func TestKeys(t *testing.T) {
	var mu sync.Mutex
	active := map[cache.ObjectName]bool{}
	var calls []cache.ObjectName
	var late []time.Duration
	begin := time.Time{}
	calling(t, 3, func(_ context.Context, turn loop.Turn, ended func()) {
		mu.Lock()
		if begin.IsZero() {
			begin = time.Now()
		}
		require.False(t, active[turn.Key], "twice at once")
		active[turn.Key] = true
		calls, late = append(calls, turn.Key), append(late, time.Since(begin))
		mu.Unlock()
		time.Sleep(500 * time.Millisecond)
		time.AfterFunc(500*time.Millisecond, func() {
			mu.Lock()
			defer mu.Unlock()
			delete(active, turn.Key)
			ended()
		})
	}, func(k *loop.Keys) {
		k.Now(key(1))
		k.After(key(2), 5*time.Second)
		k.After(key(2), 3*time.Second)
		k.After(key(2), 4*time.Second)
		time.Sleep(500 * time.Millisecond)
		k.Now(key(1)) // while it is called
		k.Now(key(1))
		time.Sleep(10 * time.Second)
		for i := range 9 {
			k.Now(key(i))
		}
		synctest.Wait()
		require.Equal(t, loop.Stats{Busy: 3, Waiting: 6, Last: time.Now().Add(-6500 * time.Millisecond)}, k.Stats())
		time.Sleep(10 * time.Second)
	})
	require.Equal(t, []cache.ObjectName{key(1), key(1), key(2)}, calls[:3])
	require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second}, late[:3])
	require.Len(t, calls, 12)
}

// Calls that hang, as for a queue that does not answer, delay others by Patience at most,
// however many they are.
func TestHangingReads(t *testing.T) {
	var mu sync.Mutex
	var due, called time.Time
	calling(t, 8, func(ctx context.Context, turn loop.Turn, ended func()) {
		defer ended()
		if turn.Key == key(1000) {
			mu.Lock()
			due, called = turn.Due, time.Now()
			mu.Unlock()
			return
		}
		time.Sleep(time.Minute)
	}, func(k *loop.Keys) {
		for i := range 8 {
			k.Now(key(i))
		}
		synctest.Wait()
		k.Now(key(1000))
		time.Sleep(time.Second)
		require.Equal(t, time.Second, k.Stats().Lag)
		time.Sleep(time.Minute)
	})
	require.LessOrEqual(t, called.Sub(due), requests.Patience)
}

// A key is polled again after a minute if its poll panics for ever, or its end. The others lose nothing,
// and the loop ends.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls := loop.New(loop.Options{})
		calls := make([]int, 4)
		var mu sync.Mutex
		for i := range calls {
			polls.Now(key(i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Minute-time.Second, cancel)
		polls.Run(ctx, func(_ context.Context, turn loop.Turn) (adapter.Plan, loop.Done) {
			mu.Lock()
			i, _ := strconv.Atoi(turn.Key.Name)
			calls[i]++
			mu.Unlock()
			if i == 0 {
				panic("poll")
			}
			return adapter.Plan{}, func(adapter.Result, error) time.Duration {
				if i == 1 {
					panic("done")
				}
				return 30 * time.Second
			}
		})
		require.Equal(t, []int{10, 10, 20, 20}, calls)
	})
}
