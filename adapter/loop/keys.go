package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// Keys calls a function for each key at its time. Calls of a key never overlap. Each begins
// in a slot of a [requests.Queue], for the owner with the key's name. A waiting key has no
// goroutine.
type Keys struct {
	slots *requests.Queue
	queue workqueue.TypedDelayingInterface[cache.ObjectName]
	calls sync.WaitGroup

	mu   sync.Mutex
	due  map[cache.ObjectName]time.Time // of calls that have not begun
	busy int
	last time.Time
}

// NewKeys returns keys whose calls begin in the slots.
func NewKeys(slots *requests.Queue) *Keys {
	return &Keys{
		slots: slots, due: map[cache.ObjectName]time.Time{}, last: time.Now(),
		queue: workqueue.NewTypedDelayingQueue[cache.ObjectName](),
	}
}

// Now schedules the key at once. If a call for it has begun, another call follows.
func (k *Keys) Now(key cache.ObjectName) { k.queue.Add(key) }

// After schedules the key, unless it is scheduled earlier already.
func (k *Keys) After(key cache.ObjectName, d time.Duration) { k.queue.AddAfter(key, d) }

// A Turn is a call for a key.
type Turn struct {
	Key cache.ObjectName
	Due time.Time // when the call could have begun, had a slot been free
}

// Run calls do for each key until Stop is called, and returns after the last call has ended.
// A call ends when it calls ended, once, which it may do after it has returned. If ctx ends,
// the calls that wait for a slot are made without one. A call that panics is logged, ends, and follows
// again after a minute.
func (k *Keys) Run(ctx context.Context, do func(ctx context.Context, turn Turn, done func())) {
	defer k.calls.Wait()
	for {
		key, stopped := k.queue.Get()
		if stopped {
			return
		}
		turn := Turn{key, time.Now()}
		k.mu.Lock()
		k.due[key] = turn.Due
		k.mu.Unlock()
		k.calls.Add(1)
		k.slots.Do(ctx, requests.Owner(key), func(ctx context.Context) {
			k.mu.Lock()
			delete(k.due, key)
			k.busy++
			k.mu.Unlock()
			done := sync.OnceFunc(func() { k.finish(key) })
			if !k.guard(key, func() { do(ctx, turn, done) }) {
				done()
			}
		})
	}
}

// guard calls f, and reports whether it returned.
func (k *Keys) guard(key cache.ObjectName, f func()) bool {
	err := requests.Guard(f)
	if err != nil {
		slog.Error("the call of an owner ended", "owner", key.String(), "err", err)
		k.After(key, time.Minute)
	}
	return err == nil
}

func (k *Keys) finish(key cache.ObjectName) {
	k.mu.Lock()
	k.busy--
	k.last = time.Now()
	k.mu.Unlock()
	k.queue.Done(key)
	k.calls.Done()
}

// Stop ends Run after the keys that are due.
func (k *Keys) Stop() { k.queue.ShutDown() }

// Stats describe keys at an instant.
type Stats struct {
	Busy    int           // calls that have begun and not ended
	Waiting int           // keys that are due and wait for a slot
	Lag     time.Duration // for which the first of them has waited
	Last    time.Time     // when a call ended last; at first, when NewKeys was called
}

// Stats returns the present state.
func (k *Keys) Stats() Stats {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Stats{Busy: k.busy, Waiting: len(k.due), Last: k.last}
	for _, due := range k.due {
		s.Lag = max(s.Lag, time.Since(due))
	}
	return s
}
