package runtime

import (
	"context"

	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/term"
)

// Reconciler returns a reconciler that tracks and polls the owners that a reader returns. The
// target describes the Jobs of an owner; after an error the owner is not tracked until it is
// edited. An owner that is being deleted is untracked. The poll reads metrics and returns a plan, as a [loop.Poll] does. Requests with its
// context change nothing after the term.
//
// The poll is called by the controller's workers. A plan that waits for slots or answers holds
// none. A reconcile of its owner then does nothing, and another one follows after the plan. Errors
// of a plan are passed to done only. The owner is polled again when [Jobs.Next] says, and after
// an error as a [loop.Loop] does.
func Reconciler[T any, O interface {
	*T
	client.Object
}](j *Jobs, reader client.Reader, target func(O) (adapter.Target, error), poll func(context.Context, O) (adapter.Plan, loop.Done)) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if j.again(req) {
			return ctrl.Result{}, nil
		}
		ctx = term.With(ctx, j.terms)
		owner := O(new(T))
		if err := reader.Get(ctx, req.NamespacedName, owner); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if owner.GetDeletionTimestamp() != nil { // each Job would delay the deletion
			j.Untrack(owner.GetUID())
			return ctrl.Result{}, nil
		}
		of, err := target(owner)
		if err == nil {
			err = j.Track(of)
		}
		if err != nil {
			j.Untrack(owner.GetUID())
			return ctrl.Result{}, reconcile.TerminalError(err)
		}
		if plan, done := poll(ctx, owner); done != nil {
			j.start(req, plan, done)
		}
		return ctrl.Result{}, nil
	})
}

// again reports whether a plan of the owner is carried out. The owner is then reconciled after it.
func (j *Jobs) again(req ctrl.Request) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, is := j.plans[req]
	if is {
		j.plans[req] = true
	}
	return is
}

// start carries a plan out. The next reconcile follows then.
func (j *Jobs) start(req ctrl.Request, plan adapter.Plan, done loop.Done) {
	j.mu.Lock()
	j.plans[req] = false
	j.mu.Unlock()
	end := func(result adapter.Result, err error) {
		wait, next := j.backoff.Wait(cache.ObjectName(req.NamespacedName), err), done(result, err)
		j.mu.Lock()
		again := j.plans[req]
		delete(j.plans, req)
		j.mu.Unlock()
		switch {
		case again:
			j.queue.Add(req)
		case next > 0:
			j.queue.AddAfter(req, min(wait, j.Next(plan, err, next).RequeueAfter))
		}
	}
	if plan.Owner == "" { // the zero Plan
		end(adapter.Result{}, nil)
		return
	}
	j.Tracker.Start(j.ctx, j.clients.Requests, plan, j.clients.Queue, end)
}
