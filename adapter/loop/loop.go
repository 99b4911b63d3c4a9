package loop

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// again is the first wait after an error, and the wait after a plan was outdated.
const retryDelay = time.Second

// Options configure a [Loop]. Tracker and Client are needed.
type Options struct {
	Tracker  *adapter.Tracker
	Client   adapter.Client  // sends the requests of a plan
	Requests *requests.Queue // of the client's limit; nil does not limit
	Reads    int             // polls that may read at the same time; 0 means 2048
}

// A Loop polls keys. Its methods may be called from several goroutines.
type Loop struct {
	*Keys
	options Options

	backoff Backoff
}

// New returns a loop that has no keys.
func New(o Options) *Loop {
	return &Loop{Keys: NewKeys(requests.NewQueue(cmp.Or(o.Reads, 2048))), options: o}
}

// Done takes over the result of a plan. It returns the time from the beginning of this poll
// until the next. If that is 0 or less, the key is not polled again before Now or After is
// called. It should not wait.
type Done func(adapter.Result, error) (next time.Duration)

// A Poll reads the metrics of a key, and returns a plan; the zero Plan changes nothing. If
// done is nil, the plan is not applied, and the key is not polled again before Now or After is
// called. The context ends with that of Run.
type Poll func(ctx context.Context, turn Turn) (plan adapter.Plan, done Done)

// Run polls the keys until the context ends, and returns after the last poll has ended. Keys
// may be added before. Run is called once.
func (l *Loop) Run(ctx context.Context, poll Poll) {
	defer context.AfterFunc(ctx, l.Stop)()
	l.Keys.Run(ctx, func(slot context.Context, turn Turn, finish func()) {
		if ctx.Err() != nil {
			finish()
			return
		}
		begin := time.Now()
		plan, done := poll(slot, turn)
		if done == nil {
			l.backoff.Wait(turn.Key, nil)
			finish()
			return
		}
		o := &l.options
		end := func(result adapter.Result, err error) {
			l.guard(turn.Key, func() {
				if next := done(result, err); next > 0 {
					l.After(turn.Key, min(next-time.Since(begin), l.backoff.Wait(turn.Key, err)))
				}
			})
			finish()
		}
		if plan.Owner == "" {
			end(adapter.Result{}, nil)
			return
		}
		o.Tracker.Start(ctx, o.Client, plan, o.Requests, end)
	})
}

// A Backoff counts the failures in a row of each key. The zero value has counted none.
type Backoff struct {
	mu       sync.Mutex
	failures map[cache.ObjectName]int
}

// Wait returns the longest time until the next poll, after the result of a plan. Without an error
// it forgets the key.
func (b *Backoff) Wait(key cache.ObjectName, err error) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case adapter.WithoutOutdated(err) != nil:
		if b.failures == nil {
			b.failures = map[cache.ObjectName]int{}
		}
		wait := retryDelay << min(b.failures[key], 10)
		b.failures[key]++
		return wait + rand.N(wait)
	case err != nil:
		return retryDelay
	}
	delete(b.failures, key)
	return math.MaxInt64
}
