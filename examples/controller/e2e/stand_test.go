// Package e2e tests the controller as a process, on a real control plane, with what
// its RBAC grants, and with real brokers.
package e2e

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/e2e/cluster"
)

const account = "system:serviceaccount:scaledjob:scaledjob-controller"

var scaledJobs = adapter.GroupVersionKind.GroupVersion().WithResource("scaledjobs")

// A stand is a cluster, the controller's binary and its access.
type stand struct {
	cluster    *cluster.Cluster
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	mapper     meta.ResettableRESTMapper
	binary     string
	kubeconfig string
	workers    *workers
}

func newStand(t *testing.T) *stand {
	w := newWorkers(t)
	c := cluster.Start(t)
	dynamic, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	s := &stand{cluster: c, client: c.Client(t), dynamic: dynamic, binary: filepath.Join(t.TempDir(), "controller"), workers: w}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.client.Discovery()))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, "..").CombinedOutput()
	require.NoError(t, err, "%s", out)
	c.Kubelet(t, s.workers.run)
	s.apply(t, manifest(t, "namespace.yaml"))
	s.apply(t, manifest(t, "rbac.yaml"))
	s.kubeconfig = s.access(t, account, "system:serviceaccounts", "system:authenticated")
	return s
}

// access is a kubeconfig of that user.
func (s *stand) access(t *testing.T, user string, groups ...string) string {
	t.Helper()
	admin, err := clientcmd.LoadFromFile(s.cluster.Kubeconfig())
	require.NoError(t, err)
	for _, info := range admin.AuthInfos {
		*info = clientcmdapi.AuthInfo{Token: info.Token, Impersonate: user, ImpersonateGroups: groups}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*admin, file))
	return file
}

func manifest(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "manifests", name))
	require.NoError(t, err)
	return string(data)
}

// apply creates the documents, or replaces what there is, refusing what the API
// server does not know.
func (s *stand) apply(t *testing.T, documents string) {
	t.Helper()
	for text := range strings.SplitSeq(documents, "\n---\n") {
		u := object(t, text)
		_, err := s.resource(t, u.GroupVersionKind(), u.GetNamespace()).
			Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "test", Force: true})
		require.NoError(t, err, text)
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

func (s *stand) resource(t *testing.T, kind schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
	t.Helper()
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		s.mapper.Reset()
		mapping, err = s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	require.NoError(t, err)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return s.dynamic.Resource(mapping.Resource)
	}
	return s.dynamic.Resource(mapping.Resource).Namespace(namespace)
}

// A process is a running controller.
type process struct {
	t       *testing.T
	command *exec.Cmd
	output  *output
	exited  chan error
}

type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a controller, which ends with the test at the latest.
func (s *stand) start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, output: &output{}, exited: make(chan error, 1)}
	args = append([]string{"-kubeconfig", s.kubeconfig, "-listen", "127.0.0.1:0", "-lease-namespace", "scaledjob"}, args...)
	p.command = exec.Command(s.binary, args...)
	p.command.Stderr = p.output
	require.NoError(t, p.command.Start())
	go func() { p.exited <- p.command.Wait() }()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text := p.output.String()
			t.Logf("controller:\n%s", text[max(0, len(text)-5000):])
		}
	})
	return p
}

func (p *process) kill() {
	if p.command.ProcessState == nil {
		p.command.Process.Kill()
		p.wait()
	}
}

func (p *process) wait() error {
	err := <-p.exited
	p.exited <- err
	return err
}

// stop stops the controller as a kubelet does, and it puts all down in time.
func (p *process) stop() {
	p.t.Helper()
	require.NoError(p.t, p.command.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-p.exited:
		p.exited <- err
		require.NoError(p.t, err, p.output)
	case <-time.After(20 * time.Second):
		require.Fail(p.t, "does not stop", p.output)
	}
}

// said waits until the log has the text.
func (p *process) said(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.output.String(), text) }, 30*time.Second, 20*time.Millisecond, text)
}

// get asks the process over HTTP.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	p.said("address=")
	_, rest, _ := strings.Cut(p.output.String(), "address=")
	address, _, _ := strings.Cut(rest, "\n")
	answer, err := http.Get("http://" + address + path)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	return answer.StatusCode, string(body)
}

// A queue is a namespace with a ScaledJob called consumer.
type queue struct {
	*stand
	t         *testing.T
	namespace string
}

// scaled makes a namespace with the ScaledJob, and a controller for it alone.
func (s *stand) scaled(t *testing.T, namespace, spec string, args ...string) (*queue, *process) {
	t.Helper()
	q := &queue{s, t, namespace}
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	q.apply(spec)
	return q, s.start(t, append([]string{"-namespace", namespace, "-leader-election=false"}, args...)...)
}

func (q *queue) apply(spec string) {
	q.t.Helper()
	q.stand.apply(q.t, fmt.Sprintf("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: consumer, namespace: %s}\nspec:\n  pollingInterval: 1\n%s", q.namespace, spec))
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
		"      spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c:1, env: [{name: RabbitMqHost, value: %q}]}]}\n",
		strings.Join(lines, ", "), os.Getenv("SCALEDJOB_RABBITMQ"))
}
