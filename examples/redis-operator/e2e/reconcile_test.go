package e2e

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/controller"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/metrics"
	"github.com/scaledjob/scaledjob/examples/redis-operator/internal/queue"
)

// reconciler is one without a process around it, that reads the queues.
func (s *stand) reconciler(t *testing.T, queues queue.Factory) *controller.Reconciler {
	t.Helper()
	c := s.as(t, s.cluster.User(account, "system:serviceaccounts", "system:authenticated"))
	return &controller.Reconciler{
		Client: c, Live: c, Queues: queues, Now: time.Now, Poll: 30 * time.Second, Retry: 10 * time.Second,
		Metrics: metrics.New(prometheus.NewRegistry()), Events: events.NewFakeRecorder(100),
	}
}

func holds(depth int64) queue.Fake {
	return func(context.Context, string, string) (int64, error) { return depth, nil }
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
	fails := queue.Fake(func(context.Context, string, string) (int64, error) { return 0, errors.New("Redis is not there") })

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

// A Job that has the label, and no owner or another, is not counted, and nobody touches it.
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
		job.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: name, Labels: map[string]string{controller.LabelOwner: sj.Name}, OwnerReferences: owners}
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
			require.Contains(t, []string{"list", "watch", "create"}, r.Verb)
		}
	}
}

// A ScaledJob that is deleted while its queue is read, while its Jobs are created, or
// before its status is written, is no error, and has no Job created after.
func (s *stand) deletedMeanwhile(t *testing.T) {
	for name, want := range map[string]int{"while reading": 0, "while creating": 2, "before the status": 3} {
		t.Run(name, func(t *testing.T) {
			p := s.place(t, map[string]string{"while reading": "m1", "while creating": "m2", "before the status": "m3"}[name])
			p.consume("orders", "1h")
			remove := func() { p.delete("consumer") }
			r := s.reconciler(t, queue.Fake(func(context.Context, string, string) (int64, error) {
				if name == "while reading" {
					remove()
				}
				return 30, nil
			}))
			created := 0
			admin, err := client.NewWithWatch(s.cluster.Config(), client.Options{Scheme: s.scheme})
			require.NoError(t, err)
			r.Client = interceptor.NewClient(admin, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
					err := c.Create(ctx, o, options...)
					if created++; name == "while creating" && created == 2 || name == "before the status" && created == 3 {
						remove()
					}
					return err
				},
			})
			result, err := p.reconcile(r)
			require.NoError(t, err)
			require.Zero(t, result, "nothing to come back for")
			result, err = p.reconcile(r)
			require.NoError(t, err)
			require.Zero(t, result)
			require.Equal(t, want, created)
		})
	}
}

// What is asked for and cannot be created is told, with what could.
func (s *stand) quota(t *testing.T) {
	p := s.place(t, "quota")
	p.consume("orders", "1h")
	r := s.reconciler(t, holds(50))
	admin, err := client.NewWithWatch(s.cluster.Config(), client.Options{Scheme: s.scheme})
	require.NoError(t, err)
	left := 3
	r.Client = interceptor.NewClient(admin, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if left == 0 {
				return errors.New("exceeded quota")
			}
			left--
			return c.Create(ctx, o, options...)
		},
	})
	result, err := p.reconcile(r)
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 10 * time.Second}, result)
	require.Equal(t, "False JobCreateFailed", p.condition(t, "consumer", "Ready"))
	require.Equal(t, "True Connected", p.condition(t, "consumer", "QueueConnected"))
	status := p.get(t, "consumer").Status
	require.EqualValues(t, 3, status.ActiveJobs)
	require.EqualValues(t, 5, *status.DesiredJobs)

	left = 100
	_, err = p.reconcile(r)
	require.NoError(t, err)
	require.Len(t, p.jobs(t), 5)
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
}

// A create that had its effect, though nobody was told, is not made again; nor is what
// another replica has made meanwhile.
func (s *stand) unanswered(t *testing.T) {
	p := s.place(t, "unanswered")
	p.consume("orders", "1h")
	r := s.reconciler(t, holds(50))
	admin, err := client.NewWithWatch(s.cluster.Config(), client.Options{Scheme: s.scheme})
	require.NoError(t, err)
	calls := 0
	r.Client = interceptor.NewClient(admin, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			err := c.Create(ctx, o, options...)
			if calls++; calls == 2 {
				return errors.New("timed out")
			}
			if calls == 4 { // after the look, and before this one's next create
				_, err := p.reconcile(s.reconciler(t, holds(50)))
				require.NoError(t, err)
			}
			return err
		},
	})
	for range 4 {
		_, err = p.reconcile(r)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.jobs(t)), 5)
	}
	require.Len(t, p.jobs(t), 5)
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
}

// A name that somebody else has taken is passed over, whether it is another's Job or
// was the ScaledJob's own, which is not found by its label any more.
func (s *stand) taken(t *testing.T) {
	p := s.place(t, "taken")
	sj := p.consume("orders", "1h")
	_, err := p.reconcile(s.reconciler(t, holds(20)))
	require.NoError(t, err)
	jobs := p.jobs(t)
	require.Len(t, jobs, 2)
	newest := jobs[slices.IndexFunc(jobs, func(j batchv1.Job) bool { return strings.HasSuffix(j.Name, "-2") })]
	delete(newest.Labels, controller.LabelOwner)
	require.NoError(t, s.client.Update(t.Context(), &newest))
	other := &batchv1.Job{Spec: *sj.Spec.JobTemplate.Spec.DeepCopy()}
	other.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: strings.TrimSuffix(newest.Name, "2") + "4"}
	require.NoError(t, s.client.Create(t.Context(), other))

	result, err := p.reconcile(s.reconciler(t, holds(30)))
	require.NoError(t, err)
	require.Equal(t, ctrl.Result{RequeueAfter: 30 * time.Second}, result)
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
	require.EqualValues(t, 3, p.get(t, "consumer").Status.ActiveJobs, "1, 3 and 5")
	require.Len(t, p.jobs(t), 5)
}
