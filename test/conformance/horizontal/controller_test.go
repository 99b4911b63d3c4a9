package horizontal

import (
	"context"
	"errors"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

const namespace = "default"

// A cluster fakes what the controller reads: a workload, its pods, and
// the readings of its metrics. It is safe for concurrent use.
type cluster struct {
	mu               sync.Mutex
	replicas, status int32
	total            map[string][]int64 // External and Object metrics; absent is an error
	samples          map[string]metrics.PodMetricsInfo
	polls            int // reads of the scale
	writes           int
}

var errUnreadable = errors.New("unreadable")

func (w *cluster) Scales(string) scale.ScaleInterface { return w }

func (w *cluster) scale() *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace},
		Spec:       autoscalingv1.ScaleSpec{Replicas: w.replicas},
		Status:     autoscalingv1.ScaleStatus{Replicas: w.status, Selector: "app=web"},
	}
}

func (w *cluster) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (*autoscalingv1.Scale, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls++
	return w.scale(), nil
}

func (w *cluster) Update(_ context.Context, _ schema.GroupResource, s *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replicas = s.Spec.Replicas
	w.writes++
	return w.scale(), nil
}

func (w *cluster) Patch(context.Context, schema.GroupVersionResource, string, types.PatchType, []byte, metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	return nil, errors.New("not used")
}

func (w *cluster) GetResourceMetric(_ context.Context, resource corev1.ResourceName, _ string, _ labels.Selector, _ string) (metrics.PodMetricsInfo, time.Time, error) {
	return w.sampled(string(resource))
}

func (w *cluster) GetRawMetric(name, _ string, _, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	return w.sampled(name)
}

func (w *cluster) sampled(name string) (metrics.PodMetricsInfo, time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	read, ok := w.samples[name]
	if !ok {
		return nil, time.Time{}, errUnreadable
	}
	clone := metrics.PodMetricsInfo{} // the controller deletes entries
	for pod, sample := range read {
		clone[pod] = sample
	}
	return clone, time.Now(), nil
}

func (w *cluster) GetObjectMetric(name, _ string, _ *autoscalingv2.CrossVersionObjectReference, _ labels.Selector) (int64, time.Time, error) {
	values, at, err := w.GetExternalMetric(name, "", nil)
	if err != nil {
		return 0, at, err
	}
	return values[0], at, nil
}

func (w *cluster) GetExternalMetric(name, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	values, ok := w.total[name]
	if !ok {
		return nil, time.Time{}, errUnreadable
	}
	return values, time.Now(), nil
}

// A controller is a controller of one autoscaler.
type controller struct {
	pods        cache.Store
	start, stop func()
}

// prepare returns a controller that polls at its start and then in intervals. Its caches
// have synced, which can take an instant of the clock.
func prepare(client *fake.Clientset, w *cluster, interval time.Duration, flags flags) *controller {
	ctx, cancel := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, hpas := factory.Core().V1().Pods(), factory.Autoscaling().V2().HorizontalPodAutoscalers()
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{apps})
	mapper.Add(apps.WithKind("Deployment"), meta.RESTScopeNamespace)
	c := podautoscaler.NewHorizontalController(ctx, client.CoreV1(), w, client.AutoscalingV2(), mapper, w, hpas, pods,
		interval, flags.downWindow, flags.tolerance, flags.initialization, flags.readiness)
	store := pods.Informer().GetStore()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var group sync.WaitGroup
	return &controller{
		pods:  store,
		start: func() { group.Go(func() { c.Run(ctx, 1) }) },
		stop: func() {
			cancel()
			group.Wait()
			factory.Shutdown()
		},
	}
}

// flags are those of kube-controller-manager.
type flags struct {
	downWindow, initialization, readiness time.Duration
	tolerance                             float64
}
