package queue

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/scaledjob/scaledjob/examples/internal/bounded"
)

// Redis is a Reader of Redis lists. All readers of a [Server] share one connection, which
// is opened when it is first needed. A connection is never used with another login. The
// zero value is ready to use.
//
// Addresses are not trusted. Any server costs at most Timeout and some tens of kilobytes
// a read (TestHostile). No error holds the words of a server, so that it cannot put a
// password into logs (TestNoPassword).
type Redis struct {
	// Timeout is the time for connecting and reading; 0 means 3 s.
	Timeout time.Duration
	// Idle is the time after which an unused connection is closed; 0 means 2 minutes.
	Idle time.Duration
	// Dial connects, if it is set. TLS is added to its connection.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	conns map[Server]*conn
}

// A conn is the connection to a server.
type conn struct {
	*redis.Client
	used time.Time
}

// Start closes unused connections, and all connections when the context ends. It then
// returns.
func (r *Redis) Start(ctx context.Context) error {
	ticks := time.Tick(r.idle() / 4)
	for {
		select {
		case <-ctx.Done():
			r.closeUnused(time.Now())
			return nil
		case now := <-ticks:
			r.closeUnused(now.Add(-r.idle()))
		}
	}
}

func (r *Redis) closeUnused(since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for server, c := range r.conns {
		if c.used.Before(since) {
			c.Close()
			delete(r.conns, server)
		}
	}
}

func (r *Redis) idle() time.Duration { return cmp.Or(r.Idle, 2*time.Minute) }

func (r *Redis) timeout() time.Duration { return cmp.Or(r.Timeout, 3*time.Second) }

// open returns the client of a server, and creates it if there is none.
func (r *Redis) open(server Server) (*redis.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.conns[server]
	if c == nil {
		config, err := server.config()
		if err != nil {
			return nil, err
		}
		if r.conns == nil {
			r.conns = map[Server]*conn{}
		}
		c = &conn{Client: r.client(server, config)}
		r.conns[server] = c
	}
	c.used = time.Now()
	return c.Client, nil
}

// drop closes a client that got no answer: after some failed dials it would return the
// last error for a while instead of dialing.
func (r *Redis) drop(server Server, broken *redis.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.conns[server]; c != nil && c.Client == broken {
		broken.Close()
		delete(r.conns, server)
	}
}

func (r *Redis) client(server Server, config *tls.Config) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: server.Address, Username: server.Username, Password: server.Password,
		ClientName: "redis-operator",
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			return r.dial(ctx, network, address, config)
		},

		PoolSize:                 1,
		DialerRetries:            1,
		MaxRetries:               1, // the server may have been restarted since the last read
		MinRetryBackoff:          -1,
		ContextTimeoutEnabled:    true,
		DialTimeout:              r.timeout(),
		ReadTimeout:              r.timeout(),
		WriteTimeout:             r.timeout(),
		PoolTimeout:              2 * r.timeout(), // the read's timeout comes first
		ReadBufferSize:           4 << 10,
		WriteBufferSize:          4 << 10,
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// dial connects, with TLS if there is a config for it.
func (r *Redis) dial(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	dial := r.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, &dialError{err}
	}
	if config == nil {
		return bounded.New(conn), nil
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, &dialError{err}
	}
	return bounded.New(secure), nil
}

// Depth returns the length of the list, or 0 if it does not exist.
func (r *Redis) Depth(ctx context.Context, server Server, queueName string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	for {
		client, err := r.open(server)
		if err != nil {
			return 0, fmt.Errorf("redis at %s: %w", server.Address, err)
		}
		depth, err := client.LLen(ctx, queueName).Result()
		switch {
		case err == nil && depth >= 0:
			return depth, nil
		case errors.Is(err, redis.ErrClosed) && ctx.Err() == nil:
			continue // another reader has found it broken
		case !answered(err):
			r.drop(server, client)
		}
		return 0, r.explain(ctx, server.Address, err)
	}
}
