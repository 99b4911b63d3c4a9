package kedametrics

// What the tests hold:
//
//	Claim                                              Test
//	when to read, and which readings are new           TestPace, TestPaceProperty
//	activity after the value, stale values, cron       TestFirstVerdict, TestStale, TestCron
//	names, immutability, objects of others             TestObjects, TestEdits, TestNotBuilt, TestConflict
//	a reading end to end, on a fake of the APIs        TestReading
//	every fault of the APIs                            TestFaults, TestValues, TestProbe…, TestRecovery
//	owners that are away delay no other                TestIsolation
//	deletion with and without KEDA                     TestUntrack, TestFinalizer
//	a restart                                          TestRestart
//	no KEDA                                            TestConfigMap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	"k8s.io/metrics/pkg/client/external_metrics"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/externalmetrics"
	"github.com/scaledjob/scaledjob/adapter/manifest"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// A cluster is a fake of the APIs, with KEDA on it. It polls by poll, and not by itself.
type cluster struct {
	t       *testing.T
	dynamic *dynamicfake.FakeDynamicClient
	reader  *Reader
	stop    context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	keda    func(name string) (value string, err error) // of the metrics server's answers about an owner's object
	time    time.Time
	away    error         // of every GET
	hang    time.Duration // of every GET
	gets    map[string]int
	decided []cache.ObjectName
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	c := &cluster{t: t, gets: map[string]int{}, time: time.Unix(5_000_000, 0)}
	c.keda = func(string) (string, error) { return "", errors.New("no answer is set") }
	c.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		scaledObjects: "ScaledObjectList", readingTargets: kind + "List", hpas: "HorizontalPodAutoscalerList", configMaps: "ConfigMapList",
	}, objects...)
	uids := 0
	c.dynamic.PrependReactor("create", "*", func(a kubetesting.Action) (bool, runtime.Object, error) {
		o := a.(kubetesting.CreateAction).GetObject().(*unstructured.Unstructured)
		c.mu.Lock()
		uids++
		o.SetUID(types.UID(fmt.Sprint("uid-", uids)))
		o.SetGeneration(1)
		c.mu.Unlock()
		return false, nil, nil
	})
	return c
}

// started tests with a reader that runs.
func started(t *testing.T, test func(*testing.T, *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.start()
		defer c.stop()
		test(t, c)
	})
}

// start runs a reader. Its label is "test".
func (c *cluster) start(change ...func(*Options)) {
	o := Options{
		Clients: Clients{Requests: c.dynamic, Watches: c.dynamic, Values: externalmetrics.New(c, externalmetrics.Options{})},
		Name:    "test", Decide: func(key cache.ObjectName) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.decided = append(c.decided, key)
		},
	}
	for _, f := range change {
		f(&o)
	}
	c.reader = New(o)
	ctx, stop := context.WithCancel(c.t.Context())
	ended := make(chan struct{})
	c.ended = ended
	c.stop = func() { stop(); <-ended }
	go func() {
		defer close(ended)
		c.reader.Run(ctx)
	}()
}

// wait lets time pass, and everything happen that it brings.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// NamespacedMetrics is KEDA's metrics server.
func (c *cluster) NamespacedMetrics(string) external_metrics.MetricsInterface { return c }

func (c *cluster) List(metric string, selector labels.Selector) (*v1beta1.ExternalMetricValueList, error) {
	name, _ := selector.RequiresExactMatch(labelObject)
	c.mu.Lock()
	away, hang, keda, now := c.away, c.hang, c.keda, c.time
	c.gets[name]++
	c.mu.Unlock()
	time.Sleep(hang)
	if away != nil {
		return nil, away
	}
	if metric == "s0-probe" {
		return nil, apierrors.NewInternalError(errors.New("rpc error: code = Unknown desc = ScaledObject not found"))
	}
	value, err := keda(name)
	if err != nil {
		return nil, err
	}
	return &v1beta1.ExternalMetricValueList{Items: []v1beta1.ExternalMetricValue{{
		MetricName: metric, Value: resource.MustParse(value), Timestamp: metav1.NewTime(now),
	}}}, nil
}

