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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	kube "k8s.io/client-go/kubernetes/fake"

	"github.com/scaledjob/scaledjob/adapter"
	jobsclient "github.com/scaledjob/scaledjob/adapter/client"
	jobsruntime "github.com/scaledjob/scaledjob/adapter/runtime"
	"github.com/scaledjob/scaledjob/adapter/term"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/metrics"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
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
		jobs, err := jobsruntime.New(jobsclient.Clients{Requests: b.kube, Watches: b.kube}, adapter.Options{Terms: term.Alone()})
		require.NoError(t, err)
		requests := newQueue(t)
		b.Reconciler = &Reconciler{
			Client: c, Live: c, Jobs: jobs, Metrics: metrics.New(b.registry), Events: b.recorder,
			Now: time.Now, Poll: poll, Retry: retryAfter, Workers: 1,
			Queues: queue.Fake(func(_ context.Context, s queue.Server, _ string) (int64, error) {
				b.reads = append(b.reads, s)
				if b.reading != nil {
					b.reading()
				}
				return b.depth, b.unread
			}),
		}
		ctx, stop := context.WithCancel(t.Context())
		defer func() { stop(); time.Sleep(time.Hour) }() // the informer ends
		require.NoError(t, jobs.Start(ctx, requests))
		require.NoError(t, jobs.WaitForSync(ctx))
		do(b)
	})
}

// reconciles reconciles image-processor, and returns the time until the next reconcile.
func (b *bench) reconciles() time.Duration {
	b.Helper()
	synctest.Wait()
	result, err := b.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())})
	require.NoError(b, err)
	synctest.Wait()
	return result.RequeueAfter
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
			_, err := b.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())})
			require.NoError(b, err)
			synctest.Wait()
		}
		b.depth = 47
		reconcile()
		require.Contains(t, log.String(), `msg="Created 5 Jobs for 47 items: 5 of 5 are active" reason=CreatedJobs`)
		require.Contains(t, log.String(), "msg=reconciled depth=47 desired=5 active=5")
		b.unread = errors.New("no answer")
		reconcile()
		require.Contains(t, log.String(), `msg=failed err="no answer" retryAfter=10s`)
	}, scaledJob())
}

func TestReconcile(t *testing.T) {
	benched(t, func(b *bench) {
		b.depth = 47
		require.Equal(t, poll, b.reconciles())
		require.Len(t, b.jobs(), 5)
		require.Equal(t, []queue.Server{{Address: "redis:6379"}}, b.reads)
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected True Connected", "Ready True Reconciled"}, conditions(status))
		require.Equal(t, [3]int64{47, 5, 5}, [3]int64{*status.QueueDepth, int64(*status.DesiredJobs), int64(status.ActiveJobs)})
		require.WithinDuration(t, time.Now(), status.LastScaleTime.Time, time.Second)
		require.Equal(t, []string{"Normal CreatedJobs Created 5 Jobs for 47 items: 5 of 5 are active"}, b.told())
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
			"Normal QueueConnected The queue can be read again", "Normal CreatedJobs Created 1 Jobs for 40 items: 4 of 4 are active",
		}, b.told())
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
		require.Equal(t, retryAfter, b.reconciles())
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected True Connected", "Ready False JobCreateFailed"}, conditions(status))
		require.Contains(t, status.Conditions[1].Message, "created 3 of 5 Jobs")
		require.EqualValues(t, 3, status.ActiveJobs)
		require.Equal(t, []string{"Normal CreatedJobs Created 3 Jobs for 50 items: 3 of 5 are active"}, b.told())
		require.Equal(t, measures(50, 5, 3, 1), b.measured())
		left = 100
		time.Sleep(time.Minute) // a refused create waits before it is tried again
		require.Equal(t, poll, b.reconciles())
		require.Len(t, b.jobs(), 5)
	}, scaledJob())
}

// A ScaledJob that is gone, or goes while its queue is read, has no Job created and no
// metrics.
func TestGone(t *testing.T) {
	gone := func(b *bench) { require.NoError(b, b.Delete(b.Context(), scaledJob())) }
	for name, c := range map[string]struct {
		reading func(b *bench)
		before  func(b *bench)
		metrics bool // those of the first step remain until the next reconcile
	}{
		"before":        {before: gone},
		"while reading": {reading: gone, metrics: true},
		"edited while reading": {reading: func(b *bench) {
			b.edit(func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = 1 })
		}, metrics: true},
		"made anew while reading": {reading: func(b *bench) {
			gone(b)
			sj := scaledJob()
			sj.UID = "another"
			require.NoError(t, b.Create(b.Context(), sj))
		}, metrics: true},
	} {
		t.Run(name, func(t *testing.T) {
			benched(t, func(b *bench) {
				b.depth = 50
				if c.before != nil {
					c.before(b)
				}
				b.reading = func() { c.reading(b) }
				require.Zero(t, b.reconciles(), "an event brings the next reconcile")
				require.Empty(t, b.jobs())
				require.Zero(t, b.updates)
				require.Equal(t, c.metrics, len(b.measured()) > 0)
				_, known := b.Jobs.Counts(scaledJob().UID, time.Now())
				require.False(t, known, "it is not tracked")
			}, scaledJob())
		})
	}
}

