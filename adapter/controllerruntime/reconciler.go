package controllerruntime

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
)

// Done takes over the result of a plan. It returns the time until the next poll; if that is 0 or
// less, the owner is not polled again before an event. It has a slot of the clients' limit, in which
// it may send requests of the owner, such as for a status, and it may wait for them. The context ends
// with the manager's.
type Done func(ctx context.Context, result adapter.Result, err error) (next time.Duration)

// Reconciler returns a reconciler that tracks and polls the owners that a reader returns. The
// target describes the Jobs of an owner; after an error the owner is not tracked until it is
// edited. An owner that is being deleted is untracked. The poll reads metrics and returns a plan; the
// zero Plan changes nothing. If done is nil, nothing follows. Nor does it if the manager has ended, or if
// the owner was edited or deleted during the poll: an event brings the next reconcile.
// Requests with the contexts of poll and done change nothing after the term.
//
// A poll that reads, and a plan that waits for slots or answers, hold no worker of the controller. At
// most 2048 polls read at the same time, and owners have turns, as in a loop.Loop. A reconcile of
// their owner then does nothing, and another one follows after the plan. Errors
// of a plan are passed to done only. A poll that panics is logged, and repeated. The owner is polled again when [Jobs.Next] says, and after
// an error as a loop.Loop does.
func Reconciler[T any, O interface {
	*T
	client.Object
}](j *Jobs, reader client.Reader, target func(O) (adapter.Target, error), poll func(context.Context, O) (adapter.Plan, Done)) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if j.consumeRepeat(req) {
			return ctrl.Result{}, nil
		}
		owner := O(new(T))
		if err := reader.Get(ctx, req.NamespacedName, owner); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if owner.GetDeletionTimestamp() != nil { // each Job would delay the deletion
			j.Untrack(owner.GetUID())
			return ctrl.Result{}, nil
		}
		key, err := target(owner)
		if err == nil {
			err = j.Track(key)
		}
		if err != nil {
			j.Untrack(owner.GetUID())
			return ctrl.Result{}, reconcile.TerminalError(err)
		}
		j.mu.Lock()
		j.plans[req] = false
		j.mu.Unlock()
		log := ctrl.LoggerFrom(ctx)
		j.reads.Do(j.ctx, requests.Owner(req.NamespacedName), func(ctx context.Context) {
			plan, done, err := polled(ctrl.LoggerInto(ctx, log), owner, poll)
			switch latest := O(new(T)); {
			case err != nil:
				log.Error(err, "the poll of an owner ended")
				j.finishPlan(req, plan, err, time.Minute)
			case done == nil || ctx.Err() != nil:
				j.finishPlan(req, plan, nil, 0)
			default:
				if err = reader.Get(ctx, req.NamespacedName, latest); err != nil || edited(owner, latest) {
					j.Untrack(owner.GetUID()) // Edits may have done so before Track
					// The controller's predicates may keep the event of an edit away.
					j.finishPlan(req, adapter.Plan{}, client.IgnoreNotFound(err), time.Millisecond)
					return
				}
				j.start(req, plan, done)
			}
		})
		return ctrl.Result{}, nil
	})
}

// polled polls an owner, unless the context has ended. A panic is an error, as in a worker of the controller,
// and one of done a poll that follows after a minute.
func polled[O any](ctx context.Context, owner O, poll func(context.Context, O) (adapter.Plan, Done)) (plan adapter.Plan, done Done, err error) {
	if ctx.Err() != nil {
		return plan, nil, nil
	}
	var callback Done
	if err = requests.Guard(func() { plan, callback = poll(ctx, owner) }); err != nil || callback == nil {
		return plan, nil, err
	}
	log := ctrl.LoggerFrom(ctx)
	return plan, func(ctx context.Context, result adapter.Result, err error) (next time.Duration) {
		if p := requests.Guard(func() { next = callback(ctx, result, err) }); p != nil {
			log.Error(p, "the poll of an owner ended")
			next = time.Minute
		}
		return next
	}, nil
}

// consumeRepeat reports whether the owner is polled, or its plan carried out. The owner is then reconciled
// after it.
func (j *Jobs) consumeRepeat(req ctrl.Request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, planned := j.plans[req]
	if planned {
		j.plans[req] = true
	}
	return planned
}

// start carries a plan out. The next reconcile follows then.
func (j *Jobs) start(req ctrl.Request, plan adapter.Plan, done Done) {
	finish := func(result adapter.Result, err error) {
		j.clients.Queue.Do(j.ctx, requests.Owner(req.NamespacedName), func(ctx context.Context) {
			j.finishPlan(req, plan, err, done(ctx, result, err))
		})
	}
	if plan.Owner == "" { // the zero Plan
		finish(adapter.Result{}, nil)
		return
	}
	j.Tracker.Start(j.ctx, j.clients.Requests, plan, j.clients.Queue, finish)
}

// finishPlan schedules the reconcile after a poll or its plan.
func (j *Jobs) finishPlan(req ctrl.Request, plan adapter.Plan, err error, next time.Duration) {
	wait := j.backoff.Wait(cache.ObjectName(req.NamespacedName), err)
	j.mu.Lock()
	repeat := j.plans[req]
	delete(j.plans, req)
	j.planEnded.Broadcast()
	j.mu.Unlock()
	switch {
	case repeat:
		j.queue.Add(req)
	case next > 0:
		j.queue.AddAfter(req, min(wait, j.Next(plan, err, next).RequeueAfter))
	}
}

// wait returns after the context when nothing is polled, and no plan carried out any more.
func (j *Jobs) wait(ctx context.Context) error {
	<-ctx.Done()
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.plans) > 0 {
		j.planEnded.Wait()
	}
	return nil
}
