package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"k8s.io/client-go/kubernetes"
)

type redisQueue struct {
	options *redis.Options
	key     string
	client  atomic.Pointer[redis.Client]
}

func openRedis(f *fields, _ kubernetes.Interface) Queue {
	q := &redisQueue{key: f.required("listName", "the name of a key")}
	o := &redis.Options{
		Addr:     f.redisAddress(),
		Username: f.find([]place{metadata, environment, authentication}, "username").text,
		Password: f.find([]place{metadata, environment, authentication}, "password").text,
		DB:       f.whole("databaseIndex", 0, 0),

		PoolSize:                 2,
		ContextTimeoutEnabled:    true,
		DialTimeout:              5 * time.Second,
		DialerRetries:            1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	o.TLSConfig = f.redisTLS()
	q.options = o
	if len(f.problems) == 0 {
		q.client.Store(redis.NewClient(o))
	}
	return q
}

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

// redisTLS is nil where TLS is off.
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
	client := q.client.Load()
	n, err := await(ctx, func() (int64, error) { return q.length(ctx, client) })
	if err != nil {
		if ctx.Err() == nil {
			q.renew(client, err)
		}
		return Reading{}, fmt.Errorf("redis %s: key %q: %w", q.options.Addr, q.key, ended(ctx, err))
	}
	return count(float64(n))
}

// renew replaces the client if the server did not answer: after some dials that
// failed, a client gives the last one's error for a while and does not dial.
func (q *redisQueue) renew(old *redis.Client, err error) {
	var answer redis.Error
	if errors.As(err, &answer) {
		return
	}
	if fresh := redis.NewClient(q.options); q.client.CompareAndSwap(old, fresh) {
		old.Close()
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
		return 0, errors.New("found a stream: want a list, set, sorted set or hash (streams are redis-streams')")
	}
	return 0, fmt.Errorf("found a %s: want a list, set, sorted set or hash", kind)
}

// Close closes the connections.
func (q *redisQueue) Close() error { return q.client.Load().Close() }

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
