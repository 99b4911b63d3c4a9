package e2e

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/controllerruntime"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"

	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/controller"
	"github.com/scaledjob/scaledjob/controllers/redis-operator/internal/queue"
)

// alone is a manager that waits for nothing.
type alone struct{}

func (alone) Add(manager.Runnable) error { return nil }

// reconciler returns a reconciler without a process around it, that reads the queues.
func (s *stand) reconciler(t *testing.T, queues queue.Reader) reconcile.Reconciler {
	t.Helper()
	config := s.cluster.User(account, "system:serviceaccounts", "system:authenticated")
	clients, err := loop.Connect(config, 0, nil)
	require.NoError(t, err)
	jobs, err := controllerruntime.New(alone{}, clients, adapter.Options{Terms: requests.OneShot()})
	require.NoError(t, err)
	pending := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(pending.ShutDown)
	require.NoError(t, jobs.Start(t.Context(), pending))
	require.NoError(t, jobs.WaitForSync(t.Context()))
	c := s.as(t, config)
	r := &controller.Reconciler{
		Client: c, Live: c, Jobs: jobs, Queues: queues, Poll: 30 * time.Second, Retry: 10 * time.Second,
		Metrics: controller.NewMetrics(prometheus.NewRegistry()), Events: events.NewFakeRecorder(100),
	}
	return r.Reconciler()
}

func holds(depth int64) queue.Fake {
	return func(context.Context, queue.Server, string) (int64, error) { return depth, nil }
}

// reconcile reconciles the ScaledJob, and waits until it has that many active Jobs.
func (p *place) reconcile(r reconcile.Reconciler, name string, active int) {
	p.t.Helper()
	result, err := r.Reconcile(p.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: p.namespace, Name: name}})
	require.NoError(p.t, err)
	require.Zero(p.t, result)
	p.becomes(10*time.Second, func(t *assert.CollectT) { require.EqualValues(t, active, p.get(t, name).Status.ActiveJobs) })
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
	p.reconcile(r, "image-processor", 5)
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
		p.reconcile(r, "image-processor", 5)
	}
	time.Sleep(time.Second)
	require.Len(t, p.jobs(t), 5, "however often it looks")
}

// A name that somebody else has taken is passed over. A Job of the ScaledJob that lost
// its label is found by its name, and counts.
func (s *stand) taken(t *testing.T) {
	p := s.place(t, "taken")
	sj := p.consume("orders", "1h")
	p.reconcile(s.reconciler(t, holds(20)), "consumer", 2)
	jobs := p.jobs(t)
	require.Len(t, jobs, 2)
	second := jobs[slices.IndexFunc(jobs, func(j batchv1.Job) bool { return strings.HasSuffix(j.Name, "-2") })]
	labelled := second.DeepCopy()
	delete(second.Labels, adapter.LabelOwner) // with a patch, since the Job controller writes too
	require.NoError(t, s.client.Patch(t.Context(), &second, client.MergeFrom(labelled)))
	other := &batchv1.Job{Spec: *sj.Spec.JobTemplate.Spec.DeepCopy()}
	other.ObjectMeta = metav1.ObjectMeta{Namespace: p.namespace, Name: strings.TrimSuffix(second.Name, "2") + "4"}
	require.NoError(t, s.client.Create(t.Context(), other))

	p.reconcile(s.reconciler(t, holds(40)), "consumer", 4) // 1, 2, 3 and 5
	require.Equal(t, "True Reconciled", p.condition(t, "consumer", "Ready"))
	require.Len(t, p.jobs(t), 5)
}
