// Package queue reads how many items wait in a queue.
//
// Whoever reads one asks a [Factory] for the [Client] of an address, and knows
// nothing of Redis: to read another kind of queue, implement these two.
package queue

import "context"

// A Client reads the queues of one server.
type Client interface {
	// Depth is how many items wait in the queue. It returns when the context ends,
	// or soon after.
	Depth(ctx context.Context, queueName string) (int64, error)
}

// A Factory has a Client for every address. It may be used from several goroutines.
type Factory interface {
	ForAddress(address string) Client
}
