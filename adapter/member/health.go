package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A health knows whether a member is reachable. The zero value has not been checked.
type health struct {
	mu       sync.Mutex
	open     chan struct{}    // closed while the last health check passed and nothing has failed since
	problems map[string]error // errors of the last attempts, by operation; nil if there was no attempt
	failed   uint64           // number of failed calls
}

const healthCheck = "health check"

// gate returns a channel that is closed while the member is reachable.
func (h *health) gate() chan struct{} {
	if h.open == nil {
		h.open = make(chan struct{})
	}
	return h.open
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// note notes the result of a health check, a list or a watch. After a failure the
// member is unreachable until the next health check passes.
func (h *health) note(what string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.problems == nil {
		h.problems = map[string]error{}
	}
	delete(h.problems, what)
	switch open := isClosed(h.gate()); {
	case err != nil:
		h.problems[what] = err
		h.failed++
		if open {
			h.open = nil
		}
	case what == healthCheck && !open:
		close(h.open)
	}
}

// problem returns why the member is unreachable, or nil if it is not or is not checked.
func (h *health) problem() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []error
	for _, what := range slices.Sorted(maps.Keys(h.problems)) {
		all = append(all, fmt.Errorf("%s: %w", what, h.problems[what]))
	}
	return errors.Join(all...)
}

// answers reports whether the last health check passed and nothing has failed since.
func (h *health) answers() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return isClosed(h.gate()) && len(h.problems) == 0
}

// mayAnswer reports whether the last health check passed or there was none.
func (h *health) mayAnswer() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problems == nil || isClosed(h.gate())
}

// wait returns when the member is reachable.
func (h *health) wait(ctx context.Context) error {
	h.mu.Lock()
	gate := h.gate()
	h.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failures returns the number of failed calls so far.
func (h *health) failures() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}
