package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A transport sends requests within the limit, each with the timeout. It hides Retry-After
// from client-go, which would repeat the request before the caller knows.
type transport struct {
	next    http.RoundTripper
	timeout time.Duration
	limit   *Limit // nil is none
}

func newTransport(next http.RoundTripper, timeout time.Duration, limit *Limit) *transport {
	return &transport{next, timeout, limit}
}

// RoundTrip holds the request's slot until the answer has been read.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	if watch := query.Get("watch"); watch == "true" || watch == "1" {
		return t.next.RoundTrip(r)
	}
	answered, free, err := t.limit.admit(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
	}
	ctx, cancel := requests.Timeout(r.Context(), t.timeout)
	r = r.WithContext(ctx)
	target := *r.URL
	query.Set("timeout", t.timeout.String())
	target.RawQuery, r.URL = query.Encode(), &target
	response, err := t.next.RoundTrip(r)
	if err != nil {
		cause := context.Cause(ctx) // a caller's timeout for the request may be shorter
		expired := errors.Is(cause, requests.ErrNoAnswer)
		if cancel(); expired {
			err = cause
		}
		answered(nil, expired)
		free()
		return nil, err
	}
	answered(response, false)
	response.Header.Del("Retry-After")
	response.Body = &body{response.Body, sync.OnceFunc(func() {
		cancel()
		free()
	})}
	return response, nil
}

// A shortPause bounds Retry-After, for which client-go waits before it repeats a request
// that has no limit.
type shortPause struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go cancel a request at its timeout.
func (t shortPause) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t shortPause) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if longest := int(requests.LongestDelay / time.Second); retryAfter(response) > longest {
		response.Header.Set("Retry-After", strconv.Itoa(longest))
	}
	return response, nil
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
