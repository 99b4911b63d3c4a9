package queue

import (
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

// Redis is a Factory of Redis lists. It has one connection for an address, whoever
// reads there, opened when it is first needed; see Start for when it is closed. The
// zero value works, without secrets.
//
// Addresses are not to be trusted. Whatever is at one, a read ends within Timeout and
// takes some tens of kilobytes (TestHostile), and no error holds what the server
// said, so that it cannot put a password into logs (TestNoPassword).
type Redis struct {
	// Secrets is a folder that has a folder for each server that wants a password
	// or TLS; see [CheckSecrets]. With "" none does.
	Secrets string
	// Timeout is how long connecting and reading may take; 3 s if it is 0.
	Timeout time.Duration
	// Idle is how long a connection is kept that nobody reads from; 2 minutes if it
	// is 0.
	Idle time.Duration
	// Dial connects, if it is set; TLS comes on top.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	servers map[string]*server
}

// A server is what is connected to.
type server struct {
	access access
	client *redis.Client
	used   time.Time
}

// ForAddress returns the client of the server at host:port.
func (r *Redis) ForAddress(address string) Client { return redisClient{r, address} }

// Start closes the connections that are not used any more, and when the context
// ends all of them. It then returns.
func (r *Redis) Start(ctx context.Context) error {
	ticker := time.NewTicker(r.idle() / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			r.closeUnused(time.Now())
			return nil
		case now := <-ticker.C:
			r.closeUnused(now.Add(-r.idle()))
		}
	}
}

func (r *Redis) closeUnused(since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address, s := range r.servers {
		if s.used.Before(since) {
			s.client.Close()
			delete(r.servers, address)
		}
	}
}

func (r *Redis) idle() time.Duration {
	if r.Idle > 0 {
		return r.Idle
	}
	return 2 * time.Minute
}

func (r *Redis) timeout() time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return 3 * time.Second
}

// open returns the address's client, a new one if there is none with the access that
// the secrets give now.
func (r *Redis) open(address string) (*redis.Client, error) {
	access, err := readAccess(r.Secrets, address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.servers[address]
	if s == nil || s.access != access {
		config, err := access.tls()
		if err != nil {
			return nil, err
		}
		if s != nil {
			s.client.Close()
		}
		s = &server{access: access, client: r.client(address, access, config)}
		if r.servers == nil {
			r.servers = map[string]*server{}
		}
		r.servers[address] = s
	}
	s.used = time.Now()
	return s.client, nil
}

// drop closes a client that did not get an answer: after some dials that failed, it
// would give the last one's error for a while, and not dial.
func (r *Redis) drop(address string, broken *redis.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.servers[address]; s != nil && s.client == broken {
		broken.Close()
		delete(r.servers, address)
	}
}

func (r *Redis) client(address string, a access, config *tls.Config) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: address, Username: a.username, Password: a.password,
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
		PoolTimeout:              2 * r.timeout(), // that of the read comes first
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

type redisClient struct {
	redis   *Redis
	address string
}

// Depth is the length of the list queueName, and 0 if there is none. Its errors tell
// in words of ours what is wrong.
func (c redisClient) Depth(ctx context.Context, queueName string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.redis.timeout())
	defer cancel()
	for {
		client, err := c.redis.open(c.address)
		if err != nil {
			return 0, fmt.Errorf("redis at %s: %w", c.address, err)
		}
		depth, err := client.LLen(ctx, queueName).Result()
		switch {
		case err == nil && depth >= 0:
			return depth, nil
		case errors.Is(err, redis.ErrClosed) && ctx.Err() == nil:
			continue // somebody else has found it broken
		case !answered(err):
			c.redis.drop(c.address, client)
		}
		return 0, c.explain(ctx, err)
	}
}
