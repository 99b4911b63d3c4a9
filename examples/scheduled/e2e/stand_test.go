// Package e2e tests the controller as a process, on a real control plane, with what
// its RBAC grants.
package e2e

import (
	"encoding/json"
	"fmt"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/run"
	"github.com/scaledjob/scaledjob/e2e/cluster"
	"github.com/scaledjob/scaledjob/schedule"
)

const account = "system:serviceaccount:scheduledjob:scheduledjob-controller"

var (
	scheduledJobs = run.GroupVersionKind.GroupVersion().WithResource("scheduledjobs")
	runRequests   = run.GroupVersionKind.GroupVersion().WithResource("runrequests")
)

// A stand is a cluster, the controller's binary and its access.
type stand struct {
	cluster    *cluster.Cluster
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	mapper     meta.ResettableRESTMapper
	binary     string
	kubeconfig string
	pods       *pods
}

func newStand(t *testing.T) *stand {
	c := cluster.Start(t)
	dynamic, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	s := &stand{cluster: c, client: c.Client(t), dynamic: dynamic, binary: filepath.Join(t.TempDir(), "scheduled"), pods: &pods{}}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(s.client.Discovery()))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.binary, "..").CombinedOutput()
	require.NoError(t, err, "%s", out)
	c.Kubelet(t, s.pods.run)
	s.apply(t, manifest(t, "namespace.yaml"))
	s.apply(t, manifest(t, "rbac.yaml"))
	s.kubeconfig = s.access(t, "")
	return s
}

// access is a kubeconfig of the controller's account, for the cluster or for what
// stands before it.
func (s *stand) access(t *testing.T, server string) string {
	t.Helper()
	admin, err := clientcmd.LoadFromFile(s.cluster.Kubeconfig())
	require.NoError(t, err)
	for _, info := range admin.AuthInfos {
		*info = clientcmdapi.AuthInfo{Token: info.Token, Impersonate: account, ImpersonateGroups: []string{"system:serviceaccounts", "system:authenticated"}}
	}
	for _, c := range admin.Clusters {
		if server != "" {
			*c = clientcmdapi.Cluster{Server: server, InsecureSkipTLSVerify: true}
		}
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

// apply creates the documents, or replaces what there is.
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
	p.command = exec.Command(s.binary, append([]string{"-kubeconfig", s.kubeconfig, "-listen", "127.0.0.1:0"}, args...)...)
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

// A job is a namespace with a ScheduledJob called job.
type job struct {
	*stand
	t         *testing.T
	namespace string
}

// scheduled makes a namespace with the ScheduledJob, and a controller for it alone.
func (s *stand) scheduled(t *testing.T, namespace, spec string, args ...string) (*job, *process) {
	t.Helper()
	j := s.namespace(t, namespace)
	p := j.controller(args...)
	j.apply("job", spec)
	return j, p
}

// namespace makes a namespace without a ScheduledJob.
func (s *stand) namespace(t *testing.T, namespace string) *job {
	t.Helper()
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return &job{s, t, namespace}
}

// controller starts a controller for the namespace alone.
func (j *job) controller(args ...string) *process {
	j.t.Helper()
	p := j.start(j.t, append([]string{"-namespace", j.namespace}, args...)...)
	p.said("acting")
	return p
}

func (j *job) apply(name, spec string) {
	j.t.Helper()
	j.stand.apply(j.t, fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: ScheduledJob\nmetadata: {name: %s, namespace: %s}\nspec:\n%s", name, j.namespace, spec))
}

// request asks for a run, and returns the UID of the RunRequest.
func (j *job) request(name string) string {
	j.t.Helper()
	j.stand.apply(j.t, fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: RunRequest\nmetadata: {name: %s, namespace: %s}\nspec: {job: job}", name, j.namespace))
	u, err := j.dynamic.Resource(runRequests).Namespace(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
	require.NoError(j.t, err)
	return string(u.GetUID())
}

// answer is what a RunRequest says of its run.
func (j *job) answer(t require.TestingT, name string) schedule.Run {
	u, err := j.dynamic.Resource(runRequests).Namespace(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	data, err := json.Marshal(u.Object["status"])
	require.NoError(t, err)
	var r schedule.Run
	require.NoError(t, json.Unmarshal(data, &r))
	return r
}

func (j *job) get(t require.TestingT, name string) *run.ScheduledJob {
	u, err := j.dynamic.Resource(scheduledJobs).Namespace(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	data, err := json.Marshal(u.Object)
	require.NoError(t, err)
	found, err := run.ReadScheduledJobs(data)
	require.NoError(t, err)
	return found[0]
}

func (j *job) status(t require.TestingT) run.Status { return j.get(t, "job").Status }

func (j *job) delete(what schema.GroupVersionResource, name string) {
	j.t.Helper()
	require.NoError(j.t, j.dynamic.Resource(what).Namespace(j.namespace).Delete(j.t.Context(), name, metav1.DeleteOptions{}))
}

func (j *job) patch(merge string, subresources ...string) {
	j.t.Helper()
	_, err := j.dynamic.Resource(scheduledJobs).Namespace(j.namespace).
		Patch(j.t.Context(), "job", types.MergePatchType, []byte(merge), metav1.PatchOptions{}, subresources...)
	require.NoError(j.t, err)
}

func (j *job) jobs(t require.TestingT) []batchv1.Job {
	l, err := j.client.BatchV1().Jobs(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	slices.SortFunc(l.Items, func(a, b batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
	return l.Items
}

// events are the reasons of the events told of ScheduledJobs, each as often as it was
// told, sorted.
func (j *job) events(t require.TestingT) (reasons []string) {
	l, err := j.client.EventsV1().Events(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range l.Items {
		if e.Regarding.Kind == "ScheduledJob" {
			reasons = append(reasons, e.Reason)
		}
	}
	slices.Sort(reasons)
	return reasons
}

// created counts the Jobs that the controller has created.
func (j *job) created() int {
	return j.cluster.Count(j.t, func(r cluster.Request) bool {
		return r.User == account && r.Namespace == j.namespace && r.Verb == "create" && r.Resource == "jobs" && r.Code == 201
	})
}

// becomes waits until what is asserted holds.
func (j *job) becomes(within time.Duration, holds func(t *assert.CollectT)) {
	j.t.Helper()
	require.EventuallyWithT(j.t, holds, within, 50*time.Millisecond)
}

// stays checks that what is asserted holds for that long.
func (j *job) stays(long time.Duration, holds func(t require.TestingT)) {
	j.t.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		holds(j.t)
	}
}
