package adapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/rollout"
)

// A Result holds the numbers of Jobs that Apply created and deleted.
type Result struct {
	Created  int64 // Jobs that this call created
	Existing int64 // Jobs found under a name that was to be created: another writer's, or of an earlier create
	// Jobs that are deleted now, by the reason: HistoryLimit is pruned.
	Outdated, Pruned, Duplicates int
}

// A CreateError reports that a create failed, so that fewer Jobs were created than planned.
type CreateError struct {
	Created, Wanted int64
	Err             error // the first reason
}

// Error returns the counts and the first reason.
func (e *CreateError) Error() string {
	return fmt.Sprintf("created %d of %d Jobs: %v", e.Created, e.Wanted, e.Err)
}

// Unwrap returns the first reason.
func (e *CreateError) Unwrap() error { return e.Err }

var (
	// ErrOutdated is the error of a plan that stops: its Target was edited or
	// untracked, the Jobs are not known yet, its age is above Options.MaxAge, or
	// Options.MayAct reports false. Decide anew.
	ErrOutdated = errors.New("the plan is outdated")
	// ErrNotSent is the error of a request that was never sent. A client that limits
	// requests may return it, wrapped, so that the request is known to have no effect.
	ErrNotSent = errors.New("not sent")

	errTaken   = errors.New("the name belongs to a finished Job or to another owner")
	errChanged = errors.New("the Job has changed")
)

// WithoutOutdated returns the errors that Apply joined other than [ErrOutdated], or nil.
func WithoutOutdated(err error) error {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = slices.Clone(joined.Unwrap())
	}
	return errors.Join(slices.DeleteFunc(all, func(err error) bool { return errors.Is(err, ErrOutdated) })...)
}

// Apply carries a plan out with a client whose timeout is Options.Timeout. It reads the
// Jobs of earlier requests that were not answered for twice the timeout, or not shown by the
// cache for eight times the timeout. Then it deletes unfinished Jobs, creates Jobs, and
// deletes finished Jobs, in batches that double from 1 to 64. Apply a plan once: a second
// call creates further Jobs, up to the maximum.
//
// If the Target's maximum leaves no capacity, Apply creates fewer Jobs and returns no error.
// It stops with [ErrOutdated] before a batch if the plan is outdated. It stops creating
// after a batch with a failed create, and returns a [*CreateError]. Errors of deletes are
// joined. A Job that is deleted already counts as deleted; a Job that has changed is left
// to the next plan. The Result is also valid with an error.
func (t *Tracker) Apply(ctx context.Context, client Client, p Plan) (Result, error) {
	a := t.begin(&p)
	a.jobs = client.BatchV1()
	for batch := t.next(ctx, a); len(batch) > 0; batch = t.next(ctx, a) {
		var group sync.WaitGroup
		for i := range batch {
			group.Go(func() { t.answered(a, &batch[i], a.send(ctx, &batch[i])) })
		}
		group.Wait()
	}
	return a.result, a.err()
}

func (a *application) send(ctx context.Context, q *request) reply {
	switch {
	case q.stage == asking && q.delete != nil:
		return a.gone(ctx, q.delete)
	case q.stage == asking:
		owner := &q.flight.from.Owner
		return a.read(ctx, owner.Namespace, owner.jobName(a.tracker.options.place(), q.number))
	case ctx.Err() != nil:
		return reply{none, "", fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())}
	case q.stage == creating:
		return a.create(ctx, q)
	}
	return a.delete(ctx, q.delete)
}

// create creates the Job, or finds out which Job has its name.
func (a *application) create(ctx context.Context, q *request) reply {
	job := q.flight.from.newJob(a.tracker.options.place(), q.number, q.flight.labels)
	created, err := a.jobs.Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	switch {
	case err == nil:
		return reply{accepted, uidOf(created), nil}
	case !apierrors.IsAlreadyExists(err):
		return failure(err)
	}
	r := a.read(ctx, job.Namespace, job.Name)
	switch r.outcome {
	case none, taken:
		r.err = fmt.Errorf("%w: %w", err, r.err)
	case unanswered:
		r.err = fmt.Errorf("the name exists, and its Job could not be read: %w", r.err)
	}
	return r
}

// read finds out which Job has a name.
func (a *application) read(ctx context.Context, namespace, name string) reply {
	job, err := a.jobs.Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return reply{none, "", err}
	case err != nil:
		return reply{unanswered, "", err}
	}
	owner, _ := a.tracker.options.ownerOf(job)
	if phase := end(job); owner != a.plan.Owner || phase == Succeeded || phase == Failed {
		return reply{taken, uidOf(job), errTaken}
	}
	return reply{exists, uidOf(job), nil}
}

var propagations = map[rollout.Propagation]metav1.DeletionPropagation{
	rollout.Background: metav1.DeletePropagationBackground,
	rollout.Foreground: metav1.DeletePropagationForeground,
	rollout.Orphan:     metav1.DeletePropagationOrphan,
}

func (a *application) delete(ctx context.Context, d *Deletion) reply {
	if d.UID == "" {
		return reply{none, "", errors.New("found no UID; use the UID of a Job that was observed")}
	}
	options := metav1.DeleteOptions{
		PropagationPolicy: new(propagations[d.Propagation]),
		Preconditions:     &metav1.Preconditions{UID: &d.UID},
	}
	if d.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &d.ResourceVersion
	}
	err := a.jobs.Jobs(d.Namespace).Delete(ctx, d.Name, options)
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return reply{outcome: accepted}
	case apierrors.IsConflict(err):
		r := a.gone(ctx, d)
		if r.outcome == unanswered { // but the delete had no effect
			r.outcome = none
		}
		return r
	}
	return failure(err)
}

// gone finds out whether the Job is deleted. Another Job may have its name.
func (a *application) gone(ctx context.Context, d *Deletion) reply {
	job, err := a.jobs.Jobs(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && (uidOf(job) != d.UID || job.DeletionTimestamp != nil):
		return reply{outcome: accepted}
	case err != nil:
		return reply{unanswered, "", fmt.Errorf("it has changed, and could not be read: %w", err)}
	}
	return reply{none, "", errChanged}
}

// failure returns the reply to a request that failed: none if it is certain that the
// request had no effect.
func failure(err error) reply {
	var status apierrors.APIStatus
	var network *net.OpError
	r := reply{unanswered, "", err}
	switch {
	case errors.Is(err, ErrNotSent), errors.As(err, &network) && network.Op == "dial":
		r.outcome = none
	case errors.As(err, &status):
		if code := status.Status().Code; code >= 400 && code < 500 && code != http.StatusRequestTimeout {
			r.outcome = none
		}
	}
	return r
}
