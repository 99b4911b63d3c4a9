package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/scaledjob/scaledjob/adapter"
	adapterclient "github.com/scaledjob/scaledjob/adapter/client"
	"github.com/scaledjob/scaledjob/adapter/runtime"
	"github.com/scaledjob/scaledjob/adapter/term"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/controller"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/metrics"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
)

// A fault answers a create of a Job in the API server's place, or sends it.
type fault func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// reconciler returns a reconciler without a process around it, that reads the queues and
// whose creates meet the faults.
func (s *stand) reconciler(t *testing.T, queues queue.Reader, faults ...fault) *controller.Reconciler {
	t.Helper()
	r := s.managed(t, queues, faults...)
	requests := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(requests.ShutDown)
	require.NoError(t, r.Jobs.Start(t.Context(), requests))
	require.NoError(t, r.Jobs.WaitForSync(t.Context()))
	return r
}

// managed returns the same for a manager, which starts it.
func (s *stand) managed(t *testing.T, queues queue.Reader, faults ...fault) *controller.Reconciler {
	t.Helper()
	config := s.cluster.User(account, "system:serviceaccounts", "system:authenticated")
	c := s.as(t, config)
	for _, f := range faults {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return faulty{next, f} })
	}
	clients, err := adapterclient.Connect(config, 0, nil)
	require.NoError(t, err)
	jobs, err := runtime.New(clients, adapter.Options{Terms: term.Alone()})
	require.NoError(t, err)
	return &controller.Reconciler{
		Client: c, Live: c, Jobs: jobs, Queues: queues,
		Now: time.Now, Poll: 30 * time.Second, Retry: 10 * time.Second, Workers: 1,
		Metrics: metrics.New(prometheus.NewRegistry()), Events: events.NewFakeRecorder(100),
	}
}

// faulty is a way to the API server.
type faulty struct {
	next  http.RoundTripper
	fault fault
}

func (f faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	send := func() (*http.Response, error) { return f.next.RoundTrip(r) }
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") {
		return f.fault(r, send)
	}
	return send()
}

func holds(depth int64) queue.Fake {
	return func(context.Context, queue.Server, string) (int64, error) { return depth, nil }
}

// reconcile reconciles the ScaledJob called consumer.
func (p *place) reconcile(r *controller.Reconciler) (ctrl.Result, error) {
	return r.Reconcile(p.t.Context(), p.request("consumer"))
}

func (p *place) request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: p.namespace, Name: name}}
}

// The article's manifest, whose Redis is elsewhere here.
func (s *stand) article(t *testing.T) {
	p := s.place(t, "production")
	s.push(t, s.list(t, "image-resize-queue"), 47)
	sample, err := os.ReadFile("../config/samples/image-processor.yaml")
	require.NoError(t, err)
	s.apply(t, string(sample))
	var dialled string
	r := s.reconciler(t, &queue.Redis{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = address
		return (&net.Dialer{}).DialContext(ctx, network, s.address)
	}})
	result, err := r.Reconcile(t.Context(), p.request("image-processor"))
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 30 * time.Second}, result)
	require.Equal(t, "redis.production.svc.cluster.local:6379", dialled)
	require.Len(t, p.jobs(t), 5)
	status := p.get(t, "image-processor").Status
	require.EqualValues(t, 47, *status.QueueDepth)
	require.EqualValues(t, 5, *status.DesiredJobs)
	require.EqualValues(t, 5, status.ActiveJobs, "those just created")
	require.WithinDuration(t, time.Now(), status.LastScaleTime.Time, 5*time.Second)
	require.Equal(t, "True Reconciled", p.condition(t, "image-processor", "Ready"))
	require.Equal(t, "True Connected", p.condition(t, "image-processor", "QueueConnected"))

	for range 3 {
		_, err = r.Reconcile(t.Context(), p.request("image-processor"))
		require.NoError(t, err)
	}
	require.Len(t, p.jobs(t), 5, "however often it looks")
}

