package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// report tells what a reconcile came to, and when to come back. It does so, too, when
// the operator has been told to stop meanwhile. If the ScaledJob is gone, there is
// nobody to tell.
func (r *Reconciler) report(ctx context.Context, sj *v1.ScaledJob, o outcome) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r.measure(sj, o)
	before, err := r.writeStatus(ctx, sj, o)
	switch {
	case apierrors.IsNotFound(err), errors.Is(err, errReplaced):
		return ctrl.Result{}, nil
	case err != nil:
		r.Metrics.Failed(sj)
		return ctrl.Result{}, err
	}
	adapter.Record(r.Events, sj, o.events(before, &sj.Status))
	log := ctrl.LoggerFrom(ctx)
	if o.created > 0 {
		log.Info("created Jobs", "created", o.created, "depth", o.depth, "desired", o.desired, "active", o.active)
	}
	if err := errors.Join(o.unread, o.createFailed); err != nil {
		r.Metrics.Failed(sj)
		log.Info("failed", "err", err.Error(), "retryAfter", r.Retry)
		return ctrl.Result{RequeueAfter: r.Retry}, nil
	}
	log.V(1).Info("reconciled", "depth", o.depth, "desired", o.desired, "active", o.active)
	return ctrl.Result{RequeueAfter: r.Poll}, nil
}

func (r *Reconciler) measure(sj *v1.ScaledJob, o outcome) {
	r.Metrics.Active(sj, o.active)
	if o.unread != nil {
		r.Metrics.QueueUnknown(sj)
	} else {
		r.Metrics.Queue(sj, o.depth, o.desired)
	}
}

var errReplaced = errors.New("another ScaledJob has the name now")

// writeStatus writes the status unless it is the same, and returns the one before. Where
// the ScaledJob was read from lags behind, it starts again from what the API server has:
// what is told as a transition is one of that.
func (r *Reconciler) writeStatus(ctx context.Context, sj *v1.ScaledJob, o outcome) (*v1.ScaledJobStatus, error) {
	var before *v1.ScaledJobStatus
	uid, generation := sj.UID, sj.Generation
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		before = sj.Status.DeepCopy()
		o.write(&sj.Status, generation, r.Now())
		if equality.Semantic.DeepEqual(before, &sj.Status) {
			return nil
		}
		conflict := r.Status().Update(ctx, sj)
		if !apierrors.IsConflict(conflict) {
			return conflict
		}
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(sj), sj); err != nil {
			return err
		}
		if sj.UID != uid {
			return errReplaced
		}
		return conflict
	})
	return before, err
}
