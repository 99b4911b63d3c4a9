package loop_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// send sends a request and reads the answer to its end.
func send(ctx context.Context, t http.RoundTripper, method, path string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://server"+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := (&http.Client{Transport: t}).Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// An answer speaks about its owner, or about the load of the API server. Only the API
// server itself refuses with a text instead of a Status.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		code             int
		kind, retryAfter string
		want             requests.Answer
		after            time.Duration
	}{
		"created":                  {201, "application/json", "", requests.Success, 0},
		"absent":                   {404, "application/json", "", requests.Success, 0},
		"exists":                   {409, "application/json", "", requests.Success, 0},
		"the API server's load":    {429, "text/plain; charset=utf-8", "1", requests.Overloaded, time.Second},
		"its load without a time":  {429, "text/plain", "", requests.Overloaded, time.Second},
		"a webhook's 429":          {429, "application/json", "7", requests.Refused, 7 * time.Second},
		"a webhook's, in protobuf": {429, "application/vnd.kubernetes.protobuf", "", requests.Refused, time.Second},
		"a time below 0":           {429, "application/json", "-1", requests.Refused, time.Second},
		"an absurd time":           {429, "application/json", "999999999999", requests.Refused, 31 * time.Second},
		"no type":                  {429, "", "1", requests.Refused, time.Second},
		"unavailable":              {503, "application/json", "3", requests.Refused, 3 * time.Second},
		"unavailable, in text":     {503, "text/plain", "3", requests.Refused, 3 * time.Second},
		"failed":                   {500, "application/json", "", requests.Refused, 0},
		"denied":                   {403, "application/json", "", requests.Refused, 0},
		"invalid":                  {422, "application/json", "", requests.Refused, 0},
	} {
		r := &http.Response{StatusCode: c.code, Header: http.Header{}}
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("X-Kubernetes-PF-FlowSchema-UID", "set in every answer")
		if c.retryAfter != "" {
			r.Header.Set("Retry-After", c.retryAfter)
		}
		got, after := loop.Judge(r, false)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.after, after, name)
	}
	got, _ := loop.Judge(nil, true)
	require.Equal(t, requests.Refused, got, "no answer in time")
	got, _ = loop.Judge(nil, false)
	require.Equal(t, requests.Neutral, got, "the caller has ended it")
}

// An until is a lease that ends then.
type until time.Time

func (u until) Valid() bool              { return time.Now().Before(time.Time(u)) }
func (until) Mark(context.Context) error { return nil }

// A change that has waited is not sent if the process may not act any more; a read is.
func TestMayAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		server := roundTripper(func(r *http.Request) (*http.Response, error) {
			paths = append(paths, r.URL.Path)
			return answer(r, fault{after: time.Hour, code: 200})
		})
		limit := loop.NewLimit(1)
		begin := time.Now()
		terms := &requests.Terms{}
		terms.Begin(until(begin.Add(time.Minute)), false)
		transport := loop.NewTransport(server, 2*time.Hour, limit)
		var all sync.WaitGroup
		for _, method := range []string{"POST", "POST", "DELETE", "PATCH", "GET"} {
			all.Go(func() {
				_, err := send(requests.WithTerm(t.Context(), terms), transport, method, "/"+method)
				if method == "GET" || time.Since(begin) == time.Hour && err == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, adapter.ErrNotSent)
				require.ErrorIs(t, err, adapter.ErrOutdated)
			})
			synctest.Wait()
		}
		all.Wait()
		require.Equal(t, []string{"/POST", "/GET"}, paths)
		require.Zero(t, limit.Stats().InFlight)
		_, err := send(requests.WithTerm(t.Context(), terms), loop.NewTransport(server, time.Minute, nil), "POST", "/unlimited")
		require.ErrorIs(t, err, adapter.ErrNotSent)
	})
}

// The timeout counts from when a request is sent, and is told to the API server. A
// request that was sent is not ErrNotSent.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var timeouts []string
		transport := loop.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			timeouts = append(timeouts, r.URL.Query().Get("timeout"))
			after := map[string]time.Duration{"/first": 14 * time.Second, "/second": 14 * time.Second, "/late": -1}
			return answer(r, fault{after: after[r.URL.Path], code: 200})
		}), 15*time.Second, loop.NewLimit(1))
		var all sync.WaitGroup
		for _, path := range []string{"/first", "/second", "/late"} {
			all.Go(func() {
				begin := time.Now()
				_, err := send(t.Context(), transport, "POST", path)
				if path != "/late" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "no answer within 15s")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotErrorIs(t, err, adapter.ErrNotSent)
				require.Equal(t, 43*time.Second, time.Since(begin))
			})
			synctest.Wait()
		}
		all.Wait()
		require.Equal(t, []string{"15s", "15s", "15s"}, timeouts)
	})
}

// A place is held until the answer has been read: a long list is work for the API
// server until then. What is read too slowly fails.
func TestBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := loop.NewLimit(1)
		transport := loop.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(reader(func(p []byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			})), Header: http.Header{}}, nil
		}), time.Minute, limit)
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://server/", strings.NewReader(""))
		require.NoError(t, err)
		response, err := transport.RoundTrip(r)
		require.NoError(t, err)
		require.Equal(t, 1, limit.Stats().InFlight)
		begin := time.Now()
		_, err = io.ReadAll(response.Body)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		require.NoError(t, response.Body.Close())
		require.NoError(t, response.Body.Close(), "twice")
		require.Zero(t, limit.Stats().InFlight)
	})
}

type reader func(p []byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }

// A request without an answer is refused, also if its caller's timeout for it is shorter, such as that of a
// term. A caller who gives up for a reason of his own says nothing about the API server.
func TestCallersTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := loop.NewLimit(1)
		var seen []loop.Answer
		limit.Observe = func(a loop.Answer) { seen = append(seen, a) }
		transport := loop.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) { return answer(r, fault{after: -1}) }), time.Second, limit)
		of := func(cause error) func() (context.Context, context.CancelFunc, error) {
			return func() (context.Context, context.CancelFunc, error) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause)
				return ctx, cancel, nil
			}
		}
		terms := requests.OneShot()
		for name, c := range map[string]struct {
			caller   func() (context.Context, context.CancelFunc, error)
			noAnswer bool
			want     requests.Answer
		}{
			"of a term": {func() (context.Context, context.CancelFunc, error) {
				return terms.Term().Request(t.Context(), time.Second-1)
			}, true, requests.Refused},
			"plain":       {of(nil), false, requests.Neutral},
			"of a budget": {of(fmt.Errorf("budget: %w", context.DeadlineExceeded)), false, requests.Neutral},
		} {
			ctx, cancel, err := c.caller()
			require.NoError(t, err)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/apis/batch/v1/namespaces/a/jobs", nil)
			require.NoError(t, err)
			_, err = transport.RoundTrip(r)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, c.noAnswer, errors.Is(err, requests.ErrNoAnswer), name)
			require.Equal(t, c.want, seen[len(seen)-1].Answer, name)
		}
	})
}
