package loop_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
)

// serve answers requests in the place of an API server, over TLS and HTTP/2 as one.
func serve(t *testing.T, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func writeReply(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

var job = &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "j"}}

func create(ctx context.Context, c kubernetes.Interface) error {
	_, err := c.BatchV1().Jobs("n").Create(ctx, job, metav1.CreateOptions{})
	return err
}

// An API server that asks for a long pause stops no client for longer than half a minute.
func TestLongPause(t *testing.T) {
	for _, pause := range []string{"31", "86400", "9223372036854775807", "99999999999999999999"} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			config := &rest.Config{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if n++; n == 1 {
					return answer(r, fault{code: 429, retryAfter: pause})
				}
				return reply(r, 201, "", job)
			})}
			clients, err := loop.Connect(config, time.Minute, loop.NewLimit(4))
			require.NoError(t, err)
			begin := time.Now()
			require.True(t, apierrors.IsTooManyRequests(create(t.Context(), clients.Requests)))
			require.NoError(t, create(t.Context(), clients.Requests))
			require.LessOrEqual(t, time.Since(begin), 30*time.Second, pause)
			n, begin = 0, time.Now()
			err = create(t.Context(), clients.Watches)
			require.LessOrEqual(t, time.Since(begin), 30*time.Second, pause)
			if len(pause) < 20 { // client-go reads the number
				require.NoError(t, err)
			}
		})
	}
}

// A busy server keeps every request for Jobs until it may answer.
type busy struct {
	free    chan struct{}
	jobs    atomic.Int64
	mu      sync.Mutex
	clients map[string]string // remote address: protocol, of requests for leases
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		b.mu.Lock()
		b.clients[r.RemoteAddr] = r.Proto
		b.mu.Unlock()
		writeReply(w, 200, &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}})
		return
	}
	b.jobs.Add(1)
	select {
	case <-b.free:
	case <-r.Context().Done():
	}
	writeReply(w, 201, job)
}

// While the limit is used up, a lease is renewed at once, over a connection of its own;
// a create waits, and one whose context ends was not sent. http.Client and client-go
// pass that on.
func TestSaturated(t *testing.T) {
	b := &busy{free: make(chan struct{}), clients: map[string]string{}}
	config := serve(t, b.ServeHTTP)
	const n = 4
	clients, err := loop.Connect(config, time.Minute, loop.NewLimit(n))
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 3 * n {
		all.Go(func() { require.NoError(t, create(t.Context(), clients.Requests)) })
	}
	require.Eventually(t, func() bool { return b.jobs.Load() == n }, 10*time.Second, time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, create(ctx, clients.Requests), adapter.ErrNotSent)
	require.Equal(t, 2*n, clients.Queue.Stats().Waiting, "it does not wait any more")

	leases, err := kubernetes.NewForConfig(loop.SeparateConfig(config, 5*time.Second))
	require.NoError(t, err)
	begin := time.Now()
	for range 10 {
		_, err = leases.CoordinationV1().Leases("n").Update(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	require.Less(t, time.Since(begin), 2*time.Second)
	require.Len(t, b.clients, 1)
	for _, protocol := range b.clients {
		require.Equal(t, "HTTP/1.1", protocol)
	}
	require.EqualValues(t, n, b.jobs.Load(), "no more were sent")
	close(b.free)
	all.Wait()
	require.EqualValues(t, 3*n, b.jobs.Load())
}

// No request is repeated, whatever its answer and Retry-After are.
func TestNotRepeated(t *testing.T) {
	for _, code := range []int{429, 500, 503, 504} {
		for _, kind := range []string{"application/json", "text/plain"} {
			var requests atomic.Int64
			clients, err := loop.Connect(serve(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				w.Header().Set("Retry-After", "0")
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(code)
			}), 15*time.Second, loop.NewLimit(8))
			require.NoError(t, err)
			_, err = clients.Requests.BatchV1().Jobs("n").Get(t.Context(), "j", metav1.GetOptions{})
			require.Error(t, err)
			require.Error(t, create(t.Context(), clients.Requests))
			require.EqualValues(t, 2, requests.Load(), "%d, %s", code, kind)
		}
	}
}

// The API server learns the timeout of a request, of other clients too. A watch has
// none, and waits for nobody.
func TestWatchesPass(t *testing.T) {
	seen := make(chan string, 10)
	hold := make(chan struct{})
	config := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.URL.Path + "?timeout=" + r.URL.Query().Get("timeout")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	config.Timeout = time.Nanosecond // of a config that somebody else made
	limit := loop.NewLimit(1)
	limited := loop.LimitedConfig(config, 10*time.Second, limit)
	require.Equal(t, time.Nanosecond, config.Timeout, "the config was changed")
	dynamic, err := dynamic.NewForConfig(limited)
	require.NoError(t, err)
	things := dynamic.Resource(batchv1.SchemeGroupVersion.WithResource("things"))
	var read sync.WaitGroup
	read.Go(func() { _, _ = things.Get(t.Context(), "a", metav1.GetOptions{}) })
	require.Equal(t, "/apis/batch/v1/things/a?timeout=10s", <-seen)

	clients, err := loop.Connect(config, 10*time.Second, limit)
	require.NoError(t, err)
	for _, c := range []kubernetes.Interface{clients.Requests, clients.Watches} {
		w, err := c.BatchV1().Jobs("n").Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, "/apis/batch/v1/namespaces/n/jobs?timeout=", <-seen)
		defer w.Stop()
	}
	close(hold)
	read.Wait()
}

// A lease on a connection that has fallen silent is renewed over a new one.
func TestSeparateReconnects(t *testing.T) {
	var silent atomic.Bool
	config := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		writeReply(w, 200, &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}})
	})
	var dials atomic.Int64
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &mute{Conn: c, silent: &silent, old: dials.Load() == 1}, err
	}
	leases, err := kubernetes.NewForConfig(loop.SeparateConfig(config, time.Second))
	require.NoError(t, err)
	get := func() error {
		_, err := leases.CoordinationV1().Leases("n").Get(t.Context(), "l", metav1.GetOptions{})
		return err
	}
	require.NoError(t, get())
	silent.Store(true)
	require.Error(t, get())
	require.NoError(t, get())
	require.EqualValues(t, 2, dials.Load())
}

// A mute connection swallows what is written, once it is silent.
type mute struct {
	net.Conn
	silent *atomic.Bool
	old    bool
}

func (m *mute) Write(p []byte) (int, error) {
	if m.old && m.silent.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

func TestConnectRefuses(t *testing.T) {
	_, err := loop.Connect(&rest.Config{Host: "http://127.0.0.1:1"}, -1, nil)
	require.EqualError(t, err, "timeout: found -1ns; use a duration of 0 or more")
	clients, err := loop.Connect(&rest.Config{Host: "http://127.0.0.1:1"}, time.Second, nil)
	require.NoError(t, err)
	require.ErrorContains(t, create(t.Context(), clients.Requests), "connection refused", "no limit")
}

// A timeout of 0 is the default of adapter.Options, and the API server is told.
func TestDefaultTimeout(t *testing.T) {
	clients, err := loop.Connect(serve(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, adapter.DefaultTimeout.String(), r.URL.Query().Get("timeout"))
		w.WriteHeader(http.StatusNotFound)
	}), 0, nil)
	require.NoError(t, err)
	require.Error(t, create(t.Context(), clients.Requests))
}
