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

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// answerTimeout is the time for reading a Secret, and for writing a status.
const answerTimeout = 10 * time.Second

// report writes the outcome of a reconcile as metrics, status and events, also when the
// operator was told to stop meanwhile. It returns when to reconcile again. A ScaledJob
// that was deleted is not reported.
func (r *Reconciler) report(ctx context.Context, sj *v1.ScaledJob, o outcome) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
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
	log := ctrl.LoggerFrom(ctx)
	for _, n := range o.notes(before, &sj.Status) {
		r.Events.Eventf(sj, nil, n.kind, n.reason, n.reason, "%s", n.message)
		log.Info(n.message, "reason", n.reason)
	}
	if err := o.err(); err != nil {
		r.Metrics.Failed(sj)
		log.Info("failed", "err", err.Error(), "retryAfter", r.Retry)
		return ctrl.Result{RequeueAfter: r.Retry}, nil
	}
	log.V(1).Info("reconciled", "depth", o.depth, "desired", o.desired, "active", o.active)
	return ctrl.Result{RequeueAfter: r.Poll}, nil
}

func (r *Reconciler) measure(sj *v1.ScaledJob, o outcome) {
	r.Metrics.Active(sj, o.active)
	if !o.read() {
		r.Metrics.QueueUnknown(sj)
	} else {
		r.Metrics.Queue(sj, o.depth, o.desired)
	}
}

var errReplaced = errors.New("another ScaledJob has the name now")

// writeStatus writes the status unless it is the same, and returns the status before. After
// a conflict it starts again from the ScaledJob on the API server, so that transitions are
// those of the stored status.
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