// A ScaledJob that is being deleted gets no more Jobs.
func TestBeingDeleted(t *testing.T) {
	sj := scaledJob()
	sj.Finalizers = []string{"example.com/held"}
	benched(t, func(b *bench) {
		b.depth = 50
		b.reconciles()
		require.NotEmpty(t, b.measured())
		require.NoError(b, b.Delete(b.Context(), sj))
		b.depth = 100
		require.Zero(t, b.reconciles())
		require.Len(t, b.jobs(), 5)
		require.Empty(t, b.measured())
	}, sj)
}

func TestReadFails(t *testing.T) {
	benched(t, func(b *bench) {
		reads := 0
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())}
		b.getting = func(client.ObjectKey, client.Object) error {
			reads++
			return errors.New("no ScaledJob can be read")
		}
		_, err := b.Reconcile(b.Context(), request)
		require.ErrorContains(t, err, "no ScaledJob can be read")
		require.Empty(t, b.reads)
		b.getting, b.depth = nil, 10
		b.reading = func() {
			b.getting = func(client.ObjectKey, client.Object) error { return errors.New("nor a second time") }
		}
		_, err = b.Reconcile(b.Context(), request)
		require.ErrorContains(t, err, "nor a second time")
		require.Empty(t, b.jobs())
	}, scaledJob())
}

// An operator that stops while a queue is read reports nothing, since the queue may be
// fine. One that stops while Jobs are created reports those created.
func TestStops(t *testing.T) {
	benched(t, func(b *bench) {
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())}
		ctx, stop := context.WithCancel(b.Context())
		b.reading = func() { stop() }
		b.unread = context.Canceled
		result, err := b.Reconcile(ctx, request)
		require.NoError(t, err)
		require.Zero(t, result)
		require.Zero(t, b.updates)

		ctx, stop = context.WithCancel(b.Context())
		b.kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			stop()
			return false, nil, nil
		})
		b.reading, b.unread, b.depth = nil, nil, 100
		_, err = b.Reconcile(ctx, request)
		require.NoError(t, err)
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected True Connected", "Ready True Reconciled"}, conditions(status), "the next one creates the rest")
		require.EqualValues(t, len(b.jobs()), status.ActiveJobs)
		require.Less(t, len(b.jobs()), 10)
	}, scaledJob())
}

// An edit while Jobs are created is no failure: the ScaledJob is reconciled again at once.
func TestEditStopsCreates(t *testing.T) {
	benched(t, func(b *bench) {
		t := b.T
		before, handler := b.stored(), b.Jobs.Edits()
		b.kube.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			if b.stored().Generation == before.Generation {
				b.edit(func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = 3 })
				handler.Update(b.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: b.stored()}, newQueue(t))
			}
			return false, nil, nil
		})
		b.depth = 50
		require.Equal(t, time.Second, b.reconciles())
		require.Len(t, b.jobs(), 1, "the first batch")
		require.Equal(t, []string{"QueueConnected True Connected", "Ready True Reconciled"}, conditions(b.stored().Status))
		require.Zero(t, b.measured()["scaledjob_reconcile_errors_total"])
		require.Equal(t, poll, b.reconciles())
		require.Len(t, b.jobs(), 3)
		require.EqualValues(t, 3, b.stored().Status.ActiveJobs)
	}, scaledJob())
}

// Jobs that are not known yet are not 0 Jobs.
func TestJobsUnknown(t *testing.T) {
	sj := scaledJob()
	sj.Status.ActiveJobs = 7
	benched(t, func(b *bench) {
		var err error
		b.Jobs, err = jobsruntime.New(jobsclient.Clients{Requests: b.kube, Watches: b.kube}, adapter.Options{Terms: term.Alone()}) // which does not watch
		require.NoError(t, err)
		b.depth = 50
		require.Equal(t, retryAfter, b.reconciles())
		require.Empty(t, b.jobs())
		status := b.stored().Status
		require.Equal(t, []string{"QueueConnected True Connected", "Ready False JobCreateFailed"}, conditions(status))
		require.Equal(t, "the Jobs are not known yet", status.Conditions[1].Message)
		require.EqualValues(t, 7, status.ActiveJobs, "as it was")
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		require.EqualError(t, b.Jobs.WaitForSync(ctx), "watch Jobs: the cache has not synced")
	}, sj)
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
				require.Contains(t, status.Conditions[1].Message, c.message)
				require.EqualValues(t, 4, status.Conditions[1].ObservedGeneration)
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
				require.Equal(t, []string{"Normal CreatedJobs Created 10 Jobs for 100 items: 10 of 10 are active"}, b.told())
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
		fails     string
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
		}, fails: "away"},
		"rejected": {errors: []error{errors.New("no")}, fails: "no"},
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
				result, err := b.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(scaledJob())})
				if c.fails != "" {
					require.EqualError(t, err, c.fails)
					require.EqualValues(t, 1, b.measured()["scaledjob_reconcile_errors_total"])
					return
				}
				require.NoError(t, err)
				require.Len(t, b.told(), c.events)
				require.Zero(t, b.measured()["scaledjob_reconcile_errors_total"])
				if c.events > 0 {
					require.Equal(t, poll, result.RequeueAfter)
					require.EqualValues(t, 1, b.stored().Status.ActiveJobs)
					return
				}
				require.Zero(t, result)
				if left := b.stored; name == "made anew" {
					require.Empty(t, left().Status.Conditions)
				}
			}, scaledJob())
		})
	}
}
