package queue

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/redistest"
)

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
		require.Empty(t, r.servers, "closed")
	})
	return r
}

func depth(t *testing.T, r *Redis, address, list string) (int64, error) {
	t.Helper()
	return r.ForAddress(address).Depth(t.Context(), list)
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
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, 5*time.Second, 20*time.Millisecond, "but the one that asks here")
		server.Restart()
	}
}

// A restart between two reads is nobody's concern.
func TestRestarted(t *testing.T) {
	server := redistest.Start(t)
	server.Push("orders", 2, redis.Options{})
	r := start(t, &Redis{})
	for range 5 {
		n, err := depth(t, r, server.Address, "orders")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		server.Stop()
		server.Restart()
	}
}

// An address has one connection, however many read there, until nobody does.
func TestConnections(t *testing.T) {
	server := miniredis.RunT(t)
	other := miniredis.RunT(t)
	r := start(t, &Redis{Idle: 400 * time.Millisecond})
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			for range 20 {
				_, err := depth(t, r, server.Addr(), "orders")
				require.NoError(t, err)
			}
		})
	}
	_, err := depth(t, r, other.Addr(), "orders")
	require.NoError(t, err)
	readers.Wait()
	require.Equal(t, 1, server.TotalConnectionCount())
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, err := depth(t, r, server.Addr(), "orders")
		require.NoError(t, err)
	}
	require.Equal(t, 1, server.CurrentConnectionCount(), "in use")
	require.Equal(t, 1, server.TotalConnectionCount())
	require.Zero(t, other.CurrentConnectionCount(), "not used any more")
	require.Eventually(t, func() bool { return server.CurrentConnectionCount() == 0 }, 2*time.Second, 20*time.Millisecond)
}

// Many who find a server broken at once neither disturb each other nor those who find it
// whole again.
func TestBrokenForMany(t *testing.T) {
	server := redistest.Start(t)
	r := start(t, &Redis{Timeout: time.Second})
	for range 3 {
		server.Stop()
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				_, err := depth(t, r, server.Address, "orders")
				require.ErrorContains(t, err, "connection refused")
			})
		}
		readers.Wait()
		server.Restart()
		for range 20 {
			readers.Go(func() {
				_, err := depth(t, r, server.Address, "orders")
				require.NoError(t, err)
			})
		}
		readers.Wait()
	}
}

// Whatever answers, the time and the memory that it takes are bounded.
func TestHostile(t *testing.T) {
	const timeout = time.Second
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
			r := start(t, &Redis{Timeout: timeout})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			_, err := depth(t, r, server.Address, "orders")
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			text, ok := want[name]
			if !ok {
				text = "answered with something that is not Redis's protocol"
			}
			require.EqualError(t, err, "redis at "+server.Address+" "+text)
			require.Less(t, took, timeout+2*time.Second)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), "bytes, those of the test included")
			require.Eventually(t, func() bool { return server.Open() == 0 }, time.Second, 10*time.Millisecond, "it is hung up on")
		})
	}
}

func secret(t *testing.T, root, name string, files map[string]string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o700))
	for file, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(root, name, file), []byte(content), 0o600))
	}
}

func TestPassword(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "s3cret")
	server.Push("orders", 2, redis.Options{Password: "s3cret"})
	root := t.TempDir()
	r := start(t, &Redis{Secrets: root})
	fails := func(text string) {
		t.Helper()
		_, err := depth(t, r, server.Address, "orders")
		require.EqualError(t, err, "redis at "+server.Address+" "+text)
	}
	works := func() {
		t.Helper()
		n, err := depth(t, r, server.Address, "orders")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
	}
	fails("wants a password")
	secret(t, root, "a", map[string]string{"address": server.Address + "\n", "password": "wrong"})
	fails("refuses the user name or the password")
	secret(t, root, "a", map[string]string{"password": "s3cret\n"})
	works()
	secret(t, root, "a", map[string]string{"username": "nobody"})
	fails("refuses the user name or the password")
	secret(t, root, "a", map[string]string{"username": "default"})
	works()
	secret(t, root, "a", map[string]string{"tls": "maybe"})
	_, err := depth(t, r, server.Address, "orders")
	require.EqualError(t, err, "redis at "+server.Address+": "+filepath.Join(root, "a", "tls")+": want true or false")
}

