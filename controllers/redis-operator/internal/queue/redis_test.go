package queue

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/redistest"
)

// soon is a limit for whatever happens at once on a machine without load.
const soon = time.Minute

func depth(t *testing.T, address, list string) (int64, error) {
	t.Helper()
	return (&Redis{Timeout: soon}).Depth(t.Context(), Server{Address: address}, list)
}

func TestDepth(t *testing.T) {
	server := miniredis.RunT(t)
	n, err := depth(t, server.Addr(), "orders")
	require.NoError(t, err)
	require.Zero(t, n, "a list that is not there is empty")
	server.RPush("orders", "a", "b", "c")
	n, err = depth(t, server.Addr(), "orders")
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	server.HSet("orders:by-id", "1", "a")
	_, err = depth(t, server.Addr(), "orders:by-id")
	require.EqualError(t, err, "redis at "+server.Addr()+" has something else than a list under the queue's name; name the list in queueName")
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, soon, time.Millisecond)
}

// Whatever answers, the time and the memory that it takes are bounded, and no error has the login.
func TestHostile(t *testing.T) {
	want := map[string]string{
		"never answers":             "did not answer within 1s",
		"sends a byte now and then": "did not answer within 1s",
		"hangs up":                  "closed the connection",
		"repeats what it is sent":   "does not know the command",
	}
	for name, be := range redistest.Hostile {
		for _, access := range []Server{{}, {Username: "us3r", Password: "s3cret"}} {
			t.Run(name, func(t *testing.T) {
				server := redistest.Listen(t, be)
				access.Address = server.Address
				text := cmp.Or(want[name], "answered with something that is not Redis's protocol")
				timeout := soon
				if strings.Contains(text, "1s") {
					timeout = time.Second
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := (&Redis{Timeout: timeout}).Depth(t.Context(), access, "orders")
				runtime.ReadMemStats(&after)
				require.ErrorContains(t, err, "redis at "+server.Address+" "+text)
				require.NotContains(t, err.Error(), "s3cret")
				require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), "bytes, those of the test included")
				require.Eventually(t, func() bool { return server.Open() == 0 }, soon, 10*time.Millisecond, "it is hung up on")
				require.Equal(t, access.Password != "", strings.Contains(server.Sent(), "s3cret"), "or this test shows nothing")
			})
		}
	}
}

func TestPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "s3cret")
	server.Push("orders", 2, redis.Options{Password: "s3cret"})
	for _, c := range []struct {
		problem string
		access  Server
	}{
		{"wants a password; set redisAuth", Server{}},
		{"refuses the user name or the password; correct redisAuth or its Secret", Server{Password: "wrong"}},
		{"refuses the user name or the password; correct redisAuth or its Secret", Server{Password: "s3cret", Username: "nobody"}},
		{"", Server{Password: "s3cret"}},
		{"", Server{Password: "s3cret", Username: "default"}},
	} {
		c.access.Address = server.Address
		n, err := (&Redis{}).Depth(t.Context(), c.access, "orders")
		if c.problem == "" {
			require.NoError(t, err)
			require.EqualValues(t, 2, n)
		} else {
			require.Zero(t, n)
			require.EqualError(t, err, "redis at "+server.Address+" "+c.problem)
		}
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", c.access, c.access, c.access), "s3cret")
	}
}

func TestTLS(t *testing.T) {
	certificate := redistest.NewCertificate(t)
	server := redistest.StartEncrypted(t, certificate, "--requirepass", "s3cret")
	server.Push("orders", 2, redis.Options{Password: "s3cret", TLSConfig: certificate.TLS()})
	access := Server{Address: server.Address, Password: "s3cret"}
	read := func() (int64, error) { return (&Redis{Timeout: soon}).Depth(t.Context(), access, "orders") }
	_, err := read()
	require.Error(t, err, "without TLS")
	access.TLS = &tls.Config{ServerName: "127.0.0.1"}
	_, err = read()
	require.ErrorContains(t, err, "has a certificate of an unknown authority; put")
	access.TLS.RootCAs = certificate.TLS().RootCAs
	_, err = read()
	require.Error(t, err, "without a certificate of its own")
	access.TLS.Certificates = certificate.TLS().Certificates
	n, err := read()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

func TestConnectFails(t *testing.T) {
	for text, dial := range map[string]func(ctx context.Context) error{
		"did not answer within 3s": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"cannot be connected to: " + strings.Repeat("x", 300): func(context.Context) error {
			return errors.New(strings.Repeat("x", 400))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &Redis{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, dial(ctx) }}
			_, err := r.Depth(t.Context(), Server{Address: "redis:6379"}, "orders")
			require.EqualError(t, err, "redis at redis:6379 "+text)
		})
	}
}

// A name or a login with a line break would speak to servers of other protocols. Nothing is sent.
func TestLineBreaks(t *testing.T) {
	for list, login := range map[string][2]string{
		"a\r\nGET / HTTP/1.1": {}, "b": {"user\nGET / HTTP/1.1", "password"}, "c": {"", "pass\x00word"},
	} {
		var sent atomic.Int64
		r := Redis{Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				n, _ := theirs.Read(make([]byte, 1000))
				sent.Add(int64(n))
				theirs.Close()
			}()
			return ours, nil
		}}
		_, err := r.Depth(t.Context(), Server{Username: login[0], Password: login[1]}, list)
		require.ErrorContains(t, err, "control character")
		require.Zero(t, sent.Load())
	}
}
