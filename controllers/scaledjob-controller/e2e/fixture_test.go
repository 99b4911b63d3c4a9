// Package e2e tests the controller as a process, on a real control plane, with what
// its RBAC grants, and with real brokers.
package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	kedamanifest "github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// requestTimeout is short, so that finished Jobs are deleted soon after a start.
const requestTimeout = 5 * time.Second

const account = "system:serviceaccount:scaledjob:scaledjob-controller"

var scaledJobs, scaledObjects = kedamanifest.GroupVersionKind.GroupVersion().WithResource("scaledjobs"), kedamanifest.GroupVersionKind.GroupVersion().WithResource("scaledobjects")

// A fixture is a cluster, the controller's binary and its access.
type fixture struct {
	cluster    *cluster.Cluster
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	binary     string
	keda       *operator.Operator
	metrics    *operator.MetricsServer
	kubeconfig string
	workers    *workers
}

func newFixture(t *testing.T) *fixture {
	w := newWorkers(t)
	c := cluster.Start(t, cluster.WithAutoscaler())
	t.Setenv("WATCH_LABEL_SELECTOR", kedametrics.LabelReader) // KEDA has our ScaledObjects, and no ScaledJob
	keda := operator.Start(t, c, "--kube-api-qps=1000", "--kube-api-burst=1000")
	dynamic, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	s := &fixture{cluster: c, client: c.Client(t), dynamic: dynamic, binary: process.Build(t, ".."), keda: keda, metrics: keda.ServeMetrics(t), workers: w}
	c.Kubelet(t, s.workers.run)
	s.apply(t, installed(t))
	s.kubeconfig = c.UserKubeconfig(t, account)
	return s
}

// installed are the namespace and the permissions of manifests/cluster.
func installed(t *testing.T) string { return processtest.Permissions(t, "../manifests/cluster") }

func (s *fixture) apply(t *testing.T, documents string) {
	t.Helper()
	manifest.Apply(t, s.cluster.Config(), manifest.Objects(t, documents)...)
}

func (s *fixture) start(t *testing.T, args ...string) *process.Process {
	t.Helper()
	args = append([]string{"-kubeconfig", s.kubeconfig, "-metrics-bind-address", "127.0.0.1:0", "-health-probe-bind-address", "127.0.0.1:0",
		"-request-timeout", requestTimeout.String()}, args...)
	return process.Start(t, exec.Command(s.binary, args...))
}

// A queue is a namespace with a ScaledJob called consumer.
type queue struct {
	*fixture
	t         *testing.T
	namespace string
}

// scaled makes a namespace with the ScaledJob, and a controller for it alone.
func (s *fixture) scaled(t *testing.T, namespace, spec string, args ...string) (*queue, *process.Process) {
	t.Helper()
	q := &queue{s, t, namespace}
	s.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}")
	q.apply(spec)
	return q, s.start(t, append([]string{"-namespace", namespace, "-leader-elect=false"}, args...)...)
}

func (q *queue) apply(spec string) {
	q.t.Helper()
	q.fixture.apply(q.t, fmt.Sprintf("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: consumer, namespace: %s}\nspec:\n  pollingInterval: 1\n%s", q.namespace, spec))
}

// patch merges into the ScaledJob.
func (q *queue) patch(text string) {
	q.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(q.t, err)
	_, err = q.dynamic.Resource(scaledJobs).Namespace(q.namespace).Patch(q.t.Context(), "consumer", "application/merge-patch+json", data, metav1.PatchOptions{})
	require.NoError(q.t, err)
}

func (q *queue) jobs(t require.TestingT) []batchv1.Job {
	l, err := q.client.BatchV1().Jobs(q.namespace).List(q.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return l.Items
}

// condition is a condition as "Status Reason".
func (q *queue) condition(t require.TestingT, kind string) string {
	u, err := q.dynamic.Resource(scaledJobs).Namespace(q.namespace).Get(q.t.Context(), "consumer", metav1.GetOptions{})
	require.NoError(t, err)
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(t, err)
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return fmt.Sprint(c["status"], " ", c["reason"])
		}
	}
	return ""
}

// events are the reasons of the events told of the ScaledJob, sorted.
func (q *queue) events(t require.TestingT) []string {
	l, err := q.client.EventsV1().Events(q.namespace).List(q.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var reasons []string
	for _, e := range l.Items {
		if e.Regarding.Kind == "ScaledJob" {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return reasons
}

// becomes waits until what is asserted holds.
func (q *queue) becomes(within time.Duration, holds func(t *assert.CollectT)) {
	q.t.Helper()
	require.EventuallyWithT(q.t, holds, within, 50*time.Millisecond)
}

// stays checks that what is asserted holds for that long.
func (q *queue) stays(long time.Duration, holds func(t require.TestingT)) {
	q.t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		holds(q.t)
	}
}

// job is a spec whose pods do what the annotations say; see workers.
func job(annotations map[string]string) string {
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		lines = append(lines, fmt.Sprintf("%s: %q", k, annotations[k]))
	}
	return fmt.Sprintf("  jobTargetRef:\n    backoffLimit: 0\n    template:\n      metadata: {annotations: {%s}}\n"+
		"      spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c:1, env: [{name: LOG_LEVEL, value: info}]}]}\n",
		strings.Join(lines, ", "))
}