func TestTLS(t *testing.T) {
	certificate := redistest.NewCertificate(t)
	server := redistest.StartEncrypted(t, certificate, "--requirepass", "s3cret")
	server.Push("orders", 2, redis.Options{Password: "s3cret", TLSConfig: certificate.TLS()})
	root := t.TempDir()
	r := start(t, &Redis{Secrets: root})
	_, err := depth(t, r, server.Address, "orders")
	require.Error(t, err, "without TLS")

	secret(t, root, "a", map[string]string{"address": server.Address, "password": "s3cret", "tls": "true"})
	_, err = depth(t, r, server.Address, "orders")
	require.ErrorContains(t, err, "certificate signed by unknown authority")

	secret(t, root, "a", map[string]string{"ca.crt": string(certificate.Cert)})
	_, err = depth(t, r, server.Address, "orders")
	require.Error(t, err, "without a certificate of its own")

	secret(t, root, "a", map[string]string{"tls.crt": string(certificate.Cert), "tls.key": string(certificate.Key)})
	n, err := depth(t, r, server.Address, "orders")
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
}

// Only the address that a secret is for is sent the password, and whatever that does
// with it, no error tells.
func TestNoPassword(t *testing.T) {
	for name, be := range redistest.Hostile {
		t.Run(name, func(t *testing.T) {
			server, other := redistest.Listen(t, be), redistest.Listen(t, be)
			root := t.TempDir()
			secret(t, root, "a", map[string]string{"address": server.Address, "username": "us3r", "password": "s3cret"})
			r := start(t, &Redis{Secrets: root, Timeout: 300 * time.Millisecond})
			for _, address := range []string{server.Address, other.Address} {
				_, err := depth(t, r, address, "orders")
				require.Error(t, err)
				require.NotContains(t, err.Error(), "s3cret")
				require.NotContains(t, err.Error(), "us3r")
			}
			require.Contains(t, server.Sent(), "s3cret", "or this test shows nothing")
			require.NotContains(t, other.Sent(), "s3cret")
		})
	}
}

func TestCheckSecrets(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, CheckSecrets(""))
	require.NoError(t, CheckSecrets(root))
	secret(t, root, "optional", nil)
	secret(t, root, "right", map[string]string{"address": "redis:6379\n", "password": "s3cret"})
	require.NoError(t, CheckSecrets(root))

	secret(t, root, "s1", map[string]string{"password": "s3cret"})
	secret(t, root, "s2", map[string]string{"address": "redis", "password": "s3cret"})
	secret(t, root, "s3", map[string]string{"address": "a:1", "tls": "s3cret"})
	secret(t, root, "s4", map[string]string{"address": "a:2", "ca.crt": "s3cret"})
	secret(t, root, "s5", map[string]string{"address": "a:3", "tls.key": "s3cret"})
	secret(t, root, "s6", map[string]string{"address": "redis:6379"})
	err := CheckSecrets(root)
	for _, want := range []string{
		`s1/address: want host:port`,
		`s2/address: want host:port`,
		`s3/tls: want true or false`,
		`s4: ca.crt: want one or more certificates in PEM`,
		`s5: tls.crt and tls.key: want a certificate and its key, both in PEM`,
		`s6/address: want another than that of ` + filepath.Join(root, "right"),
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "s3cret")
	require.Error(t, CheckSecrets(filepath.Join(root, "gone")))
}

func TestFake(t *testing.T) {
	f := Fake(func(_ context.Context, address, name string) (int64, error) {
		return int64(len(address) + len(name)), nil
	})
	n, err := f.ForAddress("redis:6379").Depth(t.Context(), "orders")
	require.NoError(t, err)
	require.EqualValues(t, 16, n)
}
