// Package e2e tests the controller as a process, with what its RBAC grants, on four
// real control planes: a home cluster and three members that its own commands set up.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/operator"
	"github.com/scaledjob/scaledjob/test/e2e/process"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

const account = "system:serviceaccount:keda:multicluster"

// Names of the members. The annotation of that name holds the time that a pod takes to
// start there, and the annotation work the time until it ends.
const one, two, three = "member-cluster-1", "member-cluster-2", "member-cluster-3"

var names = []string{one, two, three}

// A site is a cluster with a client of its administrator.
type site struct {
	*cluster.Cluster
	config *rest.Config
	client kubernetes.Interface
}

// A fixture is the clusters, the controller's binary and its access.
type fixture struct {
	home       site
	dynamic    dynamic.Interface // of the home cluster
	members    map[string]site
	operator   *operator.Operator // KEDA's, on the home cluster
	metrics    *operator.MetricsServer
	binary     string
	kubeconfig string
}

func newFixture(t *testing.T, members ...string) *fixture {
	s := &fixture{members: map[string]site{}, binary: process.Build(t, "..")}
	s.home = newSite(t, cluster.WithAutoscaler())
	s.operator = operator.Start(t, s.home.Cluster, "--kube-api-qps=1000", "--kube-api-burst=1000")
	s.metrics = s.operator.ServeMetrics(t)
	var err error
	s.dynamic, err = dynamic.NewForConfig(s.home.Config())
	require.NoError(t, err)
	for _, name := range members {
		s.members[name] = newSite(t)
		s.members[name].Kubelet(t, func(pod *corev1.Pod) cluster.Run {
			start, err := time.ParseDuration(pod.Annotations[name])
			if err != nil {
				start = 0
			}
			work, err := time.ParseDuration(pod.Annotations["work"])
			if err != nil {
				work = -1
			}
			return cluster.Run{Start: start, Work: work}
		})
	}
	s.apply(t, "", processtest.Permissions(t, "../manifests/cluster"))
	definition, err := kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(t, err)
	s.apply(t, "", string(definition))
	s.apply(t, registry.Namespace, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: multicluster-members}")
	for _, name := range []string{"crds/distributedscaledjobs.yaml", "crds/distributedscaledobjects.yaml"} {
		s.apply(t, "", manifest.Read(t, "../manifests/"+name))
	}
	for _, r := range []schema.GroupVersionResource{dsj, dso} {
		require.Eventually(t, func() bool {
			_, err := s.dynamic.Resource(r).List(t.Context(), metav1.ListOptions{})
			return err == nil
		}, 30*time.Second, 50*time.Millisecond, "served")
	}
	s.kubeconfig = s.home.UserKubeconfig(t, account)
	return s
}

func newSite(t *testing.T, options ...cluster.Option) site {
	c := cluster.Start(t, append(options, cluster.WithControllers("deployment-controller", "replicaset-controller", "statefulset-controller"))...)
	return site{c, c.Config(), c.Client(t)}
}

// join sets the members up, each for all namespaces.
func (s *fixture) join(t *testing.T) {
	t.Helper()
	for name, member := range s.members {
		out, err := s.command(t, "setup-member", name, "--keda-kubeconfig", s.home.Kubeconfig(), "--member-kubeconfig", member.Kubeconfig(), "--serve", "*")
		require.NoError(t, err, out)
	}
}

// apply applies the documents in the home cluster. The namespace is that of those that
// name none.
func (s *fixture) apply(t *testing.T, namespace, documents string) {
	t.Helper()
	objects := manifest.Objects(t, documents)
	for _, u := range objects {
		if u.GetNamespace() == "" {
			u.SetNamespace(namespace)
		}
	}
	manifest.Apply(t, s.home.config, objects...)
}

// command runs one of the program's commands, and returns what it printed.
func (s *fixture) command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := exec.CommandContext(t.Context(), s.binary, args...)
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	secret.Absent(t, "output of a command", out.String())
	return out.String(), err
}

