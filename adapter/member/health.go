package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/placement/taint"
)

// A health knows whether a member is reachable. The zero value has not been checked.
type health struct {
	mu       sync.Mutex
	open     chan struct{}    // closed while the last health check passed and nothing has failed since
	problems map[string]error // errors of the last attempts, by operation; nil if there was no attempt
	refused  map[string]refusal
	opened   time.Time // when the gate opened
	passed   time.Time // when the last health check was sent that passed
	failed   time.Time // when a health check, a list or a watch last failed
	jury     *jury     // nil if the member is not registered
	name     string
}

// A refusal of a list or watch in one of several namespaces concerns the owners with Jobs there.
type refusal struct {
	namespace string
	first     time.Time
	err       error
}

// A jury judges which registered members do not answer.
type jury struct {
	mu     sync.Mutex
	fleet  taint.Fleet
	owners map[string]*Cluster // of the UIDs of clusters
}

// note notes the result of a call that was sent at that time.
func (j *jury) note(name string, sent time.Time, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch now := time.Now(); {
	case err == nil:
		j.fleet.Answered(name, sent, now)
	case answered(err):
		j.fleet.Refused(name, sent, now)
	default:
		j.fleet.Failed(name, sent, now)
	}
}

// answered reports whether the member has answered with an error. A proxy or a gateway may
// answer in its place with 407 or 500 and above, and 401 may mean that the credentials of
// the hub have ended.
func answered(err error) bool {
	answer := request.Code(err)
	return answer >= 400 && answer < 500 && answer != http.StatusUnauthorized && answer != http.StatusProxyAuthRequired
}

// judgement returns the judgement of the member.
func (h *health) judgement() taint.Standing {
	h.mu.Lock()
	jury := h.jury
	h.mu.Unlock()
	if jury == nil {
		return taint.Standing{}
	}
	jury.mu.Lock()
	defer jury.mu.Unlock()
	return jury.fleet.Standing(h.name, time.Now())
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

// note notes the result of a health check, a list or a watch that was sent at that time.
// After a failure the member is unreachable until the next health check passes.
func (h *health) note(operation string, sent time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jury != nil {
		h.jury.note(h.name, sent, err)
	}
	if h.problems == nil {
		h.problems = map[string]error{}
	}
	delete(h.problems, operation)
	delete(h.refused, operation)
	switch open := isClosed(h.gate()); {
	case err != nil:
		h.problems[operation], h.failed = err, time.Now()
		if open {
			h.open = nil
		}
	case operation == healthCheck && !open:
		close(h.open)
		h.opened = time.Now()
	}
	if operation == healthCheck && err == nil {
		h.passed = sent
	}
}

// last returns when the last health check that passed was sent, and when one, a list or a watch
// last failed.
func (h *health) last() (passed, failed time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.passed, h.failed
}

// refuse notes the error of a list or watch in a namespace, and reports whether it was refused.
func (h *health) refuse(operation, namespace string, err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !apierrors.IsForbidden(err) {
		return false
	}
	delete(h.problems, operation) // which does not speak about the member any more
	if h.refused == nil {
		h.refused = map[string]refusal{}
	}
	first := time.Now()
	if before, repeated := h.refused[operation]; repeated {
		first = before.first
	}
	h.refused[operation] = refusal{namespace, first, err}
	return true
}

// refusal returns why a namespace is not read, and since when; nil if it is.
func (h *health) refusal(namespace string) (first time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	problems := map[string]error{}
	for operation, r := range h.refused {
		if r.namespace == namespace {
			problems[operation] = r.err
			if first.IsZero() || r.first.Before(first) {
				first = r.first
			}
		}
	}
	return first, named(problems)
}

// problem returns why the member is unreachable, or nil if it is not or is not checked.
func (h *health) problem() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return named(h.problems)
}

// named joins errors of operations.
func named(problems map[string]error) error {
	var joined []error
	for _, operation := range slices.Sorted(maps.Keys(problems)) {
		joined = append(joined, fmt.Errorf("%s: %w", operation, problems[operation]))
	}
	return errors.Join(joined...)
}

// answersSince returns the time since which the member is reachable: the last health check passed,
// and nothing has failed since. It is the zero time if it is not.
func (h *health) answersSince() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if isClosed(h.gate()) && len(h.problems) == 0 {
		return h.opened
	}
	return time.Time{}
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