func (s *stand) failing(t *testing.T) {
	p := s.place(t, "failing")
	p.consume("orders", "1h")
	fails := queue.Fake(func(context.Context, queue.Server, string) (int64, error) { return 0, errors.New("Redis is not there") })

	_, err := p.reconcile(s.reconciler(t, holds(30)))
	require.NoError(t, err)
	before := p.jobs(t)
	require.Len(t, before, 3)

	result, err := p.reconcile(s.reconciler(t, fails))
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 10 * time.Second}, result)
	require.Equal(t, names(before), names(p.jobs(t)))
	require.Equal(t, "False RedisUnreachable", p.condition(t, "consumer", "QueueConnected"))
	require.Equal(t, "False RedisUnreachable", p.condition(t, "consumer", "Ready"))
	require.EqualValues(t, 30, *p.get(t, "consumer").Status.QueueDepth, "what was read last")

	result, err = p.reconcile(s.reconciler(t, holds(40)))
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 30 * time.Second}, result)
	require.Len(t, p.jobs(t), 4)
}

// A Job that has the labels, and no owner or another, is not counted, and nobody touches it.
func (s *stand) strangers(t *testing.T) {
	p := s.place(t, "strangers")
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "other"}}
	require.NoError(t, s.client.Create(t.Context(), other))
	sj := p.consume("orders", "1h")
	for name, owners := range map[string][]metav1.OwnerReference{
		"of-nobody":          nil,
		"of-somebody-else":   {*metav1.NewControllerRef(other, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		"of-which-not-owned": {{APIVersion: v1.GroupVersion.String(), Kind: "ScaledJob", Name: sj.Name, UID: sj.UID}}, // and no controller
	} {
		job := &batchv1.Job{Spec: *sj.Spec.JobTemplate.Spec.DeepCopy()}
		job.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: name, OwnerReferences: owners}
		job.Labels = map[string]string{controller.LabelName: sj.Name, adapter.LabelOwner: string(sj.UID)}
		require.NoError(t, s.client.Create(t.Context(), job))
	}
	_, err := p.reconcile(s.reconciler(t, holds(10)))
	require.NoError(t, err)
	require.Len(t, p.jobs(t), 4, "theirs, and one")
	require.EqualValues(t, 1, p.get(t, "consumer").Status.ActiveJobs)
	_, err = p.reconcile(s.reconciler(t, holds(0)))
	require.NoError(t, err)
	require.Len(t, p.jobs(t), 4)
	s.touchesNoJob(t, p.namespace)
}

// touchesNoJob checks that the operator has done nothing to Jobs but to create them.
func (s *stand) touchesNoJob(t *testing.T, namespace string) {
	t.Helper()
	for _, r := range s.cluster.Requests(t) {
		if r.User == account && r.Resource == "jobs" && r.Namespace == namespace {
			require.Contains(t, []string{"get", "list", "watch", "create"}, r.Verb)
		}
	}
}

// A ScaledJob that is deleted while its queue is read, or before its status is written,
// is no error, and has no Job created after.
func (s *stand) deletedMeanwhile(t *testing.T) {
	for name, want := range map[string]int32{"while-reading": 0, "before-the-status": 3} {
		t.Run(name, func(t *testing.T) {
			p := s.place(t, name)
			p.consume("orders", "1h")
			var created atomic.Int32
			r := s.reconciler(t, queue.Fake(func(context.Context, queue.Server, string) (int64, error) {
				if name == "while-reading" {
					p.delete("consumer")
				}
				return 30, nil
			}), func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				answer, err := send()
				if created.Add(1) == 3 {
					p.delete("consumer")
				}
				return answer, err
			})
			for range 2 {
				result, err := p.reconcile(r)
				require.NoError(t, err)
				require.Zero(t, result, "nothing to come back for")
			}
			require.Equal(t, want, created.Load())
		})
	}
}

// An edit or a deletion of a ScaledJob stops the creation of its Jobs after the batch
// that is being sent: 1 Job, then 2.
func (s *stand) editedMeanwhile(t *testing.T) {
	for name, want := range map[string]int32{"edited-while-creating": 5, "deleted-while-creating": 3} {
		t.Run(name, func(t *testing.T) {
			p := s.place(t, name)
			p.consume("orders", "1h")
			var created atomic.Int32
			var r *controller.Reconciler
			uid := p.get(t, "consumer").UID
			r = s.managed(t, holds(200), func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				answer, err := send()
				if created.Add(1) != 2 {
					return answer, err
				}
				if want == 3 {
					p.delete("consumer")
				} else {
					p.change(func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = 5 })
				}
				p.becomes(10*time.Second, func(t *assert.CollectT) {
					_, known := r.Jobs.Counts(uid, time.Now())
					require.False(t, known, "the plan is stopped")
				})
				require.LessOrEqual(t, created.Load(), int32(3))
				return answer, err
			})
			manager, err := ctrl.NewManager(s.cluster.Config(), ctrl.Options{
				Scheme: s.scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
				Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{p.namespace: {}}},
			})
			require.NoError(t, err)
			r.Client = manager.GetClient()
			require.NoError(t, r.SetupWithManager(manager))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- manager.Start(ctx) }()
			p.becomes(20*time.Second, func(t *assert.CollectT) { require.Equal(t, want, created.Load()) })
			p.stays(3*time.Second, func(t require.TestingT) { require.Equal(t, want, created.Load()) })
			stop()
			require.NoError(t, <-ended)
		})
	}
}

