package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// health is whether a member answers. The zero value has not been asked.
type health struct {
	mu       sync.Mutex
	open     chan struct{}    // closed while the last health check has passed, and nothing has failed since
	problems map[string]error // of what failed when last tried; nil when nothing was
	failed   uint64           // calls that have, so far
}

const healthCheck = "health check"

// gate is closed while the member answers.
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

// note notes what came of a health check, or of listing or watching something. Where
// it failed, the member does not answer until the next health check.
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

// problem is why the member does not answer, nil if it does or has not been asked.
func (h *health) problem() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []error
	for _, what := range slices.Sorted(maps.Keys(h.problems)) {
		all = append(all, fmt.Errorf("%s: %w", what, h.problems[what]))
	}
	return errors.Join(all...)
}

// answers reports whether the last health check passed, and all is being watched.
func (h *health) answers() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return isClosed(h.gate()) && len(h.problems) == 0
}

// mayAnswer reports whether the last health check passed, or there has been none.
func (h *health) mayAnswer() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problems == nil || isClosed(h.gate())
}

// wait returns when the member answers.
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

// failures is how many calls have failed so far.
func (h *health) failures() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// code is the HTTP status of an answer, 0 if there was none.
func code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// passing reports whether a request that failed may work later: it was not answered,
// or by a server that could not serve it.
func passing(err error) bool {
	switch c := code(err); c {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return c < 400 || c >= 500
	}
}

// callFailed reports whether a request failed, and not because there is no such
// object, or it is in another state.
func callFailed(err error) bool {
	switch code(err) {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone:
		return false
	}
	return err != nil
}
