package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/redistest"
)

// soon is a limit for whatever happens at once on a machine without load.
const soon = time.Minute

func TestMain(m *testing.M) {
	logging.Disable()
	os.Exit(m.Run())
}

// start runs r until the test ends.
func start(t *testing.T, r *Redis) *Redis {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.Empty(t, r.conns, "closed")
	})
	return r
}

func depth(t *testing.T, r *Redis, address, list string) (int64, error) {
	t.Helper()
	return r.Depth(t.Context(), Server{Address: address}, list)
}

func TestDepth(t *testing.T) {
	server := miniredis.RunT(t)
	r := start(t, &Redis{})
	n, err := depth(t, r, server.Addr(), "orders")
	require.NoError(t, err)
	require.Zero(t, n, "a list that is not there is empty")

	server.RPush("orders", "a", "b", "c")
	n, err = depth(t, r, server.Addr(), "orders")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)

	server.HSet("orders:by-id", "1", "a")
	_, err = depth(t, r, server.Addr(), "orders:by-id")
	require.EqualError(t, err, "redis at "+server.Addr()+" has something else than a list under the queue's name")
}

// A server that was away is read again at once, and in between what is told is always
// the same.
func TestAway(t *testing.T) {
	server := redistest.Start(t)
	server.Push("orders", 2, redis.Options{})
	r := start(t, &Redis{})
	goroutines := runtime.NumGoroutine()
	for range 3 {
		n, err := depth(t, r, server.Address, "orders")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		server.Stop()
		for range 3 {
			_, err = depth(t, r, server.Address, "orders")
			require.EqualError(t, err, "redis at "+server.Address+" cannot be connected to: dial tcp "+server.Address+": connect: connection refused")
		}
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, soon, 20*time.Millisecond, "but the one that asks here")
		server.Restart()
	}
}

// A server has one connection, however many read there, until nobody has for a time.
func TestConnections(t *testing.T) {
	server, other := miniredis.RunT(t), miniredis.RunT(t)
	r := &Redis{}
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			for range 20 {
				_, err := depth(t, r, server.Addr(), "orders")
				assert.NoError(t, err)
			}
		})
	}
	_, err := depth(t, r, other.Addr(), "orders")
	require.NoError(t, err)
	readers.Wait()
	require.Equal(t, 1, server.TotalConnectionCount())
	since := time.Now()
	_, err = depth(t, r, server.Addr(), "orders")
	require.NoError(t, err)
	r.closeUnused(since)
	closed := func(s *miniredis.Miniredis) {
		t.Helper()
		require.Eventually(t, func() bool { return s.CurrentConnectionCount() == 0 }, soon, time.Millisecond)
	}
	closed(other)
	_, err = depth(t, r, server.Addr(), "orders")
	require.NoError(t, err)
	require.Equal(t, 1, server.TotalConnectionCount(), "in use")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	r.Idle = 10 * time.Millisecond
	go func() { ended <- r.Start(ctx) }()
	closed(server)
	_, err = depth(t, r, server.Addr(), "orders")
	require.NoError(t, err)
	stop()
	require.NoError(t, <-ended)
	closed(server)
}

// Unused connections are closed within a quarter more than the time.
func TestIdle(t *testing.T) {
	for idle, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r := &Redis{Idle: idle, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody") }}
			_, err := r.open(Server{Address: "redis:6379"})
			require.NoError(t, err)
			begin := time.Now()
			ctx, stop := context.WithCancel(t.Context())
			go r.Start(ctx)
			open := func() int {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.conns)
			}
			for open() > 0 {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			require.InDelta(t, want+want/4, time.Since(begin), float64(time.Second))
			stop()
		})
	}
	require.Equal(t, 3*time.Second, (&Redis{}).timeout())
	require.Equal(t, time.Second, (&Redis{Timeout: time.Second}).timeout())
}

// Many who find a server broken at once neither disturb each other nor those who find it
// whole again.
func TestBrokenForMany(t *testing.T) {
	server := redistest.Start(t)
	r := start(t, &Redis{Timeout: soon})
	for range 3 {
		server.Stop()
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				_, err := depth(t, r, server.Address, "orders")
				assert.ErrorContains(t, err, "connection refused")
			})
		}
		readers.Wait()
		server.Restart()
		for range 20 {
			readers.Go(func() {
				_, err := depth(t, r, server.Address, "orders")
				assert.NoError(t, err)
			})
		}
		readers.Wait()
	}
}

// patience is the timeout for a hostile server: 1 s if it never answers.
func patience(name string) time.Duration {
	if name == "never answers" || name == "sends a byte now and then" {
		return time.Second
	}
	return soon
}

// Whatever answers, the time and the memory that it takes are bounded.
func TestHostile(t *testing.T) {
	want := map[string]string{
		"never answers":                    "did not answer within 1s",
		"sends a byte now and then":        "did not answer within 1s",
		"hangs up":                         "closed the connection",
		"answers 1 GB":                     "answered with more than 16384 bytes",
		"has a line of 1 GB":               "answered with more than 16384 bytes",
		"has an error of 1 GB":             "answered with more than 16384 bytes",
		"announces 1 GB":                   "answered with more than 16384 bytes",
		"announces more than there can be": "answered with more than 16384 bytes",
		"announces 10^9 elements":          "answered with more than 16384 bytes",
		"announces 10^9 pairs":             "answered with more than 16384 bytes",
		"nests arrays":                     "answered with more than 16384 bytes",
		"has a negative length":            "says that the list has a negative length",
		"repeats what it is sent":          "answered with an error",
	}
	for name, be := range redistest.Hostile {
		t.Run(name, func(t *testing.T) {
			server := redistest.Listen(t, be)
			r := start(t, &Redis{Timeout: patience(name)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := depth(t, r, server.Address, "orders")
			runtime.ReadMemStats(&after)
			text, ok := want[name]
			if !ok {
				text = "answered with something that is not Redis's protocol"
			}
			require.EqualError(t, err, "redis at "+server.Address+" "+text)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), "bytes, those of the test included")
			require.Eventually(t, func() bool { return server.Open() == 0 }, soon, 10*time.Millisecond, "it is hung up on")
		})
	}
}

func TestPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "s3cret")
	server.Push("orders", 2, redis.Options{Password: "s3cret"})
	r := start(t, &Redis{})
	for range 2 { // connections of other logins neither help nor harm
		for problem, access := range map[string]Server{
			"wants a password":                       {},
			"refuses the user name or the password":  {Password: "wrong"},
			"refuses the user name or the password.": {Password: "s3cret", Username: "nobody"},
			"":                                       {Password: "s3cret"},
			".":                                      {Password: "s3cret", Username: "default"},
		} {
			access.Address = server.Address
			n, err := r.Depth(t.Context(), access, "orders")
			if problem = strings.TrimSuffix(problem, "."); problem == "" {
				require.NoError(t, err)
				require.EqualValues(t, 2, n)
			} else {
				require.Zero(t, n)
				require.EqualError(t, err, "redis at "+server.Address+" "+problem)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	certificate := redistest.NewCertificate(t)
	server := redistest.StartEncrypted(t, certificate, "--requirepass", "s3cret")
	server.Push("orders", 2, redis.Options{Password: "s3cret", TLSConfig: certificate.TLS()})
	r := start(t, &Redis{Timeout: soon})
	access := Server{Address: server.Address, Password: "s3cret"}
	read := func() (int64, error) { return r.Depth(t.Context(), access, "orders") }
	_, err := read()
	require.Error(t, err, "without TLS")
	access.TLS = true
	_, err = read()
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	access.CA = string(certificate.Cert)
	_, err = read()
	require.Error(t, err, "without a certificate of its own")
	access.Cert, access.Key = string(certificate.Cert), string(certificate.Key)
	n, err := read()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

// No error has the login, whatever a server does with it.
func TestNoPassword(t *testing.T) {
	for name, be := range redistest.Hostile {
		t.Run(name, func(t *testing.T) {
			server := redistest.Listen(t, be)
			r := start(t, &Redis{Timeout: patience(name)})
			_, err := r.Depth(t.Context(), Server{Address: server.Address, Username: "us3r", Password: "s3cret"}, "orders")
			require.Error(t, err)
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), "us3r")
			require.Contains(t, server.Sent(), "s3cret", "or this test shows nothing")
		})
	}
}

func TestServer(t *testing.T) {
	s := Server{Address: "redis:6379", Password: "s3cret", CA: "s3cret", Key: "s3cret"}
	require.NoError(t, s.Validate(), "without TLS")
	s.TLS = true
	err := s.Validate()
	require.ErrorContains(t, err, "ca.crt: found no certificate")
	require.ErrorContains(t, err, "tls.crt: found no certificate with the key")
	_, opened := (&Redis{}).Depth(t.Context(), s, "orders")
	require.ErrorContains(t, opened, "redis at redis:6379: ca.crt: found no certificate")
	for _, text := range []string{err.Error(), opened.Error(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v", s, s, s)} {
		require.NotContains(t, text, "s3cret")
	}
	s.CA, s.Key, s.Cert = "", "", "s3cret"
	require.ErrorContains(t, s.Validate(), "tls.crt")
	config, err := Server{Address: "redis:6379", TLS: true}.config()
	require.NoError(t, err)
	require.Equal(t, "redis", config.ServerName)
}

// The options of the client bound the time and the memory of a read.
func TestOptions(t *testing.T) {
	o := (&Redis{Timeout: time.Second}).client(Server{Address: "redis:6379", Username: "u", Password: "p"}, nil).Options()
	require.Equal(t, []any{"redis:6379", "u", "p", "redis-operator"}, []any{o.Addr, o.Username, o.Password, o.ClientName})
	require.Equal(t, []int{1, 1, 1, 2}, []int{o.PoolSize, o.DialerRetries, o.MaxRetries, o.Protocol})
	require.Equal(t, []int{4096, 4096}, []int{o.ReadBufferSize, o.WriteBufferSize})
	require.Equal(t, []time.Duration{time.Second, time.Second, time.Second, 2 * time.Second, 0},
		[]time.Duration{o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, o.MinRetryBackoff})
	require.Equal(t, []bool{true, true}, []bool{o.ContextTimeoutEnabled, o.DisableIdentity})
	require.Equal(t, maintnotifications.ModeDisabled, o.MaintNotificationsConfig.Mode)
}

// A reader that finds a connection broken closes that connection and no later one.
func TestDrop(t *testing.T) {
	r, server := &Redis{}, Server{Address: "redis:6379"}
	first, err := r.open(server)
	require.NoError(t, err)
	r.drop(server, first)
	second, err := r.open(server)
	require.NoError(t, err)
	require.NotSame(t, first, second)
	r.drop(server, first)
	r.drop(Server{Address: "other:6379"}, second)
	again, err := r.open(server)
	require.NoError(t, err)
	require.Same(t, second, again)
	require.NoError(t, second.Close(), "it was open")
}

func TestReasons(t *testing.T) {
	for text, err := range map[string]error{
		"did not answer within 3s":                            os.ErrDeadlineExceeded,
		"cannot be connected to: no route to host":            errors.New("no route to host"),
		"cannot be connected to: " + strings.Repeat("x", 300): errors.New(strings.Repeat("x", 400)),
	} {
		r := &Redis{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
		_, err := depth(t, r, "redis:6379", "orders")
		require.EqualError(t, err, "redis at redis:6379 "+text)
	}
}
