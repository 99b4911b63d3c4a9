// Package e2e tests the controller as a process, on a real control plane, with what
// its RBAC grants.
package e2e

import (
	"encoding/json"
	"fmt"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

const account = "system:serviceaccount:scheduledjob:scheduledjob-controller"

var (
	scheduledJobs = scheduledjob.GroupVersionKind.GroupVersion().WithResource("scheduledjobs")
	runRequests   = scheduledjob.GroupVersionKind.GroupVersion().WithResource("runrequests")
)

// A fixture is a cluster, the controller's binary and its access.
type fixture struct {
	cluster    *cluster.Cluster
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	binary     string
	kubeconfig string
	pods       *pods
}

func newFixture(t *testing.T) *fixture {
	c := cluster.Start(t)
	dynamic, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	s := &fixture{cluster: c, client: c.Client(t), dynamic: dynamic, binary: process.Build(t, ".."), pods: &pods{}}
	c.Kubelet(t, s.pods.run)
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
	return process.Start(t, exec.Command(s.binary, append([]string{"-kubeconfig", s.kubeconfig,
		"-leader-elect=false", "-request-timeout=5s", "-metrics-bind-address=", "-health-probe-bind-address=127.0.0.1:0"}, args...)...))
}

// A job is a namespace with a ScheduledJob called job.
type job struct {
	*fixture
	t         *testing.T
	namespace string
}

// scheduled makes a namespace with the ScheduledJob, and a controller for it alone.
func (s *fixture) scheduled(t *testing.T, namespace, spec string, args ...string) (*job, *process.Process) {
	t.Helper()
	return s.scheduledIn(t, s.namespace(t, namespace), spec, args...)
}

// scheduledIn is the same in a namespace that exists.
func (s *fixture) scheduledIn(t *testing.T, j *job, spec string, args ...string) (*job, *process.Process) {
	t.Helper()
	p := j.controller(args...)
	j.apply("job", spec)
	return j, p
}

// namespace makes a namespace without a ScheduledJob.
func (s *fixture) namespace(t *testing.T, namespace string) *job {
	t.Helper()
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return &job{s, t, namespace}
}

// controller starts a controller for the namespace alone.
func (j *job) controller(args ...string) *process.Process {
	j.t.Helper()
	p := j.start(j.t, append([]string{"-namespace", j.namespace}, args...)...)
	p.Said("acting")
	return p
}

func (j *job) apply(name, spec string) {
	j.t.Helper()
	j.fixture.apply(j.t, fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: ScheduledJob\nmetadata: {name: %s, namespace: %s}\nspec:\n%s", name, j.namespace, spec))
}

// request asks for a run, and returns the UID of the RunRequest.
func (j *job) request(name string) string {
	j.t.Helper()
	j.fixture.apply(j.t, fmt.Sprintf("apiVersion: scaledjob.github.io/v1alpha1\nkind: RunRequest\nmetadata: {name: %s, namespace: %s}\nspec: {job: job}", name, j.namespace))
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

func (j *job) get(t require.TestingT, name string) *scheduledjob.ScheduledJob {
	u, err := j.dynamic.Resource(scheduledJobs).Namespace(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	data, err := json.Marshal(u.Object)
	require.NoError(t, err)
	found, err := scheduledjob.Read(data)
	require.NoError(t, err)
	return found[0]
}

func (j *job) status(t require.TestingT) scheduledjob.Status { return j.get(t, "job").Status }

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

// events are the reasons of the events of ScheduledJobs, sorted, without RunStarted.
func (j *job) events(t require.TestingT) (reasons []string) {
	l, err := j.client.EventsV1().Events(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, e := range l.Items {
		if e.Regarding.Kind == "ScheduledJob" && e.Reason != "RunStarted" {
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
