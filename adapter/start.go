package adapter

import (
	"context"
	"sync/atomic"

	"github.com/scaledjob/scaledjob/adapter/fair"
)

// Start carries a plan out as [Tracker.Apply] does, and returns at once. Each request waits
// for a slot of the queue, and a waiting plan has no goroutine. A request that the API server
// refused because of its own load is sent again in its slot until the plan is outdated. The lease, the Target and the
// age of the plan are checked again when the slot comes. Start calls done once, at the end,
// in a goroutine that still has a slot: done should not wait. A nil queue does not limit.
func (t *Tracker) Start(ctx context.Context, client Client, p Plan, queue *fair.Queue, done func(Result, error)) {
	t.apply(&p).step(ctx, client, queue, done)
}

// step sends the next batch, and the following ones when all its replies are there.
func (a *application) step(ctx context.Context, client Client, queue *fair.Queue, done func(Result, error)) {
	batch := a.next(ctx)
	if len(batch) == 0 {
		done(a.over())
		return
	}
	var left atomic.Int64
	left.Store(int64(len(batch)))
	var owner fair.Owner
	if target := a.plan.target; target != nil {
		owner = fair.Owner{Namespace: target.Owner.Namespace, Name: target.Owner.Name}
	}
	for _, q := range batch {
		queue.Do(ctx, owner, func(slot context.Context) {
			r := a.send(slot, client.BatchV1(), q)
			for r.err != nil && fair.Rest(slot) && a.check() == nil {
				r = a.send(slot, client.BatchV1(), q)
			}
			a.answered(q, r)
			if left.Add(-1) == 0 {
				a.step(ctx, client, queue, done)
			}
		})
	}
}
