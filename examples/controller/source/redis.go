package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/examples/internal/bounded"
)

type redisQueue struct {
	server  *redisServer
	key     string
	release func() error
}

// A redisServer has the connections that all queues with the same login share.
type redisServer struct {
	options *redis.Options
	client  atomic.Pointer[redis.Client]
}

type redisKey struct {
	address, username, password string
	database                    int
	tls                         tlsKey
}

var redisServers pool[redisKey, *redisServer]

// silence keeps the client from logging the texts of servers.
var silence = sync.OnceFunc(logging.Disable)

func openRedis(f *fields, _ kubernetes.Interface) Queue {
	silence()
	name, places := f.required("listName", "the name of a key"), []place{metadata, environment, authentication}
	key := redisKey{f.redisAddress(), f.find(places, "username").text, f.find(places, "password").text, f.whole("databaseIndex", 0, 0), tlsKey{}}
	c := f.redisTLS()
	if len(f.problems) > 0 { // it is not opened
		return nil
	}
	key.tls = f.tlsKey(c != nil)
	server, release := redisServers.get(key, func() *redisServer { return newRedisServer(key, c) }, (*redisServer).close)
	return &redisQueue{server, name, release}
}

func newRedisServer(key redisKey, c *tls.Config) *redisServer {
	o := &redis.Options{
		Addr:      key.address,
		Username:  key.username,
		Password:  key.password,
		DB:        key.database,
		TLSConfig: c,

		PoolSize:                 8,
		ReadBufferSize:           4 << 10,
		WriteBufferSize:          4 << 10,
		ContextTimeoutEnabled:    true,
		DialTimeout:              5 * time.Second,
		DialerRetries:            1,
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, &dialError{err}
		}
		return bounded.New(c), nil
	}
	s := &redisServer{options: o}
	s.client.Store(redis.NewClient(o))
	return s
}

func (s *redisServer) close() error { return s.client.Load().Close() }

// redisAddress is the parameter address, or host and port.
func (f *fields) redisAddress() string {
	if p := f.find([]place{metadata, authentication, environment}, "address", "addresses"); p.text != "" {
		if _, _, err := net.SplitHostPort(p.text); err != nil || strings.Contains(p.text, ",") {
			f.wrong(p, "one host:port")
		}
		return p.text
	}
	places := []place{metadata, environment, authentication}
	host, port := f.find(places, "host", "hosts"), f.find(places, "port", "ports")
	if host.text == "" && port.text == "" {
		f.problem(f.path()+".metadata.address", "nothing", "host:port, or host and port")
		return ""
	}
	if host.text == "" || strings.Contains(host.text, ",") {
		f.wrong(host, "the name or address of one host")
	}
	if n, err := strconv.ParseUint(port.text, 10, 16); err != nil || n == 0 {
		f.wrong(port, "the number of a port")
	}
	return net.JoinHostPort(host.text, port.text)
}

// redisTLS returns nil without TLS.
func (f *fields) redisTLS() *tls.Config {
	inMetadata := f.find([]place{metadata}, "enableTLS").text != ""
	if p := f.find([]place{authentication}, "tls"); inMetadata && p.text != "" {
		f.problem(f.path()+".metadata.enableTLS", "a value here, and one of the parameter tls", "one of the two")
	}
	// Read, and checked, whether or not it is used.
	c, on, enabled := f.encryption(), f.flag("enableTLS"), f.enabled()
	if on || enabled {
		return c
	}
	return nil
}

// Length counts the elements of the key, of whichever type it is. A key that is
// not there is empty, as it is to Redis.
func (q *redisQueue) Length(ctx context.Context) (Reading, error) {
	client := q.server.client.Load()
	n, err := await(ctx, func() (int64, error) { return q.length(ctx, client) })
	if err != nil {
		if ctx.Err() == nil {
			q.server.renew(client, err)
		}
		return Reading{}, fmt.Errorf("redis %s: key %q: %w", q.server.options.Addr, q.key, ended(ctx, explain(err)))
	}
	return count(float64(n))
}

// renew replaces the client if the server did not answer. After some failed dials, a client
// returns the last error for a while and does not dial. Reads of other queues continue with
// the old client.
func (s *redisServer) renew(old *redis.Client, err error) {
	var answer redis.Error
	if errors.As(err, &answer) {
		return
	}
	if fresh := redis.NewClient(s.options); s.client.CompareAndSwap(old, fresh) {
		time.AfterFunc(time.Minute, func() { old.Close() })
	} else {
		fresh.Close()
	}
}

func (q *redisQueue) length(ctx context.Context, client *redis.Client) (int64, error) {
	kind, err := client.Type(ctx, q.key).Result()
	if err != nil {
		return 0, err
	}
	switch kind {
	case "none":
		return 0, nil
	case "list":
		return client.LLen(ctx, q.key).Result()
	case "set":
		return client.SCard(ctx, q.key).Result()
	case "zset":
		return client.ZCard(ctx, q.key).Result()
	case "hash":
		return client.HLen(ctx, q.key).Result()
	case "stream":
		return 0, &kindError{"a stream", " (streams are redis-streams')"}
	case "string":
		return 0, &kindError{"a string", ""}
	}
	return 0, &kindError{"another type of key", ""}
}

// A kindError is that the key has no elements to count.
type kindError struct{ found, hint string }

func (e *kindError) Error() string {
	return "found " + e.found + ": want a list, set, sorted set or hash" + e.hint
}

// A dialError is an error of the network or of TLS, whose text the server does not choose.
type dialError struct{ err error }

func (e *dialError) Error() string { return fmt.Sprintf("%.300s", e.err) }
func (e *dialError) Unwrap() error { return e.err }

// explain returns the error without the server's text, which may contain the password.
func explain(err error) error {
	var (
		kind    *kindError
		dial    *dialError
		network *net.OpError
		answer  redis.Error
	)
	switch {
	case errors.As(err, &kind):
		return kind
	case errors.As(err, &dial):
		return dial
	case errors.Is(err, bounded.ErrTooLong):
		return fmt.Errorf("the reply has more than %d bytes", bounded.MaxReply)
	case errors.As(err, &network):
		return network
	case errors.As(err, &answer):
		return errors.New(known(answer.Error()))
	}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, redis.ErrClosed, redis.ErrPoolTimeout} {
		if errors.Is(err, cause) {
			return cause
		}
	}
	return errors.New("the reply is not of Redis's protocol")
}

// answers are prefixes of Redis's errors, the most specific first.
var answers = []string{
	"ERR DB index is out of range", "ERR AUTH <password> called without any password configured", "ERR unknown command",
	"WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "LOADING", "MASTERDOWN", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "DENIED", "ERR",
}

// known is as much of an answer as is known.
func known(answer string) string {
	for _, begin := range answers {
		if strings.HasPrefix(answer, begin) {
			return "the server answers " + begin
		}
	}
	return "the server answers with an error"
}

// Close closes the connections, unless another queue needs them.
func (q *redisQueue) Close() error { return q.release() }

// await returns when read does, or ctx ends. The client heeds ctx's deadline and
// not its cancellation: read then ends later, by the client's own timeouts.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := read()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	}
}
