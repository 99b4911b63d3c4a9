package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
)

// A transport sends requests within the limit, each with the timeout. It relies
// on a shortPause below it.
type transport struct {
	next    http.RoundTripper
	timeout time.Duration
	limit   *Limit // nil is none
	expired error  // of a request that was not answered in time
}

func newTransport(next http.RoundTripper, timeout time.Duration, limit *Limit) *transport {
	return &transport{next, timeout, limit, fmt.Errorf("no answer within %s: %w", timeout, context.DeadlineExceeded)}
}

// RoundTrip holds the request's place in the limit until the answer has been read.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if watch := query.Get("watch"); watch == "true" || watch == "1" {
		return t.next.RoundTrip(r)
	}
	if err := t.admitted(r); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeoutCause(r.Context(), t.timeout, t.expired)
	r = r.WithContext(ctx)
	target := *r.URL
	query.Set("timeout", t.timeout.String())
	target.RawQuery, r.URL = query.Encode(), &target
	response, err := t.next.RoundTrip(r)
	if err != nil {
		expired := context.Cause(ctx) == t.expired
		if cancel(); expired {
			err = t.expired
		}
		t.limit.done(congestion(nil, expired), sent)
		return nil, err
	}
	congested := congestion(response, false)
	if response.StatusCode >= 500 && r.Method != http.MethodGet {
		response.Header.Del("Retry-After")
	}
	response.Body = &body{response.Body, sync.OnceFunc(func() {
		cancel()
		t.limit.done(congested, sent)
	})}
	return response, nil
}

// longestPause bounds Retry-After, in seconds.
const longestPause = 30

// A shortPause bounds Retry-After, for which client-go waits before it repeats a request,
// and a Limit before it sends any.
type shortPause struct{ next http.RoundTripper }

func (t shortPause) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > longestPause {
		response.Header.Set("Retry-After", strconv.Itoa(longestPause))
	}
	return response, nil
}

// admitted waits until the request may be sent, or returns an error if it may not.
func (t *transport) admitted(r *http.Request) error {
	if err := t.limit.wait(r.Context()); err != nil {
		return fmt.Errorf("waiting for the limit on requests: %w", err)
	}
	if r.Method != http.MethodGet && !t.limit.mayChange() {
		t.limit.leave()
		return fmt.Errorf("%w: this process may not act", adapter.ErrOutdated)
	}
	return nil
}

// A body is the body of an answer. It calls a function at its end.
type body struct {
	io.ReadCloser
	end func()
}

// Close closes the body.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
