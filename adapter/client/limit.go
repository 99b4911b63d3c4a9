package client

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Limit bounds the requests that are in flight at the same time, as TCP does. Each
// answer raises the bound a little, up to the greatest. An answer with status 429, an
// answer of 500 or more with Retry-After, and a timeout halve it. Nothing is sent for the
// time in Retry-After. Requests are sent in the order in which they arrive. The zero value
// allows one request in flight. Use [NewLimit].
type Limit struct {
	// MayAct, if set, reports whether this process may change anything, such as whether
	// its lease is valid. It is asked right before a request other than a GET is sent:
	// a process may have waited for long, or been stopped. Set it before the first request.
	MayAct func() bool

	mu       sync.Mutex
	greatest float64
	bound    float64
	inFlight int
	until    time.Time       // nothing is sent before
	halved   time.Time       // a request that was sent before does not halve the bound again
	waiting  []chan struct{} // in the order of arrival
}

// NewLimit returns a limit of at most n requests in flight. If n < 1, it is 1.
func NewLimit(n int) *Limit {
	n = max(1, n)
	return &Limit{greatest: float64(n), bound: float64(n)}
}

// wait returns when a request may be sent. A nil limit never waits.
func (l *Limit) wait(ctx context.Context) error {
	if l == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	turn := make(chan struct{})
	l.mu.Lock()
	l.waiting = append(l.waiting, turn)
	l.admit()
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, turn)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // its turn came just now
		l.leave()
	}
	return ctx.Err()
}

// leave gives back the place of a request that was not sent.
func (l *Limit) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.admit()
}

func (l *Limit) mayChange() bool { return l == nil || l.MayAct == nil || l.MayAct() }

// admit lets waiting requests go, as many as the bound allows.
func (l *Limit) admit() {
	if time.Until(l.until) > 0 {
		return // a timer calls admit then
	}
	n := min(len(l.waiting), max(1, int(l.bound))-l.inFlight)
	for range n {
		close(l.waiting[0])
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		l.inFlight++
	}
}

// A congested reports whether the API server is overloaded, and how long it asks clients
// to wait.
type congested struct {
	is    bool
	pause time.Duration
}

// congestion reads an answer with a Retry-After of at most longestPause; nil is none.
func congestion(r *http.Response, expired bool) congested {
	if r == nil {
		return congested{is: expired}
	}
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	asked := err == nil && seconds >= 0
	switch {
	case r.StatusCode == http.StatusTooManyRequests && !asked:
		return congested{true, time.Second}
	case r.StatusCode == http.StatusTooManyRequests, r.StatusCode >= 500 && asked:
		return congested{true, time.Duration(seconds) * time.Second}
	}
	return congested{}
}

// done notes the end of a request.
func (l *Limit) done(c congested, sent time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	switch {
	case !c.is:
		l.bound = min(l.greatest, l.bound+1/l.bound)
	case sent.After(l.halved):
		l.bound, l.halved = max(1, l.bound/2), time.Now()
	}
	l.pause(c.pause)
	l.admit()
}

// pause stops sending for a while, if it does not already for longer.
func (l *Limit) pause(d time.Duration) {
	until := time.Now().Add(d)
	if d <= 0 || !until.After(l.until) {
		return
	}
	l.until = until
	time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.admit()
	})
}
