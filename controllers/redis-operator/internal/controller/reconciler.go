// Package controller creates Jobs while items wait in a queue. [Reconciler.poll] reads the
// queue, and [Reconciler.report] reports the result. Package adapter/controllerruntime has the steps around
// them: it tracks the Jobs of a ScaledJob, and creates those that package scaling asks for.
package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/controllerruntime"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/queue"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"
	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// A Reconciler creates the Jobs that the queues of ScaledJobs ask for. All fields are
// needed.
type Reconciler struct {
	client.Client                         // reads ScaledJobs from the cache, and writes their status
	Live          client.Reader           // reads ScaledJobs and Secrets from the API server
	Jobs          *controllerruntime.Jobs // counts Jobs from watch events, and creates them
	Queues        queue.Reader
	Metrics       *Metrics
	Events        events.EventRecorder
	Poll          time.Duration // between two reads of a queue
	Retry         time.Duration // the same, after a failure
}

// The permissions that a reconcile needs. Finished Jobs are deleted at the age in their template.
// That of the finalizers is needed where a cluster checks who may block a deletion.
//
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs/status,verbs=update
// +kubebuilder:rbac:groups=batch.miracle.dev,resources=scaledjobs/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// SetupWithManager adds a controller that reconciles each ScaledJob when its spec has changed, and when
// one of its Jobs has ended. Its worker waits for nothing.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		Named("scaledjob").
		Watches(&v1.ScaledJob{}, r.Jobs.Edits()).
		WatchesRawSource(r.Jobs).
		Complete(r.Reconciler())
}

// Reconciler returns the reconciler of a controller.
func (r *Reconciler) Reconciler() reconcile.Reconciler {
	return controllerruntime.Reconciler(r.Jobs, r, r.target, r.poll)
}

// Get reads an object. The metrics of a ScaledJob end if it is deleted or being deleted. The garbage
// collector deletes its Jobs.
func (r *Reconciler) Get(ctx context.Context, name client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := r.Client.Get(ctx, name, o, options...)
	if apierrors.IsNotFound(err) || (err == nil && o.GetDeletionTimestamp() != nil) {
		r.Metrics.forget(name)
	}
	return err
}

// LabelName is a label of Jobs with the name of their ScaledJob, for users. A longer
// name is cut to 63 characters. The operator does not read the label.
const LabelName = "batch.miracle.dev/scaledjob"

// target describes the Jobs of a ScaledJob. The Jobs of an invalid spec are counted, and no
// more are created.
func (r *Reconciler) target(sj *v1.ScaledJob) (adapter.Target, error) {
	t, invalid := read(sj)
	t.FailureBackoff.Interval = r.Poll
	if invalid != nil {
		t = adapter.Target{Owner: t.Owner, Revision: t.Revision, Job: &batchv1.Job{}}
		t.Job.Spec.Template.Spec.Containers = make([]corev1.Container, 1) // of no Job
	}
	return t, nil
}

// read returns the Target of a spec, and every problem of the spec. The zero values of History
// and Rollout keep all Jobs, unless the template has a time to live. The arithmetic is
//
//	desired = ceil(depth / threshold), at least minReplicas, at most maxReplicas
//	create  = desired - running Jobs, at most maxReplicas - running and terminating Jobs
//
// Neither is below 0.
func read(sj *v1.ScaledJob) (adapter.Target, error) {
	template := sj.Spec.JobTemplate.DeepCopy()
	meta := metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}
	metav1.SetMetaDataLabel(&meta, LabelName, strings.TrimRight(fmt.Sprintf("%.63s", sj.Name), "-."))
	t := adapter.Target{
		Owner:    adapter.OwnerOf(sj, v1.GroupVersion.WithKind("ScaledJob")),
		Job:      &batchv1.Job{ObjectMeta: meta, Spec: template.Spec},
		Revision: rollout.Revision{Generation: sj.Generation},
	}
	t.FailureBackoff = adapter.NewFailureBackoff(0)
	t.FailureBackoff.Checkpoint = remembered(sj.Status.Failures)
	t.Policy.Bounds = scaling.Bounds{Min: int64(sj.Spec.MinReplicas), Max: int64(sj.Spec.MaxReplicas), Mode: scaling.Floor}
	var problems field.Errors
	problems.Join("", sj.Spec.Validate())
	problems.Join("spec.jobTemplate", t.Validate())
	return t, problems.Err()
}

var errUnknown = errors.New("the Jobs are not known yet")

// poll reads the queue of a ScaledJob, and decides how many Jobs to create. Surplus Jobs end by
// themselves. If the spec is invalid or the queue cannot be read, no Job is created.
func (r *Reconciler) poll(ctx context.Context, sj *v1.ScaledJob) (plan adapter.Plan, done controllerruntime.Done) {
	var o outcome
	log := ctrl.LoggerFrom(ctx)
	if _, o.invalid = read(sj); o.invalid == nil {
		o.depth, o.unread = r.depth(ctx, sj)
	}
	if o.read() {
		plan = r.Jobs.Plan(sj.UID, waiting(&sj.Spec, o.depth), time.Now())
		o.desired = int32(plan.Decision.Trace.Load.Target)
		o.remember(plan)
		o.holds = plan.Holds
	} else if o.invalid == nil { // earlier requests may still fail
		o.holds = r.Jobs.Plan(sj.UID, []scaling.Metric{{Value: math.NaN(), Failed: true}}, time.Now()).Holds
	}
	o.list, o.database = sj.Spec.QueueName, sj.Spec.RedisDatabase
	return plan, func(ctx context.Context, result adapter.Result, applied error) time.Duration {
		o.created = int32(result.Created)
		switch {
		case ctx.Err() != nil: // the next leader creates the rest
		case applied == nil && plan.Decision.Reason == scaling.ReasonJobsUnknown:
			o.creates = errUnknown
		default: // the next reconcile creates the rest of an outdated plan
			o.creates, o.deletes = adapter.SplitErrors(applied)
		}
		return r.report(ctrl.LoggerInto(ctx, log), sj, o)
	}
}

// waiting returns the depth of the queue as the only metric. An empty queue is active
// like any other: its desired Jobs are minReplicas.
func waiting(spec *v1.ScaledJobSpec, depth int64) []scaling.Metric {
	return []scaling.Metric{{Name: spec.QueueName, Value: float64(depth), Target: float64(spec.Threshold), Activity: scaling.Active}}
}

// depth returns the number of items that wait.
func (r *Reconciler) depth(ctx context.Context, sj *v1.ScaledJob) (int64, error) {
	server, err := r.server(ctx, sj)
	if err != nil {
		return 0, err
	}
	return r.Queues.Depth(ctx, server, sj.Spec.QueueName)
}
