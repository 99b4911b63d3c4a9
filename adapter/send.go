package adapter

import (
	"cmp"
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

// A call is a request, and what is needed to send it and to count its reply.
type call struct {
	slots.Request
	job         Job                 // to create, to delete or to read
	propagation rollout.Propagation // of a delete
	reason      Reason              // of a delete
}

// send sends a call. The plan may have become outdated while the call waited: then nothing is changed.
func (a *application) send(ctx context.Context, c *call) request.Reply {
	ctx, cancel := requests.Timeout(requests.WithTerm(ctx, a.plan.term), a.tracker.options.Timeout)
	defer cancel()
	if c.Verb != slots.Read {
		a.tracker.mu.Lock()
		err := cmp.Or(ctx.Err(), a.outdatedBy())
		a.tracker.mu.Unlock()
		if err != nil {
			return request.Failure(fmt.Errorf("%w: %w", ErrNotSent, err))
		}
	}
	jobs := a.client.BatchV1().Jobs(c.job.Namespace)
	switch {
	case c.Verb == slots.Create:
		return request.Create(ctx, jobs, a.plan.target.build(c.Number, c.job.labels), a.occupied)
	case c.Verb == slots.Delete:
		return request.Delete(ctx, jobs, c.job.Name, c.job.UID, c.job.ResourceVersion, c.propagation)
	case c.Verb == slots.Mark:
		if err := a.plan.term.Mark(ctx); err != nil {
			return request.Reply{Result: slots.NoEffect, Err: err}
		}
		return request.Reply{Result: slots.Done}
	case c.UID != "":
		return request.ReadDeleted(ctx, jobs, c.job.Name, c.job.UID)
	}
	return request.Read(ctx, jobs, c.job.Name, a.occupied)
}

// occupied reports whether a Job has finished, or is not the plan's.
func (a *application) occupied(job *batchv1.Job) bool {
	phase := end(job)
	foreign := claimOf(job, a.tracker.options.hub.Home).uid != a.plan.Owner
	return foreign || phase == Succeeded || phase == Failed
}
