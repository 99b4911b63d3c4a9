package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter"
)

// A server is an API server: it answers after a time, or never, as the answer says.
type server struct {
	mu       sync.Mutex
	answer   func(r *http.Request) answer
	inFlight int
	most     int
	paths    []string // in the order of arrival
	timeouts []string
}

// An answer comes after a time; below 0 it never does.
type answer struct {
	after      time.Duration
	code       int // 0 is 200
	retryAfter string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.paths, s.timeouts = append(s.paths, r.URL.Path), append(s.timeouts, r.URL.Query().Get("timeout"))
	a := s.answer(r)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	if a.after < 0 {
		a.after = 1000 * time.Hour
	}
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(a.after):
	}
	header := http.Header{}
	if a.retryAfter != "" {
		header.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{StatusCode: max(a.code, 200), Header: header, Body: http.NoBody, Request: r}, nil
}

// at sends a request and reads the answer to its end.
func at(ctx context.Context, t http.RoundTripper, method, path string) (int, error) {
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

func (l *Limit) state() (inFlight, waiting int, bound float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight, len(l.waiting), l.bound
}

// Requests are sent in the order in which they came, and never more at once than the
// limit allows.
func TestLimitOrder(t *testing.T) {
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answer: func(*http.Request) answer { return answer{after: time.Second} }}
			transport := newTransport(s, time.Minute, NewLimit(n))
			var want []string
			var all sync.WaitGroup
			begin := time.Now()
			for i := range 30 {
				path := "/" + strconv.Itoa(i)
				want = append(want, path)
				all.Go(func() {
					_, err := at(t.Context(), transport, "GET", path)
					require.NoError(t, err)
				})
				synctest.Wait()
			}
			all.Wait()
			require.Equal(t, n, s.most)
			require.Equal(t, 30/time.Duration(n)*time.Second, time.Since(begin))
			if n == 1 { // of several that may go at once the order is the scheduler's
				require.Equal(t, want, s.paths)
			}
		})
	}
}

// A 429 halves the bound once, however many requests of the same time are answered so,
// and nothing is sent for the time of Retry-After. The bound recovers.
func TestLimitAdapts(t *testing.T) {
	for name, c := range map[string]struct {
		overload answer
		pause    time.Duration
		halves   bool
	}{
		"429":                        {answer{code: 429, retryAfter: "7"}, 7 * time.Second, true},
		"429 without a time":         {answer{code: 429}, time.Second, true},
		"429 with an absurd time":    {answer{code: 429, retryAfter: "999999999999"}, 30 * time.Second, true},
		"503 with a time":            {answer{code: 503, retryAfter: "3"}, 3 * time.Second, true},
		"500":                        {answer{code: 500}, 0, false},
		"403":                        {answer{code: 403}, 0, false},
		"no answer in time":          {answer{after: -1}, 0, true},
		"429 with a time below 0":    {answer{code: 429, retryAfter: "-1"}, time.Second, true},
		"429 that may go on at once": {answer{code: 429, retryAfter: "0"}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				limit := NewLimit(64)
				transport := newTransport(shortPause{s}, time.Minute, limit)
				send := func(n int, a answer) {
					s.answer = func(*http.Request) answer { return a }
					var all sync.WaitGroup
					for range n {
						all.Go(func() { _, _ = at(t.Context(), transport, "GET", "/") })
					}
					all.Wait()
				}
				c.overload.after = cmp.Or(c.overload.after, time.Millisecond) // all are under way then
				send(64, c.overload)
				_, _, bound := limit.state()
				if c.halves {
					require.Equal(t, 32.0, bound)
				} else {
					require.Equal(t, 64.0, bound)
				}
				begin := time.Now()
				send(1, answer{})
				require.Equal(t, c.pause, time.Since(begin))
				s.most = 0
				send(200, answer{after: time.Second})
				if c.halves {
					require.Greater(t, s.most, 31)
					require.Less(t, s.most, 40)
				}
				for range 20 {
					send(200, answer{})
				}
				_, _, bound = limit.state()
				require.Equal(t, 64.0, bound)
			})
		})
	}
}

// The bound is never below 1, so that requests go on.
func TestLimitKeepsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(*http.Request) answer { return answer{code: 429, retryAfter: "1"} }}
		limit := NewLimit(0)
		transport := newTransport(s, time.Minute, limit)
		for range 10 {
			code, err := at(t.Context(), transport, "GET", "/")
			require.NoError(t, err)
			require.Equal(t, 429, code)
		}
		_, _, bound := limit.state()
		require.Equal(t, 1.0, bound)
	})
}

