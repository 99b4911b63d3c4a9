package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/rollout"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// LabelName is a label of Jobs with the name of their ScaledJob, for users. A longer
// name is cut to 63 characters. The operator does not read the label.
const LabelName = "batch.miracle.dev/scaledjob"

// target describes the Jobs of a ScaledJob. None is ever deleted: the zero values of
// History and Rollout keep all.
func target(sj *v1.ScaledJob) adapter.Target {
	template := sj.Spec.JobTemplate.DeepCopy()
	meta := metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}
	metav1.SetMetaDataLabel(&meta, LabelName, strings.TrimRight(fmt.Sprintf("%.63s", sj.Name), "-."))
	return adapter.Target{
		Owner:    adapter.OwnerOf(sj, v1.GroupVersion.WithKind("ScaledJob")),
		Job:      &batchv1.Job{ObjectMeta: meta, Spec: template.Spec},
		Revision: rollout.Revision{Generation: sj.Generation},
		Policy:   policy(&sj.Spec),
	}
}

// Jobs tracks the Jobs of all ScaledJobs. As a source of a controller it begins to watch
// when the controller begins to act, which is after the process has become the leader.
type Jobs struct {
	*adapter.Tracker
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// NewJobs returns Jobs that have not begun to watch. It replaces o.Changed.
func NewJobs(watches kubernetes.Interface, o adapter.Options) (*Jobs, error) {
	j := &Jobs{}
	o.Changed = func(owner adapter.Owner) {
		j.queue.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: owner.Namespace, Name: owner.Name}})
	}
	var err error
	j.Tracker, err = adapter.NewTracker(watches, o)
	return j, err
}

// Start watches until the context ends. The queue gets a request for a ScaledJob when
// the number of its unfinished Jobs has changed.
func (j *Jobs) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	j.queue = queue
	go j.Run(ctx)
	return nil
}

// WaitForSync waits until all Jobs that existed at the start are known.
func (j *Jobs) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), j.HasSynced) {
		return errors.New("watch Jobs: the cache has not synced")
	}
	return nil
}

// track tracks the Jobs of a ScaledJob. It returns every problem of the spec. The Jobs of
// an invalid spec are counted, and no more are created.
func (j *Jobs) track(sj *v1.ScaledJob) error {
	t := target(sj)
	var problems field.Errors
	problems.Join("", sj.Spec.Validate())
	problems.Join("spec.jobTemplate", t.Validate())
	invalid := problems.Err()
	if invalid != nil {
		t = adapter.Target{Owner: t.Owner, Revision: t.Revision, Job: &batchv1.Job{}}
		t.Job.Spec.Template.Spec.Containers = make([]corev1.Container, 1) // of no Job
	}
	return errors.Join(invalid, j.Track(t))
}

func (j *Jobs) untrack(sj client.Object) {
	j.Untrack(sj.GetUID())
}

// edits is the handler of events of ScaledJobs. An edit or a deletion stops a plan that
// is under way, and brings a reconcile that tracks the new spec. Changes of a status do
// neither.
type edits struct {
	handler.EnqueueRequestForObject
	jobs *Jobs
}

// Update stops a plan of the spec before.
func (e *edits) Update(ctx context.Context, u event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	if u.ObjectOld.GetGeneration() != u.ObjectNew.GetGeneration() || u.ObjectOld.GetUID() != u.ObjectNew.GetUID() {
		e.jobs.untrack(u.ObjectOld)
		e.EnqueueRequestForObject.Update(ctx, u, queue)
	}
}

// Delete stops a plan of the deleted ScaledJob.
func (e *edits) Delete(ctx context.Context, d event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	e.jobs.untrack(d.Object)
	e.EnqueueRequestForObject.Delete(ctx, d, queue)
}
