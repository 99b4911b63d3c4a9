// Package controller creates Jobs while items wait in a queue. [Reconciler.Reconcile]
// has the steps in their order. Package scaling decides how many Jobs to create, and
// package adapter counts and creates them.
package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/runtime"
	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/metrics"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
)

// A Reconciler creates the Jobs that the queues of ScaledJobs ask for. All fields are
// needed.
type Reconciler struct {
	client.Client               // reads ScaledJobs from the cache, and writes their status
	Live          client.Reader // reads ScaledJobs and Secrets from the API server
	Jobs          *runtime.Jobs // counts Jobs from watch events, and creates them
	Queues        queue.Reader
	Metrics       *metrics.Metrics
	Events        events.EventRecorder
	Now           func() time.Time
	Poll          time.Duration // between two reads of a queue
	Retry         time.Duration // the same, after a failure
	Workers       int           // number of ScaledJobs that are reconciled at once
}

// The permissions that Reconcile needs. Finished Jobs are deleted at the age in their template. That
// of the finalizers is needed where a cluster checks who may block a deletion.
//
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs/status,verbs=update
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

var errUnknown = errors.New("the Jobs are not known yet")

// Reconcile observes one ScaledJob and its queue anew, whatever has happened.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// Fetch the ScaledJob. If it is deleted, the garbage collector deletes its Jobs.
	sj, err := r.fetch(ctx, req)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case sj == nil:
		r.Metrics.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	r.Metrics.Reconciling(sj)

	// Track its Jobs. For an invalid spec nothing is read and no Job is created.
	if invalid := track(r.Jobs, sj); invalid != nil {
		return r.report(ctx, sj, outcome{invalid: invalid, active: r.active(sj)})
	}

	// Ask Redis how many items wait. Without an answer, create nothing.
	depth, unread := r.depth(ctx, sj)
	if ctx.Err() != nil { // the operator stops; Redis may be fine
		return ctrl.Result{}, nil
	}

	// Stop if the ScaledJob was edited or deleted meanwhile: that brings a reconcile of
	// its own. An edit from now on stops the plan.
	latest, err := r.fetch(ctx, req)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case latest == nil || latest.UID != sj.UID || latest.Generation != sj.Generation:
		r.Jobs.Untrack(sj.UID)
		return ctrl.Result{}, nil
	case unread != nil:
		return r.report(ctx, latest, outcome{unread: unread, active: r.active(latest)})
	}

	// Decide how many Jobs to create, and create them. Surplus Jobs end by themselves.
	plan := r.Jobs.Plan(sj.UID, waiting(&sj.Spec, depth), r.Now())
	result, applied := r.Jobs.Apply(ctx, plan)
	err = adapter.WithoutOutdated(applied) // the next reconcile creates the rest
	switch {
	case ctx.Err() != nil: // the next leader creates the rest
		err = nil
	case applied == nil && plan.Decision.Rule == scaling.RuleJobsUnknown:
		err = errUnknown
	}

	// Report what exists now: in the status, as metrics, as events.
	next, err := r.report(ctx, latest, outcome{
		depth: depth, desired: desired(&sj.Spec, depth),
		active: r.active(latest), created: int32(result.Created), createFailed: err,
	})
	if err == nil {
		next = r.Jobs.Next(plan, applied, next.RequeueAfter)
	}
	return next, err
}

// depth returns the number of items that wait.
func (r *Reconciler) depth(ctx context.Context, sj *v1.ScaledJob) (int64, error) {
	server, err := r.server(ctx, sj)
	if err != nil {
		return 0, err
	}
	return r.Queues.Depth(ctx, server, sj.Spec.QueueName)
}

// fetch reads a ScaledJob. It returns nil if the ScaledJob is deleted or being deleted.
func (r *Reconciler) fetch(ctx context.Context, req ctrl.Request) (*v1.ScaledJob, error) {
	sj := &v1.ScaledJob{}
	if err := r.Get(ctx, req.NamespacedName, sj); err != nil || sj.DeletionTimestamp != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return sj, nil
}

// active returns the number of Jobs that run, or will when the cache shows them. If it
// is not known, it stays as it was.
func (r *Reconciler) active(sj *v1.ScaledJob) int32 {
	counts, known := r.Jobs.Counts(sj.UID, r.Now())
	if !known {
		return sj.Status.ActiveJobs
	}
	return int32(counts.Running + counts.InFlight)
}

// SetupWithManager adds a controller that reconciles a ScaledJob when its spec has
// changed, and when one of its Jobs has ended.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("scaledjob").
		Watches(&v1.ScaledJob{}, r.Jobs.Edits()).
		WatchesRawSource(r.Jobs).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Workers}).
		Complete(r)
}