// A request that waits when its context ends was not sent, and leaves nothing behind.
func TestLimitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(*http.Request) answer { return answer{after: time.Hour} }}
		limit := NewLimit(2)
		transport := newTransport(s, 2*time.Hour, limit)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { _, err := at(t.Context(), transport, "GET", "/"); require.NoError(t, err) })
		}
		synctest.Wait()
		for i := range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10)*time.Second)
			all.Go(func() {
				defer cancel()
				_, err := at(ctx, transport, "POST", "/waits")
				require.ErrorIs(t, err, adapter.ErrNotSent)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		time.Sleep(time.Minute)
		inFlight, waiting, _ := limit.state()
		require.Equal(t, 2, inFlight)
		require.Zero(t, waiting)
		all.Wait()
		require.Len(t, s.paths, 2)
		inFlight, _, _ = limit.state()
		require.Zero(t, inFlight)
	})
}

// A change that has waited is not sent if the process may not act any more; a read is.
func TestMayAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(*http.Request) answer { return answer{after: time.Hour} }}
		limit := NewLimit(1)
		begin := time.Now()
		limit.MayAct = func() bool { return time.Since(begin) < time.Minute }
		transport := newTransport(s, 2*time.Hour, limit)
		var all sync.WaitGroup
		for _, method := range []string{"POST", "POST", "DELETE", "PATCH", "GET"} {
			all.Go(func() {
				_, err := at(t.Context(), transport, method, "/"+method)
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
		require.Equal(t, []string{"/POST", "/GET"}, s.paths)
		inFlight, _, _ := limit.state()
		require.Zero(t, inFlight)
	})
}

// If the turn comes and the context ends at once, no place is lost.
func TestLimitRace(t *testing.T) {
	limit := NewLimit(1)
	taken := 0
	for range 100 {
		if limit.wait(&ending{Context: t.Context()}) == nil {
			taken++
			limit.leave()
		}
		inFlight, waiting, _ := limit.state()
		require.Zero(t, inFlight)
		require.Zero(t, waiting)
	}
	require.Greater(t, taken, 10)
	require.Less(t, taken, 90)
}

// An ending context ends after Err has been called once.
type ending struct {
	context.Context
	asked bool
}

func (e *ending) Err() (err error) {
	if e.asked {
		err = context.Canceled
	}
	e.asked = true
	return err
}

func (e *ending) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// The timeout counts from when a request is sent, and is told to the API server. A
// request that was sent is not ErrNotSent.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(r *http.Request) answer {
			return map[string]answer{"/first": {after: 14 * time.Second}, "/second": {after: 14 * time.Second}, "/late": {after: -1}}[r.URL.Path]
		}}
		transport := newTransport(s, 15*time.Second, NewLimit(1))
		var all sync.WaitGroup
		for _, path := range []string{"/first", "/second", "/late"} {
			all.Go(func() {
				begin := time.Now()
				_, err := at(t.Context(), transport, "POST", path)
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
		require.Equal(t, []string{"15s", "15s", "15s"}, s.timeouts)
	})
}

// A caller's own end of a request that was sent says nothing of the API server.
func TestCancelledIsNoCongestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(*http.Request) answer { return answer{after: -1} }}
		limit := NewLimit(8)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := at(ctx, newTransport(s, time.Minute, limit), "GET", "/")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, adapter.ErrNotSent)
		_, _, bound := limit.state()
		require.Equal(t, 8.0, bound)
	})
}

// A place is held until the answer has been read: a long list is work for the API
// server until then. What is read too slowly fails.
func TestBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := NewLimit(1)
		transport := newTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(reader(func(p []byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			})), Header: http.Header{}}, nil
		}), time.Minute, limit)
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://server/", strings.NewReader(""))
		require.NoError(t, err)
		response, err := transport.RoundTrip(r)
		require.NoError(t, err)
		inFlight, _, _ := limit.state()
		require.Equal(t, 1, inFlight)
		begin := time.Now()
		_, err = io.ReadAll(response.Body)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		require.NoError(t, response.Body.Close())
		require.NoError(t, response.Body.Close(), "twice")
		inFlight, _, _ = limit.state()
		require.Zero(t, inFlight)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type reader func(p []byte) (int, error)

func (f reader) Read(p []byte) (int, error) { return f(p) }