// poll is a poll of KEDA.
func (c *cluster) poll(value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(time.Second + time.Since(time.Unix(0, 0))%time.Second).Truncate(time.Second)
	c.keda = func(string) (string, error) { return value, nil }
}

// answer polls, and KEDA builds all objects.
func (c *cluster) answer(value string) {
	c.poll(value)
	c.buildAll(true)
	wait(time.Second)
}

func (c *cluster) list(r schema.GroupVersionResource) (all []unstructured.Unstructured) {
	list, err := c.dynamic.Resource(r).List(context.Background(), metav1.ListOptions{})
	require.NoError(c.t, err)
	return list.Items
}

// build is what KEDA does with a new ScaledObject: an HPA, and its verdicts.
func (c *cluster) build(o *unstructured.Unstructured, active bool) {
	ctx := context.Background()
	metrics, activity := []any{}, map[string]any{}
	triggers, _, _ := unstructured.NestedSlice(o.Object, "spec", "triggers")
	for i, trigger := range triggers {
		name := fmt.Sprintf("s%d-%v", i, trigger.(map[string]any)["type"])
		activity[name] = map[string]any{"isActive": active}
		metrics = append(metrics, map[string]any{"type": "External", "external": map[string]any{
			"metric": map[string]any{"name": name}, "target": map[string]any{"type": "AverageValue", "averageValue": "5"},
		}})
	}
	yes := true
	hpa := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"maxReplicas": int64(1), "metrics": metrics, "scaleTargetRef": map[string]any{"kind": kind, "name": o.GetName()},
	}}}
	hpa.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"})
	hpa.SetNamespace(o.GetNamespace())
	hpa.SetName(hpaPrefix + o.GetName())
	hpa.SetLabels(o.GetLabels())
	hpa.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: o.GetName(), UID: o.GetUID(), Controller: &yes}})
	if _, err := c.dynamic.Resource(hpas).Namespace(o.GetNamespace()).Create(ctx, hpa, metav1.CreateOptions{}); err != nil {
		require.True(c.t, apierrors.IsAlreadyExists(err), err)
	}
	_ = unstructured.SetNestedMap(o.Object, activity, "status", "triggersActivity")
	_, err := c.dynamic.Resource(scaledObjects).Namespace(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

// buildAll builds every ScaledObject. A watch of the fake holds 100 events.
func (c *cluster) buildAll(active bool) {
	for i, o := range c.list(scaledObjects) {
		c.build(&o, active)
		if i%40 == 39 {
			synctest.Wait()
		}
	}
}

// track tracks an owner, and lets its objects be created.
func (c *cluster) track(name string) {
	require.NoError(c.t, c.reader.Track(owner(name)))
	wait(time.Second)
}

// trackMany tracks many owners.
func (c *cluster) trackMany(n int) {
	for i := range n {
		require.NoError(c.t, c.reader.Track(owner(fmt.Sprint("o", i))))
		if i%creates == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
}

func owner(name string, triggers ...manifest.ScaleTrigger) Owner {
	if triggers == nil {
		triggers = []manifest.ScaleTrigger{{Type: "redis", Metadata: map[string]string{"listName": "orders"}}}
	}
	return Owner{
		Owner:    adapter.Owner{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledJob", Namespace: "shop", Name: name, UID: types.UID("owner-" + name)},
		Triggers: triggers, Interval: 30 * time.Second,
		Pod: corev1.PodSpec{ServiceAccountName: "worker", Containers: []corev1.Container{{Name: "main", Image: "busybox", Env: []corev1.EnvVar{{Name: "HOST", Value: "redis"}}}}},
	}
}

func keyOf(name string) cache.ObjectName { return cache.NewObjectName("shop", name) }

// reading takes the reading of an owner, which must be there.
func (c *cluster) reading(name string) Reading {
	c.t.Helper()
	reading, found := c.reader.Take(keyOf(name))
	require.True(c.t, found, "no reading")
	return reading
}

func (c *cluster) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}
