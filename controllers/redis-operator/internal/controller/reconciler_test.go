package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	kube "k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	jobsruntime "github.com/scaledjob/scaledjob/adapter/controllerruntime"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/queue"
)

const (
	poll       = 30 * time.Second
	retryAfter = 10 * time.Second
)

// A bench is a reconciler whose API server and queue are fakes, in virtual time.
type bench struct {
	*testing.T
	*Reconciler
	kube     *kube.Clientset
	registry *prometheus.Registry
	recorder *events.FakeRecorder
	stop     func() // the manager
	requests *testQueue
	depth    int64
	unread   error
	reads    []queue.Server
	reading  func()                                            // called while the queue is read
	updating func(sj *v1.ScaledJob) error                      // called before a status is written
	getting  func(key client.ObjectKey, o client.Object) error // called before an object is read
	updates  int
}

// benched calls do with a bench whose API server has the objects.
func benched(t *testing.T, do func(b *bench), objects ...client.Object) {
	t.Helper()
	benchedWith(t, false, do, objects...)
}

// benchedWith is the same without an answer about the Jobs, if blind.
func benchedWith(t *testing.T, blind bool, do func(b *bench), objects ...client.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, kube: kube.NewClientset(), registry: prometheus.NewRegistry(), recorder: events.NewFakeRecorder(100)}
		scheme := runtime.NewScheme()
		require.NoError(t, clientgo.AddToScheme(scheme))
		require.NoError(t, v1.AddToScheme(scheme))
		c := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1.ScaledJob{}).WithObjects(objects...).
			WithInterceptorFuncs(interceptor.Funcs{
				SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption) error {
					b.updates++
					if b.updating != nil {
						if err := b.updating(o.(*v1.ScaledJob)); err != nil {
							return err
						}
					}
					return c.SubResource(name).Update(ctx, o, options...)
				},
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
					if b.getting != nil {
						if err := b.getting(key, o); err != nil {
							return err
						}
					}
					return c.Get(ctx, key, o, options...)
				},
			}).Build()
		uid := 0
		b.kube.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
			uid++
			a.(clienttesting.CreateAction).GetObject().(*batchv1.Job).UID = types.UID(fmt.Sprint("job-", uid))
			return false, nil, nil
		})
		b.requests = &testQueue{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())}
		defer b.requests.ShutDown()
		b.Reconciler = &Reconciler{
			Client: c, Live: c, Metrics: NewMetrics(b.registry), Events: b.recorder, Poll: poll, Retry: retryAfter,
			Queues: queue.Fake(func(_ context.Context, s queue.Server, _ string) (int64, error) {
				b.reads = append(b.reads, s)
				if b.reading != nil {
					b.reading()
				}
				return b.depth, b.unread
			}),
		}
		var ctx context.Context
		ctx, b.stop = context.WithCancel(t.Context())
		watches := b.kube
		if blind {
			watches = kube.NewClientset()
			watches.PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				<-ctx.Done()
				return true, &batchv1.JobList{}, nil
			})
		}
		defer func() { b.stop(); time.Sleep(time.Hour) }() // the informer ends
		var err error
		b.Jobs, err = jobsruntime.New(alone{}, loop.Clients{Requests: b.kube, Watches: watches}, adapter.Options{Terms: requests.OneShot()})
		require.NoError(t, err)
		require.NoError(t, b.Jobs.Start(ctx, b.requests))
		if !blind {
			require.NoError(t, b.Jobs.WaitForSync(ctx))
		}
		do(b)
	})
}

// alone is a manager that waits for nothing.
type alone struct{}

func (alone) Add(manager.Runnable) error { return nil }

// A testQueue notes when the next reconcile follows.
type testQueue struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	after time.Duration
}

func (r *testQueue) AddAfter(_ ctrl.Request, after time.Duration) { r.after = after }