func (s *fixture) start(t *testing.T, args ...string) *process.Process {
	t.Helper()
	args = append([]string{
		"-kubeconfig", s.kubeconfig, "-health-probe-bind-address", "127.0.0.1:0", "-metrics-bind-address", "", "-leader-elect=false",
		"-probe-interval=500ms", "-member-timeout=3s", "-soft-taint=20s", "-hard-taint=8s", "-log-level=info",
		"-sync-period=1s", "-lease-namespace", registry.Namespace,
	}, args...)
	command := exec.Command(s.binary, args...)
	command.Env = append(os.Environ(), "DSJ_ENABLED=true", "DSO_ENABLED=true")
	return process.Start(t, command)
}

// A space is a namespace of that name on all clusters.
type space struct {
	*fixture
	t         *testing.T
	namespace string
	interval  int // between polls, in seconds
}

// space makes a namespace, with a queue in a ConfigMap in the home cluster.
func (s *fixture) space(t *testing.T, namespace string) *space {
	t.Helper()
	for _, c := range append(slices.Collect(maps.Values(s.members)), s.home) {
		_, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	q := &space{s, t, namespace, 1}
	q.waiting("queue", 0)
	return q
}

// waiting sets the length of a queue.
func (q *space) waiting(queue string, n int) {
	q.t.Helper()
	q.apply(q.t, q.namespace, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {waiting: '%d'}", queue, n))
}

// job makes a DistributedScaledJob: spec is what it has beside scaledJobSpec, in which
// are pod annotations, and more fields.
func (q *space) job(name, spec, annotations string, more ...string) {
	q.t.Helper()
	q.apply(q.t, q.namespace, fmt.Sprintf(`apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledJob
metadata: {name: %s}
spec:
%s
  scaledJobSpec:
    pollingInterval: %d
    jobTargetRef:
      backoffLimit: 0
      template:
        metadata: {annotations: {%s}}
        spec: {restartPolicy: Never, containers: [{name: processor, image: "example.com/c:1"}]}
    triggers: [{type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: queue, key: waiting, targetValue: "1"}}]
    %s
`, name, spec, q.interval, annotations, strings.Join(more, "\n    ")))
}

// annotate sets an annotation, or removes it.
func (q *space) annotate(of schema.GroupVersionResource, name, key string, value any) {
	q.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	require.NoError(q.t, err)
	_, err = q.dynamic.Resource(of).Namespace(q.namespace).Patch(q.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(q.t, err)
}

// jobs are those of a DistributedScaledJob on a member.
func (q *space) jobs(t require.TestingT, member, of string) []batchv1.Job {
	l, err := q.members[member].client.BatchV1().Jobs(q.namespace).List(q.t.Context(),
		metav1.ListOptions{LabelSelector: "kedify-agent-distributedscaledjob=" + of})
	require.NoError(t, err)
	return slices.DeleteFunc(l.Items, func(j batchv1.Job) bool { return j.DeletionTimestamp != nil })
}

// counts are the numbers of Jobs on members.
func (q *space) counts(t require.TestingT, of string, members ...string) (counts []int) {
	for _, m := range members {
		counts = append(counts, len(q.jobs(t, m, of)))
	}
	return counts
}

// deployment makes a Deployment without replicas on a member.
func (q *space) deployment(member, name string) {
	q.t.Helper()
	q.workload(member, "Deployment", q.namespace, name)
}

// workload makes a Deployment or a StatefulSet without replicas in a namespace of a member.
func (q *space) workload(member, kind, namespace, name string) {
	q.t.Helper()
	manifest.Apply(q.t, q.members[member].config, manifest.Objects(q.t, fmt.Sprintf(`apiVersion: apps/v1
kind: %s
metadata: {name: %s, namespace: %s}
spec:
  replicas: 0
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: c, image: nginx}]}
`, kind, name, namespace))...)
}

func (q *space) replicas(t require.TestingT, member, name string) int {
	d, err := q.members[member].client.AppsV1().Deployments(q.namespace).Get(q.t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return int(*d.Spec.Replicas)
}

// status is that of an object of the home cluster.
func (q *space) status(t require.TestingT, of schema.GroupVersionResource, name string) map[string]any {
	u, err := q.dynamic.Resource(of).Namespace(q.namespace).Get(q.t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	status, _, err := unstructured.NestedMap(u.Object, "status")
	require.NoError(t, err)
	return status
}

// print is what kubectl get shows of the object.
func (q *space) print(t require.TestingT, of schema.GroupVersionResource, name, column string) string {
	text, _, err := unstructured.NestedString(q.status(t, of, name), "print", column)
	require.NoError(t, err)
	return text
}

// member is the status of one member.
func (q *space) member(t require.TestingT, of schema.GroupVersionResource, name, member string) map[string]any {
	m, _, err := unstructured.NestedMap(q.status(t, of, name), "memberClusterStatuses", member)
	require.NoError(t, err)
	return m
}

// isOf asserts that the status is of the object as it is now.
func (q *space) isOf(t require.TestingT, of schema.GroupVersionResource, name string) {
	u, err := q.dynamic.Resource(of).Namespace(q.namespace).Get(q.t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	conditions, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	require.NoError(t, err)
	require.NotEmpty(t, conditions)
	for _, c := range conditions {
		require.Equal(t, u.GetGeneration(), c.(map[string]any)["observedGeneration"])
	}
}

// condition is a condition as "Status Reason", and its message.
func (q *space) condition(t require.TestingT, of schema.GroupVersionResource, name, kind string) (string, string) {
	conditions, _, err := unstructured.NestedSlice(q.status(t, of, name), "conditions")
	require.NoError(t, err)
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return fmt.Sprint(c["status"], " ", c["reason"]), fmt.Sprint(c["message"])
		}
	}
	return "", ""
}

// logs logs what a user sees of the object in a situation.
func (q *space) logs(situation string, of schema.GroupVersionResource, name string) {
	q.t.Helper()
	status := q.status(q.t, of, name)
	ready, why := q.condition(q.t, of, name, "Ready")
	text := fmt.Sprintf("%s: %v %s: %s", situation, status["print"], ready, why)
	for _, name := range names {
		if m, ok := status["memberClusterStatuses"].(map[string]any)[name].(map[string]any); ok {
			text += fmt.Sprintf("\n  %s %s: %s", name, m["state"], m["description"])
		}
	}
	q.t.Log(text)
}

// events are those told of an object, each as "Type Reason Message", sorted.
func (q *space) events(t require.TestingT, name string) (all []string) {
	l, err := q.home.client.EventsV1().Events(q.namespace).List(q.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range l.Items {
		if e.Regarding.Name == name {
			all = append(all, fmt.Sprint(e.Type, " ", e.Reason, " ", e.Note))
		}
	}
	slices.Sort(all)
	return all
}

// told asserts that an event was told of the object that has all the texts.
func (q *space) told(t require.TestingT, name string, texts ...string) {
	events := q.events(t, name)
	for _, e := range events {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(e, text) }) {
			return
		}
	}
	require.Failf(t, "not told", "%q, but %q", texts, events)
}

// becomes waits until what is asserted holds.
func (q *space) becomes(holds func(t *assert.CollectT)) {
	q.t.Helper()
	require.EventuallyWithT(q.t, holds, 60*time.Second, 100*time.Millisecond)
}

// stays checks that what is asserted holds for that long.
func (q *space) stays(long time.Duration, holds func(t require.TestingT)) {
	q.t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		holds(q.t)
	}
}

// away kills a member's API server, and back brings it back.
func (q *space) away(member string) { q.members[member].KillAPIServer() }

func (q *space) back(member string) {
	q.t.Helper()
	require.NoError(q.t, q.members[member].StartAPIServer(q.t.Context()))
}

var dsj, dso = api.Jobs, api.Objects
