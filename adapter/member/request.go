package member

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A sender sends the requests of a task to a member: within the rate limit, each
// with a timeout, none after the deadline, and none after an unanswered request.
// It notes the kinds of the failures.
type sender struct {
	cluster *Cluster
	caller  context.Context // its end is no failure of the member
	until   time.Time

	mu         sync.Mutex
	unanswered bool
	failed     failures // may be read when all requests have ended
}

// failures are those of an owner's requests.
type failures struct {
	jobs.Failures               // answers of the member
	doubted       jobs.Failures // no answer of the member: it or the network may have failed
	sent, last    time.Time     // the first of doubted, and the last
}

// add adds those of later requests.
func (f *failures) add(g failures) {
	f.Failures, f.doubted = combine(f.Failures, g.Failures), combine(f.doubted, g.doubted)
	if f.sent.IsZero() {
		f.sent = g.sent
	}
	if !g.last.IsZero() {
		f.last = g.last
	}
}

// settle returns the failures that count against the owner. Doubted ones do if the member has
// passed a health check since, and do not if it has failed meanwhile.
func (f *failures) settle(h *health) (settled jobs.Failures) {
	passed, failed := h.last()
	settled, f.Failures = f.Failures, jobs.Failures{}
	switch {
	case !failed.Before(f.sent):
		*f = failures{}
	case passed.After(f.last):
		settled = combine(settled, f.doubted)
		*f = failures{}
	}
	return settled
}

func (c *Cluster) sender(ctx context.Context, from time.Time) *sender {
	return &sender{cluster: c, caller: ctx, until: from.Add(c.options.Deadline)}
}

// client returns the client that sends requests about Jobs.
func (s *sender) client() via {
	return via{Interface: s.cluster.clients.Requests, cluster: s.cluster, send: func(string, string) do { return s.job }}
}

func (s *sender) job(ctx context.Context, verb string, request func(context.Context) error) error {
	sent := time.Now()
	err := s.send(ctx, request)
	switch failed := failure(verb, err); {
	case failed == jobs.Failures{}, errors.Is(err, adapter.ErrNotSent), s.caller.Err() != nil:
	case answered(err):
		s.fail(failures{Failures: failed})
	default:
		s.fail(failures{doubted: failed, sent: sent, last: time.Now()})
	}
	return err
}

// send sends a request, or fails with adapter.ErrNotSent.
func (s *sender) send(ctx context.Context, call func(context.Context) error) error {
	if err := s.admit(ctx); err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrNotSent, err)
	}
	bounded, cancel := context.WithTimeout(s.caller, s.cluster.options.Timeout)
	defer cancel()
	err := call(bounded)
	switch answer := request.Code(err); {
	case err != nil && answer == 0:
		s.mu.Lock()
		s.unanswered = true
		s.mu.Unlock()
		s.cluster.soon()
	case answer >= 500: // its effect is unknown too
		s.cluster.soon()
	}
	return err
}

// admit waits until the request may be sent. The error is the reason why it may not.
func (s *sender) admit(ctx context.Context) error {
	bounded, cancel := context.WithDeadline(ctx, s.until)
	defer cancel()
	if err := s.check(bounded); err != nil || s.cluster.limiter == nil {
		return err
	}
	if err := s.cluster.limiter.Wait(bounded); err != nil {
		return err
	}
	return s.check(bounded)
}

func (s *sender) check(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := &s.cluster.options; {
	case s.unanswered:
		return errors.New("the previous request was not answered")
	case !o.Terms.MayAct():
		return fmt.Errorf("%w: %w", adapter.ErrOutdated, requests.ErrEnded)
	}
	return ctx.Err()
}

func (s *sender) fail(f failures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed.add(f)
}

// combine returns the failures of both.
func combine(a, b jobs.Failures) jobs.Failures {
	return jobs.Failures{Call: a.Call || b.Call, Create: a.Create || b.Create, Rejected: a.Rejected || b.Rejected}
}

// failure returns the failure of the member that the error of a request is, if it is
// one. An answer about the state of the object is none.
func failure(verb string, err error) (failed jobs.Failures) {
	answer := request.Code(err)
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
	case verb != "create":
		failed.Call = answer != http.StatusNotFound && answer != http.StatusConflict && answer != http.StatusGone
	case answer == http.StatusRequestTimeout, answer == http.StatusTooManyRequests, answer < 400, answer >= 500:
		failed.Create = true
	default:
		failed.Rejected = true
	}
	return failed
}
