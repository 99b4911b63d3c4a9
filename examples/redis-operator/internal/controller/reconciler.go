// Package controller creates Jobs while items wait in a queue. [Reconciler.Reconcile]
// says how, in the order in which it happens. The arithmetic, and what counts as an
// active Job, are the packages scaling's and adapter's.
package controller

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/metrics"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
)

// A Reconciler makes there be as many Jobs as the queue of a ScaledJob asks for. All
// fields are needed.
type Reconciler struct {
	client.Client               // reads what has been watched
	Live          client.Reader // reads what the API server has
	Queues        queue.Factory
	Metrics       *metrics.Metrics
	Events        events.EventRecorder
	Now           func() time.Time
	Poll          time.Duration // from one look at a queue to the next
	Retry         time.Duration // the same, after something failed
	Workers       int           // how many ScaledJobs are looked at at once
}

// The rights that Reconcile needs. None of them is to delete or change a Job. That of
// the finalizers is asked for where a cluster checks who may block a deletion.
//
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs/status,verbs=update
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list;watch;create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks at one ScaledJob afresh, whatever it is that happened.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	// Fetch the ScaledJob and its Jobs. If it is gone, or going, the garbage collector
	// deletes them, and there is nothing left to do.
	sj, jobs, err := r.look(ctx, r.Client, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if sj == nil {
		r.Metrics.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	r.Metrics.Reconciling(sj)

	// Ask Redis how many items wait. If it does not say, create nothing.
	depth, err := r.Queues.ForAddress(sj.Spec.RedisAddress).Depth(ctx, sj.Spec.QueueName)
	switch {
	case ctx.Err() != nil: // the operator stops, which says nothing of Redis
		return ctrl.Result{}, nil
	case err != nil:
		return r.report(ctx, sj, outcome{unread: err, active: active(jobs)})
	}

	// Decide how many Jobs there should be, and how many to create.
	desired, create := decide(&sj.Spec, depth, count(jobs))

	// Before creating any, look again, at the API server itself: what has been watched
	// may lag behind, and the ScaledJob may be gone by now.
	if create > 0 {
		latest, latestJobs, err := r.look(ctx, r.Live, req.NamespacedName)
		if err != nil {
			r.Metrics.Failed(sj)
			return ctrl.Result{}, err
		}
		if latest == nil || latest.UID != sj.UID || latest.Generation != sj.Generation {
			return ctrl.Result{}, nil // the change brings a reconcile of its own
		}
		sj, jobs = latest, latestJobs
		desired, create = decide(&sj.Spec, depth, count(jobs))
	}

	// Close the gap. Jobs that are too many end by themselves: none is ever deleted.
	created, err := r.create(ctx, sj, create, lastNumber(jobs))

	// Tell what there is now: in the status, as metrics, as events.
	return r.report(ctx, sj, outcome{
		depth: depth, desired: desired,
		active: active(jobs) + created, created: created, createFailed: err,
	})
}

// look reads a ScaledJob and its Jobs, which it lists by label and tells from those
// of others by their owner's UID. There is no ScaledJob if it is on its way out.
func (r *Reconciler) look(ctx context.Context, reader client.Reader, name types.NamespacedName) (*v1.ScaledJob, []adapter.Job, error) {
	sj := &v1.ScaledJob{}
	if err := reader.Get(ctx, name, sj); err != nil || sj.DeletionTimestamp != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	var list batchv1.JobList
	err := reader.List(ctx, &list, client.InNamespace(name.Namespace), client.MatchingLabels{LabelOwner: adapter.LabelValue(name.Name)})
	return sj, adapter.Observation{Owner: sj.UID}.Classify(list.Items, nil), err
}

// maxTaken is how many names that somebody else has taken are passed over at once.
const maxTaken = 100

// create creates n Jobs, whose numbers follow the last one's, as long as the ScaledJob
// is there. It does so one after another, so that whoever looks meanwhile sees them
// without a gap, and goes on with the same number. Only a name that is a stranger's is
// passed over: where it is a Job of the ScaledJob, another replica is creating them.
func (r *Reconciler) create(ctx context.Context, sj *v1.ScaledJob, n int32, last int64) (created int32, _ error) {
	taken := 0
	for number := last + 1; created < n && ctx.Err() == nil && !r.gone(ctx, sj); number++ {
		err := r.Create(ctx, buildJob(sj, number))
		if apierrors.IsAlreadyExists(err) && taken < maxTaken {
			var strangers bool
			if strangers, err = r.strangers(ctx, sj, number, err); strangers {
				taken++
				continue
			}
		}
		switch {
		case err == nil:
			created++
		case ctx.Err() == nil:
			return created, &adapter.CreateError{Created: int64(created), Wanted: int64(n), Err: err}
		}
	}
	return created, nil
}

// strangers reports whether the name of the Job with that number, which exists, is none
// of the ScaledJob's. If not, the error says why the Job is not created.
func (r *Reconciler) strangers(ctx context.Context, sj *v1.ScaledJob, number int64, exists error) (bool, error) {
	_, jobs, err := r.look(ctx, r.Live, client.ObjectKeyFromObject(sj))
	if err != nil {
		return false, err
	}
	name := jobName(sj, number)
	return !slices.ContainsFunc(jobs, func(j adapter.Job) bool { return j.Name == name }), exists
}

// gone reports whether the ScaledJob is known to be gone or going. It asks nobody.
func (r *Reconciler) gone(ctx context.Context, sj *v1.ScaledJob) bool {
	var latest v1.ScaledJob
	err := r.Get(ctx, client.ObjectKeyFromObject(sj), &latest)
	return apierrors.IsNotFound(err) || err == nil && (latest.UID != sj.UID || latest.DeletionTimestamp != nil)
}

// SetupWithManager has ScaledJobs reconciled when they change, and when one of their
// Jobs ends.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&v1.ScaledJob{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&batchv1.Job{}, builder.WithPredicates(countChanges)).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.Workers}).
		Complete(r)
}