// reconcile reconciles a ScaledJob, and returns the time until the next reconcile; 0 if an event
// brings it.
func (b *bench) reconcile(name client.ObjectKey) time.Duration {
	b.Helper()
	synctest.Wait()
	for b.requests.after = 0; b.requests.Len() > 0; {
		request, _ := b.requests.Get()
		b.requests.Done(request)
	}
	_, err := b.Reconciler.Reconciler().Reconcile(b.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(b, err)
	time.Sleep(time.Second) // a status may be written again
	synctest.Wait()
	return b.requests.after
}

// reconciles reconciles image-processor, and again after the events of its new Jobs.
func (b *bench) reconciles() time.Duration {
	b.Helper()
	next := b.reconcile(client.ObjectKeyFromObject(scaledJob()))
	if b.requests.Len() > 0 {
		next = b.reconcile(client.ObjectKeyFromObject(scaledJob()))
	}
	return next
}

func (b *bench) stored() *v1.ScaledJob {
	b.Helper()
	sj := scaledJob()
	require.NoError(b, b.Get(b.Context(), client.ObjectKeyFromObject(sj), sj))
	return sj
}

// edit edits the spec, by the next generation.
func (b *bench) edit(change func(sj *v1.ScaledJob)) {
	b.Helper()
	sj := b.stored()
	change(sj)
	sj.Generation++
	require.NoError(b, b.Update(b.Context(), sj))
}

func (b *bench) jobs() []batchv1.Job {
	b.Helper()
	l, err := b.kube.BatchV1().Jobs("").List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	return l.Items
}

// finish finishes a Job.
func (b *bench) finish(job batchv1.Job) {
	b.Helper()
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	_, err := b.kube.BatchV1().Jobs(job.Namespace).Update(b.Context(), &job, metav1.UpdateOptions{})
	require.NoError(b, err)
	synctest.Wait()
}

// told returns the events since the last call, each as "type reason message".
func (b *bench) told() (all []string) {
	for len(b.recorder.Events) > 0 {
		all = append(all, <-b.recorder.Events)
	}
	return all
}

// measured returns the metrics, without the counter of reconciles.
func (b *bench) measured() map[string]float64 {
	b.Helper()
	families, err := b.registry.Gather()
	require.NoError(b, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			all[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	delete(all, "scaledjob_reconcile_total")
	return all
}

func measures(depth, desired, active, failed float64) map[string]float64 {
	return map[string]float64{
		"scaledjob_queue_depth": depth, "scaledjob_desired_jobs": desired, "scaledjob_active_jobs": active, "scaledjob_reconcile_errors_total": failed,
	}
}

// Logs have the events, failures and, at level debug, each reconcile.
func TestLog(t *testing.T) {
	benched(t, func(b *bench) {
		var log bytes.Buffer
		ctx := ctrl.LoggerInto(b.Context(), logr.FromSlogHandler(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		reconcile := func() {
			_, err := b.Reconciler.Reconciler().Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())})
			require.NoError(b, err)
			synctest.Wait()
		}
		b.depth = 47
		reconcile()
		require.Contains(t, log.String(), `msg="Created 5 Jobs for 47 items: 5 of 5 Jobs active" reason=CreatedJobs`)
		require.Contains(t, log.String(), "msg=reconciled depth=47 desired=5 active=5")
		b.unread = errors.New("no answer")
		reconcile()
		require.Contains(t, log.String(), `msg=failed err="no answer" retryAfter=10s`)
	}, scaledJob())
}

// A ScaledJob that is deleted, is being deleted, or is edited while its queue is read gets no more Jobs
// and no status. Its metrics end with it.
func TestGone(t *testing.T) {
	held := scaledJob()
	held.Finalizers = []string{"example.com/held"}
	gone := func(b *bench) { require.NoError(b, b.Delete(b.Context(), scaledJob())) }
	for name, c := range map[string]struct {
		sj              *v1.ScaledJob
		before, reading func(b *bench)
		metrics         int // they remain until the next reconcile
	}{
		"deleted":               {sj: scaledJob(), before: gone},
		"being deleted":         {sj: held, before: gone},
		"deleted while reading": {sj: scaledJob(), reading: gone},
		"edited while reading": {sj: scaledJob(), reading: func(b *bench) {
			b.edit(func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = 1 })
		}, metrics: 4},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, func(b *bench) {
				b.depth = 50
				b.reconciles()
				require.Len(b, b.measured(), 4)
				if b.depth = 100; c.before != nil {
					c.before(b)
				}
				b.reading = func() { c.reading(b) }
				require.LessOrEqual(b, b.reconciles(), time.Millisecond, "it is reconciled at once")
				require.Len(b, b.jobs(), 5)
				require.Equal(b, 1, b.updates)
				require.Len(b, b.measured(), c.metrics)
			}, c.sj)
		})
	}
}

// An operator that stops while a queue is read reports nothing, since the queue may be
// fine. One that stops while Jobs are created reports the created Jobs.
func TestStops(t *testing.T) {
	benched(t, func(b *bench) {
		b.reading, b.unread = func() { b.stop() }, context.Canceled
		b.reconciles()
		require.Len(b, b.reads, 1)
		require.Zero(b, b.updates)
	}, scaledJob())
	benched(t, func(b *bench) {
		b.kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			b.stop()
			return false, nil, nil
		})
		b.depth = 100
		b.reconciles()
		status := b.stored().Status
		require.Equal(b, []string{"QueueConnected True Connected", "Ready True Reconciled"}, conditions(status), "the next one creates the rest")
		require.EqualValues(b, len(b.jobs()), status.ActiveJobs)
		require.NotEmpty(b, b.jobs())
		require.Less(b, len(b.jobs()), 10)
	}, scaledJob())
}