// What is asked for and cannot be created is told, with what could.
func (s *stand) quota(t *testing.T) {
	p := s.place(t, "quota")
	p.consume("orders", "1h")
	var left atomic.Int32
	left.Store(3)
	r := s.reconciler(t, holds(50), func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if left.Add(-1) >= 0 {
			return send()
		}
		refused := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "exceeded quota"}`
		return &http.Response{
			StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(refused)),
		}, nil
	})
	result, err := p.reconcile(r)
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 10 * time.Second}, result)
	require.Equal(t, "False JobCreateFailed", p.condition(t, "consumer", "Ready"))
	require.Equal(t, "True Connected", p.condition(t, "consumer", "QueueConnected"))
	status := p.get(t, "consumer").Status
	require.EqualValues(t, 3, status.ActiveJobs)
	require.EqualValues(t, 5, *status.DesiredJobs)
	require.Contains(t, status.Conditions[1].Message, "created 3 of 5 Jobs: 403 Forbidden: exceeded quota")

	left.Store(100)
	require.Eventually(t, func() bool { // a refused create waits before it is tried again
		_, err = p.reconcile(r)
		return err == nil && len(p.jobs(t)) == 5
	}, time.Minute, time.Second)
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
}

// A create that had its effect, though nobody was told, is not sent again. Nor do two
// replicas that act at once create more than the maximum.
func (s *stand) unanswered(t *testing.T) {
	p := s.place(t, "unanswered")
	p.consume("orders", "1h", func(sj *v1.ScaledJob) { sj.Spec.MaxReplicas = 5 })
	another := s.reconciler(t, holds(50))
	var calls atomic.Int32
	r := s.reconciler(t, holds(50), func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		switch calls.Add(1) {
		case 2:
			return nil, errors.New("timed out")
		case 4: // the next reconcile's first
			_, err := p.reconcile(another)
			assert.NoError(t, err)
		}
		return answer, err
	})
	for range 4 {
		_, err := p.reconcile(r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.jobs(t)), 5)
	}
	require.Len(t, p.jobs(t), 5)
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
	require.LessOrEqual(t, calls.Load(), int32(5), "one for each Job")
}

// A name that somebody else has taken is passed over. A Job of the ScaledJob that lost
// its label is found by its name, and counts.
func (s *stand) taken(t *testing.T) {
	p := s.place(t, "taken")
	sj := p.consume("orders", "1h")
	_, err := p.reconcile(s.reconciler(t, holds(20)))
	require.NoError(t, err)
	jobs := p.jobs(t)
	require.Len(t, jobs, 2)
	second := jobs[slices.IndexFunc(jobs, func(j batchv1.Job) bool { return strings.HasSuffix(j.Name, "-2") })]
	labelled := second.DeepCopy()
	delete(second.Labels, adapter.LabelOwner) // with a patch, since the Job controller writes too
	require.NoError(t, s.client.Patch(t.Context(), &second, client.MergeFrom(labelled)))
	other := &batchv1.Job{Spec: *sj.Spec.JobTemplate.Spec.DeepCopy()}
	other.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: strings.TrimSuffix(second.Name, "2") + "4"}
	require.NoError(t, s.client.Create(t.Context(), other))

	result, err := p.reconcile(s.reconciler(t, holds(40)))
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 30 * time.Second}, result)
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
	require.EqualValues(t, 4, p.get(t, "consumer").Status.ActiveJobs, "1, 2, 3 and 5")
	require.Len(t, p.jobs(t), 5)
}
