// Package queue reads the number of items that wait in a queue.
//
// The controller reads queues through [Reader], and does not depend on Redis.
package queue

import (
	"context"
	"crypto/tls"
)

// A Reader reads queues. It may be used from several goroutines.
type Reader interface {
	// Depth returns the number of items that wait in a queue of a server. It returns
	// soon after the context ends.
	Depth(ctx context.Context, server Server, queueName string) (int64, error)
}

// A Fake is a Reader for tests.
type Fake func(ctx context.Context, server Server, queueName string) (int64, error)

// Depth calls f.
func (f Fake) Depth(ctx context.Context, server Server, queueName string) (int64, error) {
	return f(ctx, server, queueName)
}

// A Server is the address of a server and the access to it. It is printed as its
// address, without the password.
type Server struct {
	Address  string // host:port
	Username string // "" is the default user of Redis
	Password string // "" sends neither user nor password
	Database int32  // 0 is the first, and that of a new connection
	// TLS encrypts the connection; nil does not.
	TLS *tls.Config
}

// String returns the address alone.
func (s Server) String() string { return s.Address }

// GoString returns the same as String.
func (s Server) GoString() string { return s.Address }
