// Package loop polls the owners of a tracker: it reads metrics, plans, applies, and waits
// until the next poll. It is for controllers without controller-runtime.
//
//	polls := loop.New(loop.Options{Tracker: tracker, Client: clients.Requests, Requests: limit.Queue})
//	err := tracker.Track(target) // for each event of an informer of owners
//	tracker.Untrack(uid)         // instead, if the owner is deleted or has a deletion timestamp
//	polls.Now(key)
//	polls.Run(ctx, func(ctx context.Context, turn loop.Turn) (adapter.Plan, loop.Done) {
//		metrics := read(ctx, turn.Key)
//		return tracker.Plan(uid, metrics, time.Now()), func(result adapter.Result, err error) time.Duration {
//			return 30 * time.Second // until the next poll
//		}
//	})
//
//	Connect         a client for requests, and another for watches
//	LimitedConfig   a config for further clients that share timeout and limit
//	SeparateConfig  a config for a lease, which shares nothing
//	Limit           the requests that a process has in flight, with turns of their owners
//	NewLease        the lease of Kubernetes, whose holder acts
//
// # Timeout
//
// The timeout of a request starts when the request is sent, after it has waited for the
// limit. The API server gets the timeout with the request, and then stops to work on it. A
// create therefore cannot take effect later than two timeouts after it was sent. Package
// adapter relies on this.
//
// # Errors
//
// A request whose context ends while it waits for the limit fails with
// [adapter.ErrNotSent]. So does a change after the end of the term in its context, with
// [adapter.ErrOutdated] too. Any other error without an answer leaves open whether the
// request took effect.
//
// # Refusals
//
// client-go repeats a request up to ten times if the answer has the header Retry-After. The
// clients here hide the header, so that every answer reaches the caller. [Limit] obeys it. No
// client waits for longer than 30 s.
//
// A refusal concerns the owner of the request. The API server's own 429 is different: it is a
// text, and a Status if a webhook has written it. The headers X-Kubernetes-PF-* are in both.
//
// # Rules
//
//  1. Polls of a key never overlap. They follow the order of their times.
//  2. At most [Options].Reads polls read at the same time. Owners have turns, and owners
//     whose reads hang share a quarter, as package requests describes.
//  3. Requests wait for slots of [Options].Requests. A poll that waits for a slot or an
//     answer has neither a worker nor a goroutine, except one for each request in flight.
//  4. After an error the key is polled again after 1 s, 2 s, 4 s and so on, each up to twice
//     as long at random, but no later than without the error. After [adapter.ErrOutdated] it
//     is polled again after 1 s.
//  5. A poll that panics is logged, and its key polled again after a minute. No other key notices.
package loop
