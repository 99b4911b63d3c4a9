package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/slots"
)

// A Result holds the numbers of Jobs that Apply created and deleted.
type Result struct {
	Created  int64 // Jobs that this call created
	Existing int64 // Jobs found under a name that was to be created: another writer's, or of an earlier create
	// Jobs deleted by this call, by reason. Pruned is HistoryLimit; Other has all reasons of a program's own.
	Outdated, Pruned, Stuck, Other int
}

// A CreateError reports that a create failed, so that fewer Jobs were created than planned.
type CreateError struct {
	Created, Wanted int64
	Err             error // the first reason
}

// Error returns the counts and the first reason.
func (e *CreateError) Error() string {
	return fmt.Sprintf("created %d of %s: %s", e.Created, field.Plural(e.Wanted, "Job"), request.ErrorText(e.Err))
}

// Unwrap returns the first reason.
func (e *CreateError) Unwrap() error { return e.Err }

// ErrorText returns the text of an error for a condition, an event or a log. What a server may have said is one printable
// line of at most 256 characters, without credentials, that begins with the HTTP status: "403 Forbidden: exceeded
// quota". Errors of this library have their own text: a [CreateError], a request and a [field.Error]. Joined errors have
// a line each.
func ErrorText(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, part := range joined.Unwrap() {
			lines = append(lines, ErrorText(part))
		}
		return strings.Join(lines, "\n")
	}
	_, create := errors.AsType[*CreateError](err)
	_, other := errors.AsType[*request.Error](err)
	_, invalid := errors.AsType[*field.Error](err)
	if create || other || invalid {
		return err.Error()
	}
	return request.ErrorText(err)
}

var (
	// ErrOutdated is the error of a plan that stops: its Target was edited or
	// untracked, the Jobs are not known yet, its age is above Options.MaxAge, or its
	// term has ended, which is also a [requests.ErrEnded]. Decide anew.
	ErrOutdated = errors.New("the plan is outdated")
	// ErrNotSent is the error of a request that was never sent. A client that limits
	// requests may return it, wrapped, so that the request is known to have no effect.
	ErrNotSent = request.ErrNotSent
)

// WithoutOutdated returns the errors that Apply joined other than [ErrOutdated], or nil.
func WithoutOutdated(err error) error {
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = slices.Clone(joined.Unwrap())
	}
	return errors.Join(slices.DeleteFunc(parts, func(err error) bool { return errors.Is(err, ErrOutdated) })...)
}

const createJob = "create a Job"

// SplitErrors splits the errors that Apply joined, without [ErrOutdated]: those of creates, and those of
// other requests.
func SplitErrors(err error) (creates, others error) {
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = joined.Unwrap()
	}
	var ofCreates, ofOthers []error
	for _, part := range parts {
		var create *CreateError
		var single *request.Error
		switch {
		case part == nil, errors.Is(part, ErrOutdated):
		case errors.As(part, &create), errors.As(part, &single) && single.Request == createJob:
			ofCreates = append(ofCreates, part)
		default:
			ofOthers = append(ofOthers, part)
		}
	}
	return errors.Join(ofCreates...), errors.Join(ofOthers...)
}

// maxOccupied is how many names may be occupied until no other is tried.
const maxOccupied = 64

// An account counts what an application of a plan has done.
type account struct {
	plan     *Plan
	result   Result
	failed   error   // the first reason why a Job was not created
	names    []error // of Jobs that others occupy
	outdated error
	problems request.Problems
}

// missing returns how many of the plan's Jobs have not been created.
func (a *account) missing() int64 { return a.plan.Create - a.result.Created - a.result.Existing }

// stop notes why the application ends before a request; dropped reports whether requests remain.
func (a *account) stop(cause, err error, dropped bool) {
	switch {
	case cause != nil && a.missing() > 0:
		a.failed = cmp.Or(a.failed, cause)
	case dropped || a.missing() > 0:
		a.outdated = cmp.Or(a.outdated, err)
	}
}

// count counts the reply to a request.
func (a *account) count(c *call, r request.Reply) {
	switch {
	case c.Verb == slots.Read:
		if r.Result == slots.Unanswered {
			a.problems.Add("read a Job that was created or deleted before", r.Err)
		}
	case c.Verb == slots.Mark:
		if r.Err != nil && !errors.Is(r.Err, requests.ErrNoMark) {
			a.problems.Add("write to the lease that the name of a refused Job is skipped", r.Err)
		}
	case errors.Is(r.Err, ErrOutdated):
		a.outdated = cmp.Or(a.outdated, r.Err)
	case c.Verb == slots.Create:
		a.countCreate(r)
	default:
		a.countDelete(c, r)
	}
}

func (a *account) countCreate(r request.Reply) {
	switch {
	case r.Result == slots.Done && r.Err == nil:
		a.result.Created++
	case r.Result == slots.Done:
		a.result.Existing++
	case r.Result == slots.Occupied:
		a.names = append(a.names, r.Err)
	default:
		a.failed = cmp.Or(a.failed, r.Err)
	}
}

func (a *account) countDelete(c *call, r request.Reply) {
	switch {
	case r.Result != slots.Done:
		if !errors.Is(r.Err, request.ErrChanged) {
			a.problems.Add("delete Job "+c.job.Name, r.Err)
		}
	case c.reason == Outdated:
		a.result.Outdated++
	case c.reason == HistoryLimit:
		a.result.Pruned++
	case c.reason == Stuck:
		a.result.Stuck++
	default:
		a.result.Other++
	}
}

// finish returns what was done, and the errors joined.
func (a *application) finish() (Result, error) {
	a.tracker.mu.Lock()
	defer a.tracker.mu.Unlock()
	failed := a.failed
	if failed == nil && a.outdated == nil && len(a.names) >= maxOccupied {
		failed = a.names[0]
	}
	switch {
	case failed != nil && a.missing() > 0:
		failed = &CreateError{a.result.Created, a.plan.Create, failed}
	case a.failed != nil && a.plan.Create > 0: // other creates took its place
		failed = &request.Error{Request: createJob, Err: failed}
	default:
		failed = nil
	}
	return a.result, a.problems.Join(failed, a.outdated)
}
