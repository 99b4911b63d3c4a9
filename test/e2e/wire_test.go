package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// A wire is the way to the API server, with what can go wrong on it.
type wire struct {
	mu   sync.Mutex
	next http.RoundTripper
	// fault answers a request in the server's place, if it returns anything, after
	// it has been sent or not, as it likes.
	fault func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
	late  time.Duration // by which watch events come
	cut   chan struct{} // closed to cut all watches
}

// clients returns clients whose requests go over the wire.
func (w *wire) clients(t *testing.T, c *cluster.Cluster) loop.Clients {
	t.Helper()
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.next = next
		return w
	})
	clients, err := loop.Connect(config, timeout, nil)
	require.NoError(t, err)
	w.cut = make(chan struct{})
	return clients
}

// timeout is that of the writers' requests.
const timeout = 2 * time.Second

func (w *wire) breaks(how func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = how
}

func (w *wire) cutWatches() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
	w.cut = make(chan struct{})
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	fault, cut := w.fault, w.cut
	w.mu.Unlock()
	send := func() (*http.Response, error) { return w.next.RoundTrip(r) }
	if fault != nil {
		if answer, err := fault(r, send); answer != nil || err != nil {
			return answer, err
		}
	}
	answer, err := send()
	if err == nil && r.URL.Query().Get("watch") != "" {
		answer.Body = slow(answer.Body, w.late, cut)
	}
	return answer, err
}

// slow lets all that is read come late, until it is cut.
func slow(body io.ReadCloser, late time.Duration, cut <-chan struct{}) io.ReadCloser {
	type chunk struct {
		at   time.Time
		data []byte
	}
	chunks := make(chan chunk, 1<<16)
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, 32<<10)
			n, err := body.Read(buffer)
			if n > 0 {
				chunks <- chunk{time.Now().Add(late), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		<-cut
		writer.CloseWithError(io.ErrUnexpectedEOF)
		body.Close()
	}()
	go func() {
		for c := range chunks {
			time.Sleep(time.Until(c.at))
			if _, err := writer.Write(c.data); err != nil {
				body.Close()
			}
		}
		writer.CloseWithError(io.EOF)
	}()
	return struct {
		io.Reader
		io.Closer
	}{reader, closers{reader, body}}
}

type closers []io.Closer

func (all closers) Close() error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func creates(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs")
}

func lists(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs")
}

func status(r *http.Request, code int) *http.Response {
	s := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Message: "a fault"}
	data, _ := json.Marshal(s)
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(data)), Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

// A writer polls for a fleet through a wire of its own, as a controller would.
type writer struct {
	*fleet
	wire    *wire
	tracker *adapter.Tracker
	errs    []error
}

func newWriter(f *fleet, c *cluster.Cluster, w *wire) *writer {
	f.t.Helper()
	clients := w.clients(f.t, c)
	tracker, err := adapter.NewTracker(clients.Watches, adapter.Options{
		Terms: requests.OneShot(), Namespace: f.target.Owner.Namespace, Timeout: timeout, MaxAge: time.Minute, // a busy machine takes long for 1,000 Jobs
	})
	require.NoError(f.t, err)
	own := *f
	own.client = clients.Requests
	require.NoError(f.t, tracker.Track(f.target))
	go tracker.Run(f.t.Context())
	return &writer{fleet: &own, wire: w, tracker: tracker}
}

func (w *writer) synced() *writer {
	w.eventually("the tracker has synced", w.tracker.HasSynced)
	return w
}

// pollOnce polls with a queue, and keeps the error.
func (w *writer) pollOnce(queue float64) adapter.Result {
	r, err := w.tracker.Apply(w.t.Context(), w.client, w.plan(queue))
	if err != nil {
		w.errs = append(w.errs, err)
	}
	return r
}

func (w *writer) plan(queue float64) adapter.Plan {
	return w.tracker.Plan(w.target.Owner.UID, items(queue), time.Now())
}

// pollEvery polls at an interval for a while.
func (w *writer) pollEvery(interval, duration time.Duration, queue float64) {
	for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(interval) {
		w.pollOnce(queue)
	}
}

// converges polls until there are n Jobs, and then a little longer.
func (w *writer) converges(n int, queue float64) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d Jobs", n), func() bool {
		w.pollOnce(queue)
		return len(w.jobs()) == n
	})
	w.pollEvery(50*time.Millisecond, 500*time.Millisecond, queue)
	require.Len(w.t, w.jobs(), n)
}