// Jobs that are not known yet are not 0 Jobs.
func TestJobsUnknown(t *testing.T) {
	sj := scaledJob()
	sj.Status.ActiveJobs = 7
	benchedWith(t, true, func(b *bench) {
		b.depth = 50
		require.Equal(b, retryAfter, b.reconciles())
		status := b.stored().Status
		require.Equal(b, []string{"QueueConnected True Connected", "JobsCreated Unknown JobsUnknown", "Ready Unknown JobsUnknown"}, conditions(status))
		require.Equal(b, "the Jobs are not known yet", status.Conditions[1].Message)
		require.EqualValues(b, 7, status.ActiveJobs, "as it was")
		require.Empty(b, b.jobs())
	}, sj)
}

func TestReconcile(t *testing.T) {
	benched(t, func(b *bench) {
		b.depth = 47
		require.Equal(t, poll, b.reconciles())
		require.Len(t, b.jobs(), 5)
		require.Equal(t, queue.Server{Address: "redis:6379"}, b.reads[0])
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected True Connected", "Ready True Reconciled"}, conditions(status))
		require.Equal(t, [3]int64{47, 5, 5}, [3]int64{*status.QueueDepth, int64(*status.DesiredJobs), int64(status.ActiveJobs)})
		require.WithinDuration(t, time.Now(), status.LastScaleTime.Time, 5*time.Second)
		require.Equal(t, []string{"Normal CreatedJobs Created 5 Jobs for 47 items: 5 of 5 Jobs active"}, b.told())
		require.Equal(t, measures(47, 5, 5, 0), b.measured())

		for range 3 {
			require.Equal(t, poll, b.reconciles())
		}
		require.Len(t, b.jobs(), 5)
		require.Equal(t, 1, b.updates, "a status that is the same is not written")
		require.Empty(t, b.told())
	}, scaledJob())
}

func TestQueueFails(t *testing.T) {
	benched(t, func(b *bench) {
		b.depth = 30
		b.reconciles()
		b.told()
		b.unread = errors.New("Redis is away")
		for range 3 {
			require.Equal(t, retryAfter, b.reconciles())
		}
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected False RedisUnreachable", "Ready False RedisUnreachable"}, conditions(status))
		require.EqualValues(t, 30, *status.QueueDepth, "the last known depth")
		require.EqualValues(t, 3, status.ActiveJobs)
		require.Equal(t, []string{"Warning RedisUnreachable Redis is away"}, b.told(), "once")
		require.Equal(t, map[string]float64{"scaledjob_active_jobs": 3, "scaledjob_reconcile_errors_total": 3}, b.measured())
		b.unread, b.depth = nil, 40
		require.Equal(t, poll, b.reconciles())
		require.Len(t, b.jobs(), 4)
		require.Equal(t, []string{
			"Normal QueueConnected The queue can be read again", "Normal CreatedJobs Created 1 Job for 40 items: 4 of 4 Jobs active",
		}, b.told())
		b.edit(func(sj *v1.ScaledJob) { sj.Spec.QueueName = "other" })
		b.reconciles()
		require.Equal(t, measures(40, 4, 4, 0), b.measured(), "of the queue that it has now")
	}, scaledJob())
}

func TestCreateFails(t *testing.T) {
	benched(t, func(b *bench) {
		left := 3
		b.kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			left--
			return left < 0, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "", errors.New("exceeded quota"))
		})
		b.depth = 50
		b.reconcile(client.ObjectKeyFromObject(scaledJob()))
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected True Connected", "JobsCreated False JobCreateFailed", "Ready False JobCreateFailed"}, conditions(status))
		require.Contains(t, status.Conditions[1].Message, "created 3 of 5 Jobs")
		require.EqualValues(t, 3, status.ActiveJobs)
		require.Equal(t, []string{"Normal CreatedJobs Created 3 Jobs for 50 items: 3 of 5 Jobs active"}, b.told())
		require.Equal(t, measures(50, 5, 3, 1), b.measured())
		left = 100
		time.Sleep(time.Minute) // a refused create waits before it is tried again
		require.Equal(t, poll, b.reconciles())
		require.Len(t, b.jobs(), 5)
	}, scaledJob())
}

