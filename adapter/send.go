package adapter

import (
	"cmp"
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter/internal/request"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/slots"
)

// A call is a request, and what is needed to send it.
type call struct {
	slots.Request
	from     *origin   // of a create, and of its read
	deletion *Deletion // of a delete, and of the read of a Job that was deleted
}

// prepare returns the call of a request.
func (a *application) prepare(q slots.Request) call {
	o, c := a.owner, call{Request: q}
	switch {
	case q.UID != "":
		j := a.tracker.jobs[types.UID(q.UID)]
		d := j.Delete(rollout.Background, HistoryLimit)
		if q.Verb == slots.Delete {
			planned := a.deletes[d.UID]
			d.Propagation, d.Reason = planned.Propagation, planned.Reason
			if j.pruned = j.pruned || q.Finished; q.Finished || planned.ResourceVersion != "" {
				d.ResourceVersion = planned.ResourceVersion
			}
		}
		c.deletion = &d
	case q.Verb == slots.Read:
		c.from = o.sent[q.Number]
	case q.Verb == slots.Create:
		target := o.target
		c.from = &origin{from: target, Job: Job{
			Namespace: target.Owner.Namespace, Name: target.jobName(q.Number), Number: q.Number, Phase: InFlight, Created: a.tracker.now(),
			Revision: target.Revision, labels: a.labels.Next(),
		}}
		if o.sent == nil {
			o.sent = map[int64]*origin{}
		}
		o.sent[q.Number] = c.from
	}
	return c
}

// send sends a request in a slot of the queue, again while the API server refuses it because of its load.
func (a *application) send(slot context.Context, c call) request.Reply {
	r := a.attempt(slot, c)
	for r.Err != nil && requests.Retry(slot) {
		r = a.attempt(slot, c)
	}
	return r
}

func (a *application) attempt(ctx context.Context, c call) request.Reply {
	ctx, cancel := requests.Timeout(requests.WithTerm(ctx, a.plan.term), a.tracker.options.Timeout)
	defer cancel()
	jobs := a.client.BatchV1().Jobs(c.namespace())
	if c.Verb == slots.Read {
		if c.deletion != nil {
			return request.ReadDeleted(ctx, jobs, c.deletion.Name, c.deletion.UID)
		}
		return request.Read(ctx, jobs, c.from.Name, a.occupied)
	}
	a.tracker.mu.Lock()
	err := cmp.Or(ctx.Err(), a.outdatedBy())
	a.tracker.mu.Unlock()
	switch {
	case err != nil:
		return request.Failure(fmt.Errorf("%w: %w", ErrNotSent, err))
	case c.Verb == slots.Create:
		return request.Create(ctx, jobs, c.from.from.build(c.Number, c.from.labels), a.occupied)
	case c.Verb == slots.Delete:
		d := c.deletion
		return request.Delete(ctx, jobs, d.Name, d.UID, d.ResourceVersion, d.Propagation)
	}
	if err = a.plan.term.Mark(ctx); err != nil {
		return request.Reply{Result: slots.NoEffect, Err: err}
	}
	return request.Reply{Result: slots.Done}
}

func (c *call) namespace() string {
	switch {
	case c.from != nil:
		return c.from.Namespace
	case c.deletion != nil:
		return c.deletion.Namespace
	}
	return ""
}

// occupied reports whether a Job has finished, or is not the plan's.
func (a *application) occupied(job *batchv1.Job) bool {
	phase := end(job)
	foreign := claimOf(job, a.tracker.options.hub.Home).uid != a.plan.Owner
	return foreign || phase == Succeeded || phase == Failed
}
