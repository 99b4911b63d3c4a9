package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
)

// counterDefinition is a small resource with a scale subresource.
const counterDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: counters.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Counter, plural: counters}
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
        scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {replicas: {type: integer}}}
            status: {type: object, properties: {replicas: {type: integer}, selector: {type: string}}}
`

// A queueServer answers its length to KEDA's trigger metrics-api.
type queueServer struct {
	*httptest.Server
	length, reads atomic.Int64
	failing       atomic.Bool
}

func newQueueServer(t *testing.T) *queueServer {
	q := &queueServer{}
	q.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		q.reads.Add(1)
		if q.failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"length": %d}`, q.length.Load())
	}))
	t.Cleanup(q.Close)
	return q
}

// scaled is a Counter and its ScaledObject.
const scaled = `
apiVersion: example.com/v1
kind: Counter
metadata: {name: read, namespace: default}
spec: {replicas: 0}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: read, namespace: default, annotations: {autoscaling.keda.sh/paused-scale-out: "true"}}
spec:
  scaleTargetRef: {apiVersion: example.com/v1, kind: Counter, name: read}
  pollingInterval: 1
  maxReplicaCount: 1
  triggers: [{type: metrics-api, useCachedMetrics: true, metadata: {url: %q, valueLocation: length, targetValue: "2"}}]
`

// A metric is a value of external.metrics.k8s.io.
type metric struct {
	MetricName string
	Timestamp  time.Time
	Value      string
}

// A metricsReader reads the Counters' metrics as an autoscaler does.
type metricsReader struct {
	*cluster.Cluster
	objects, counters, autoscalers dynamic.ResourceInterface
}

func (m *metricsReader) value(t testing.TB, name string) (metric, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	data, err := m.Client(t).RESTClient().Get().AbsPath("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/s0-metric-api-length").
		Param("labelSelector", "scaledobject.keda.sh/name="+name).DoRaw(ctx)
	if err != nil {
		return metric{}, err
	}
	var list struct{ Items []metric }
	require.NoError(t, json.Unmarshal(data, &list))
	require.Len(t, list.Items, 1)
	return list.Items[0], nil
}

// reads waits until the value is read, and returns how long that took.
func (m *metricsReader) reads(t testing.TB, name string, value int) time.Duration {
	t.Helper()
	begin := time.Now()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		v, err := m.value(t, name)
		require.NoError(c, err)
		require.Equal(c, strconv.Itoa(value), v.Value)
	}, time.Minute, 50*time.Millisecond)
	return time.Since(begin)
}

func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}

// KEDA reads triggers for us, and the autoscaler rests: a target whose scaling out is paused stays at 0, and the
// values of KEDA's polls are read through external.metrics.k8s.io. Both programs of KEDA may be away meanwhile.
func TestExternalMetrics(t *testing.T) {
	c := cluster.Start(t, cluster.WithAutoscaler())
	o := operator.Start(t, c)
	server := o.ServeMetrics(t)
	manifest.Apply(t, c.Config(), manifest.Objects(t, counterDefinition)...)
	queue := newQueueServer(t)
	client := func(text string) dynamic.ResourceInterface {
		return manifest.Client(t, c.Config(), manifest.Objects(t, text)[0])
	}
	m := &metricsReader{
		Cluster: c, objects: client("{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: default}}"),
		counters:    client("{apiVersion: example.com/v1, kind: Counter, metadata: {namespace: default}}"),
		autoscalers: client("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: default}}"),
	}
	manifest.Apply(t, m.Config(), manifest.Objects(t, fmt.Sprintf(scaled, queue.URL))...)
	status, err := m.counters.Get(t.Context(), "read", metav1.GetOptions{})
	require.NoError(t, err)
	status.Object["status"] = map[string]any{"replicas": int64(0), "selector": "counter=read"}
	_, err = m.counters.UpdateStatus(t.Context(), status, metav1.UpdateOptions{})
	require.NoError(t, err)
	activity := func() any {
		object, err := m.objects.Get(t.Context(), "read", metav1.GetOptions{})
		require.NoError(t, err)
		active, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "triggersActivity", "s0-metric-api-length", "isActive")
		return active
	}
	require.Eventually(t, func() bool { return activity() == false }, time.Minute, 50*time.Millisecond) // a GET before the first poll makes KEDA read twice
	t.Log("first value after", m.reads(t, "read", 0))
	queue.length.Store(7)
	t.Log("changed value after", m.reads(t, "read", 7))
	require.Equal(t, true, activity())

	hpa, err := m.autoscalers.Get(t.Context(), "keda-hpa-read", metav1.GetOptions{})
	require.NoError(t, err)
	metrics, err := json.Marshal(hpa.Object["spec"].(map[string]any)["metrics"])
	require.NoError(t, err)
	require.JSONEq(t, `[{"type": "External", "external": {"metric": {"name": "s0-metric-api-length", "selector": {"matchLabels": {"scaledobject.keda.sh/name": "read"}}},
		"target": {"type": "AverageValue", "averageValue": "2"}}}]`, string(metrics))
	require.Eventually(t, func() bool {
		hpa, err := m.autoscalers.Get(t.Context(), "keda-hpa-read", metav1.GetOptions{})
		return err == nil && condition(hpa, "ScalingActive") == "False ScalingDisabled"
	}, time.Minute, 100*time.Millisecond)

	// At rest nothing is written, and the value is that of KEDA's poll.
	time.Sleep(3 * time.Second) // KEDA mirrors the autoscaler's condition in its next poll
	before, begin, first := len(m.Requests(t)), queue.reads.Load(), time.Now()
	time.Sleep(5 * time.Second)
	for _, r := range m.Requests(t)[before:] {
		if r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" && r.Resource != "leases" {
			t.Errorf("at rest, %s sends %s %s/%s %s", r.UserAgent, r.Verb, r.Resource, r.Subresource, r.Name)
		}
	}
	polls := float64(queue.reads.Load() - begin)
	require.InDelta(t, time.Since(first).Seconds(), polls, 2, "one read a poll, none of the autoscaler")
	v, err := m.value(t, "read")
	require.NoError(t, err)
	require.InDelta(t, 0, time.Since(v.Timestamp).Seconds(), 3)
	for range 20 { // of the cache
		_, err = m.value(t, "read")
		require.NoError(t, err)
	}
	require.LessOrEqual(t, float64(queue.reads.Load()-begin), polls+3)
	counter, err := m.counters.Get(t.Context(), "read", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 0, counter.Object["spec"].(map[string]any)["replicas"])

	queue.failing.Store(true)
	require.Eventually(t, func() bool { _, err := m.value(t, "read"); return err != nil }, 10*time.Second, 50*time.Millisecond, "the queue's server is away")
	queue.failing.Store(false)
	t.Log("right again after the queue's server:", m.reads(t, "read", 7))

	o.Stop()
	_, err = m.value(t, "read")
	require.Error(t, err, "without the operator")
	t.Log("without the operator:", err)
	queue.length.Store(8)
	o.Restart(t)
	t.Log("right again after the operator's start:", m.reads(t, "read", 8))

	server.Stop()
	_, err = m.value(t, "read")
	require.Error(t, err, "without the metrics server")
	t.Log("without the metrics server:", err)
	queue.length.Store(9)
	server.Restart(t)
	t.Log("right again after the metrics server's start:", m.reads(t, "read", 9))
}