// An invalid edit creates no Job and reads no queue. The number of active Jobs is still
// reported as they end. A valid edit goes on.
func TestInvalidEdit(t *testing.T) {
	for name, c := range map[string]struct {
		invalid func(sj *v1.ScaledJob)
		message string
	}{
		"address":  {func(sj *v1.ScaledJob) { sj.Spec.RedisAddress = "redis:99999" }, `spec.redisAddress: found "redis:99999"; use host:port, with a port from 1 to 65535`},
		"template": {func(sj *v1.ScaledJob) { sj.Spec.JobTemplate.Spec.Template.Spec.Containers = nil }, "spec.jobTemplate.Job.Spec.Template.Spec.Containers: found none"},
		"label":    {func(sj *v1.ScaledJob) { sj.Spec.JobTemplate.Labels["team"] = "not valid!" }, `spec.jobTemplate.Job.Labels[team]: found "not valid!"`},
		"minimum":  {func(sj *v1.ScaledJob) { sj.Spec.MinReplicas = -1 }, "spec.minReplicas: found -1"},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, func(b *bench) {
				b.depth = 30
				b.reconciles()
				b.told()
				b.edit(c.invalid)
				b.Jobs.Untrack(scaledJob().UID) // as the event of the edit does
				b.depth = 100
				reads := len(b.reads)
				require.Equal(t, retryAfter, b.reconciles())
				status := b.stored().Status
				require.Equal(t, []string{"QueueConnected Unknown InvalidSpec", "Ready False InvalidSpec"}, conditions(status))
				require.Contains(t, condition(&status, v1.ConditionReady).Message, c.message)
				require.EqualValues(t, 4, condition(&status, v1.ConditionReady).ObservedGeneration)
				require.EqualValues(t, 3, status.ActiveJobs)
				require.EqualValues(t, 30, *status.QueueDepth, "the last known depth")
				told := b.told()
				require.Len(t, told, 1)
				require.Contains(t, told[0], "Warning InvalidSpec "+c.message[:20])
				require.Equal(t, map[string]float64{"scaledjob_active_jobs": 3, "scaledjob_reconcile_errors_total": 1}, b.measured())

				for left := int32(2); left >= 0; left-- {
					b.finish(b.jobs()[left])
					require.Equal(t, retryAfter, b.reconciles())
					require.Equal(t, left, b.stored().Status.ActiveJobs)
				}
				require.Len(t, b.jobs(), 3, "none is created")
				require.Len(t, b.reads, reads)
				require.Empty(t, b.told(), "it is told once")

				b.edit(func(sj *v1.ScaledJob) { sj.Spec = scaledJob().Spec })
				require.Equal(t, poll, b.reconciles())
				require.EqualValues(t, 10, b.stored().Status.ActiveJobs)
				require.Equal(t, []string{"Normal CreatedJobs Created 10 Jobs for 100 items: 10 of 10 Jobs active"}, b.told())
			}, scaledJob())
		})
	}
}

// A status that another client has changed meanwhile is read and written again. That of a
// ScaledJob that has taken the name is not touched.
func TestStatusConflict(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "scaledjobs"}, "", errors.New("changed"))
	for name, c := range map[string]struct {
		errors    []error
		meanwhile func(b *bench, sj *v1.ScaledJob)
		fails     bool
		events    int
	}{
		"once":    {errors: []error{conflict}, events: 1},
		"deleted": {errors: []error{apierrors.NewNotFound(schema.GroupResource{}, "")}},
		"deleted before it is read again": {errors: []error{conflict}, meanwhile: func(b *bench, _ *v1.ScaledJob) {
			require.NoError(b, b.Delete(b.Context(), scaledJob()))
		}},
		"made anew": {errors: []error{conflict}, meanwhile: func(b *bench, sj *v1.ScaledJob) {
			require.NoError(b, b.Delete(b.Context(), scaledJob()))
			another := scaledJob()
			another.UID = "another"
			require.NoError(b, b.Create(b.Context(), another))
		}},
		"it cannot be read again": {errors: []error{conflict}, meanwhile: func(b *bench, _ *v1.ScaledJob) {
			b.getting = func(client.ObjectKey, client.Object) error { return errors.New("away") }
		}, fails: true},
		"rejected": {errors: []error{errors.New("no")}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, func(b *bench) {
				b.depth = 10
				b.updating = func(sj *v1.ScaledJob) error {
					if len(c.errors) == 0 {
						return nil
					}
					err := c.errors[0]
					c.errors = c.errors[1:]
					if c.meanwhile != nil {
						c.meanwhile(b, sj)
					}
					return err
				}
				b.reconcile(client.ObjectKeyFromObject(scaledJob()))
				require.Len(b, b.told(), c.events)
				if c.fails {
					require.EqualValues(b, 1, b.measured()["scaledjob_reconcile_errors_total"])
					return
				}
				require.Zero(b, b.measured()["scaledjob_reconcile_errors_total"])
				if c.events > 0 {
					require.EqualValues(b, 1, b.stored().Status.ActiveJobs)
					return
				}
				if left := b.stored; name == "made anew" {
					require.Empty(t, left().Status.Conditions)
				}
			}, scaledJob())
		})
	}
}
