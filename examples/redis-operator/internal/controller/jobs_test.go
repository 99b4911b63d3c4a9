package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/scaledjob/scaledjob/adapter"
	jobsclient "github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/adapter/runtime"
	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/scaling"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

func scaledJob() *v1.ScaledJob {
	sj := &v1.ScaledJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "production", Name: "image-processor", UID: "0f8fad5b-d9cb-469f-a165-70867728950e", Generation: 3,
		},
		Spec: *spec(10, 0, 20),
	}
	sj.Spec.JobTemplate.Labels = map[string]string{"team": "images", LabelName: "somebody-else"}
	sj.Spec.JobTemplate.Annotations = map[string]string{"why": "a test"}
	sj.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "worker"}
	sj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	sj.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "myapp/image-worker:v1.2.0"}}
	return sj
}

func TestTarget(t *testing.T) {
	sj := scaledJob()
	target := target(sj)
	require.NoError(t, target.Validate())
	job := target.NewJob(7)
	require.Equal(t, map[string]string{"team": "images", LabelName: "image-processor", adapter.LabelOwner: string(sj.UID)}, job.Labels)
	require.Equal(t, "a test", job.Annotations["why"])
	require.Equal(t, "3", job.Annotations[adapter.AnnotationGeneration])
	require.Equal(t, []metav1.OwnerReference{*metav1.NewControllerRef(sj, v1.GroupVersion.WithKind("ScaledJob"))}, job.OwnerReferences)
	require.Equal(t, sj.Spec.JobTemplate.Spec, job.Spec)

	target.Job.Labels["team"] = "another"
	target.Job.Spec.Template.Labels["app"] = "another"
	target.Job.Spec.Template.Spec.Containers[0].Image = "another"
	require.Equal(t, scaledJob(), sj, "no memory is shared")
}

func TestAnyName(t *testing.T) {
	for _, name := range []string{"a", "image-processor", "a.b.c", strings.Repeat("a", 253), strings.Repeat("a", 62) + ".b"} {
		sj := scaledJob()
		sj.Name = name
		target := target(sj)
		require.NoError(t, target.Validate())
		require.Empty(t, validation.IsDNS1123Label(target.NewJob(1<<40).Name))
	}
}

type requestQueue = workqueue.TypedRateLimitingInterface[ctrl.Request]

func newQueue(t *testing.T) requestQueue {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	return queue
}

// running returns Jobs that watch a fake API server, and their queue.
func running(t *testing.T) (*runtime.Jobs, kubernetes.Interface, requestQueue) {
	client := fake.NewClientset()
	jobs, err := runtime.New(jobsclient.Clients{Requests: client, Watches: client}, adapter.Options{Terms: term.Alone()})
	require.NoError(t, err)
	queue := newQueue(t)
	require.NoError(t, jobs.Start(t.Context(), queue))
	require.NoError(t, jobs.WaitForSync(t.Context()))
	return jobs, client, queue
}

// requests empties the queue.
func requests(queue requestQueue) (all []string) {
	synctest.Wait()
	for queue.Len() > 0 {
		r, _ := queue.Get()
		queue.Done(r)
		all = append(all, r.String())
	}
	return all
}

// Each event that changes the number of unfinished Jobs brings a request for their
// ScaledJob.
func TestEventsOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jobs, client, queue := running(t)
		sj, other := scaledJob(), scaledJob()
		other.Name, other.UID = "other", "1f8fad5b-d9cb-469f-a165-70867728950e"
		require.NoError(t, track(jobs, sj))
		api := client.BatchV1().Jobs(sj.Namespace)
		create := func(of *v1.ScaledJob, number int64) *batchv1.Job {
			target := target(of)
			job := target.NewJob(number)
			job.UID = types.UID(job.Name)
			job, err := api.Create(t.Context(), job, metav1.CreateOptions{})
			require.NoError(t, err)
			return job
		}
		update := func(job *batchv1.Job, change func()) {
			change()
			_, err := api.Update(t.Context(), job, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		create(other, 1)
		require.Empty(t, requests(queue), "its ScaledJob is not tracked")
		job := create(sj, 1)
		one := []string{"production/image-processor"}
		require.Equal(t, one, requests(queue), "it is created")
		update(job, func() { job.Status.Ready = new(int32(1)) })
		require.Empty(t, requests(queue), "it runs")
		update(job, func() {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
		})
		require.Equal(t, one, requests(queue), "it is about to fail")
		update(job, func() { job.Status.Conditions[0].Type = batchv1.JobFailed })
		require.Equal(t, one, requests(queue), "it has failed")
		require.NoError(t, api.Delete(t.Context(), job.Name, metav1.DeleteOptions{}))
		require.Empty(t, requests(queue), "its time to live is over")
		create(sj, 2)
		requests(queue)
		require.NoError(t, api.Delete(t.Context(), strings.TrimSuffix(job.Name, "1")+"2", metav1.DeleteOptions{}))
		require.Equal(t, one, requests(queue), "somebody deletes it at work")
	})
}

// An edit or a deletion of a ScaledJob stops its plan and brings a request. A change of
// its status does neither.
func TestEventsOfScaledJobs(t *testing.T) {
	before, status, edited, replaced := scaledJob(), scaledJob(), scaledJob(), scaledJob()
	status.Status.ActiveJobs = 7
	edited.Generation++
	replaced.UID = "another"
	for name, e := range map[string]struct {
		event func(handler handler.EventHandler, queue requestQueue)
		stops bool
	}{
		"status": {func(h handler.EventHandler, q requestQueue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: status}, q)
		}, false},
		"edited": {func(h handler.EventHandler, q requestQueue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: edited}, q)
		}, true},
		"replaced": {func(h handler.EventHandler, q requestQueue) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: replaced}, q)
		}, true},
		"deleted": {func(h handler.EventHandler, q requestQueue) {
			h.Delete(t.Context(), event.DeleteEvent{Object: before}, q)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				jobs, _, queue := running(t)
				require.NoError(t, track(jobs, before))
				plan := jobs.Plan(before.UID, waiting(&before.Spec, 30), time.Now())
				e.event(jobs.Edits(), queue)
				_, err := jobs.Apply(t.Context(), plan)
				if e.stops {
					require.ErrorIs(t, err, adapter.ErrOutdated)
					require.Equal(t, []string{"production/image-processor"}, requests(queue))
					require.Equal(t, scaling.RuleJobsUnknown, jobs.Plan(before.UID, nil, time.Now()).Decision.Rule)
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}
