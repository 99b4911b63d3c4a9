// Package e2e tests the operator as a process, on a real control plane, with what its
// RBAC grants, and with real Redis.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

const account = "system:serviceaccount:redis-operator:redis-operator"

// works is an annotation of pods: the time for which they run.
const works = "works"

// fails is an annotation of pods that fail.
const fails = "fails"

// A fixture is a cluster with the operator's manifests, its binary, and a Redis.
type fixture struct {
	cluster    *cluster.Cluster
	client     client.Client // may do all
	binary     string
	kubeconfig string // of the operator's account
	address    string // of Redis
	redis      *redis.Client
}

func newFixture(t *testing.T) *fixture {
	c := cluster.Start(t)
	c.Kubelet(t, func(p *corev1.Pod) cluster.Run {
		work, _ := time.ParseDuration(p.Annotations[works])
		run := cluster.Run{Work: work}
		if p.Annotations[fails] != "" {
			run.Exit = 1
		}
		return run
	})
	s, scheme := &fixture{cluster: c, binary: process.Build(t, "..")}, runtime.NewScheme()
	require.NoError(t, clientgo.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	admin, err := client.New(c.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	s.client = client.WithFieldValidation(admin, metav1.FieldValidationStrict)
	s.connect(t)
	s.kubeconfig = c.UserKubeconfig(t, account)
	s.install(t)
	return s
}

// connect connects to the real Redis, or without one to a stand-in.
func (s *fixture) connect(t *testing.T) {
	t.Helper()
	s.address = os.Getenv("SCALEDJOB_REDIS")
	if s.address == "" {
		s.address = miniredis.RunT(t).Addr()
		t.Log("SCALEDJOB_REDIS is not set: no real Redis")
	}
	s.redis = redis.NewClient(&redis.Options{Addr: s.address})
	t.Cleanup(func() { s.redis.Close() })
}

// install applies all of config/cluster, as kubectl apply -k does.
func (s *fixture) install(t *testing.T) {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../config/cluster")
	require.NoError(t, err)
	text, err := rendered.AsYaml()
	require.NoError(t, err)
	s.apply(t, string(text))
}

func (s *fixture) apply(t *testing.T, documents string) {
	t.Helper()
	manifest.Apply(t, s.cluster.Config(), manifest.Objects(t, documents)...)
}

// list makes an empty Redis list, which is gone after the test.
func (s *fixture) list(t *testing.T, name string) string {
	t.Helper()
	remove := func() { require.NoError(t, s.redis.Del(context.Background(), name).Err()) }
	remove()
	t.Cleanup(remove)
	return name
}

func (s *fixture) push(t *testing.T, list string, n int) {
	t.Helper()
	for range n {
		require.NoError(t, s.redis.RPush(t.Context(), list, "item").Err())
	}
}

// An operator is one that runs, with its addresses.
type operator struct {
	*process.Process
	metrics, probes string
}

func (s *fixture) start(t *testing.T, args ...string) *operator {
	t.Helper()
	o := &operator{metrics: processtest.FreeAddress(t), probes: processtest.FreeAddress(t)}
	args = append([]string{"-kubeconfig", s.kubeconfig, "-metrics-bind-address", o.metrics, "-health-probe-bind-address", o.probes, "-lease-namespace", "redis-operator"}, args...)
	o.Process = process.Start(t, exec.Command(s.binary, args...))
	return o
}

// A place is a namespace, with a ScaledJob called consumer most of the time.
type place struct {
	*fixture
	t         *testing.T
	namespace string
}

func (s *fixture) place(t *testing.T, namespace string) *place {
	t.Helper()
	require.NoError(t, s.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	return &place{s, t, namespace}
}

// operator starts an operator for this place alone, which looks every second.
func (p *place) operator(args ...string) *operator {
	p.t.Helper()
	return p.start(p.t, append([]string{"-namespace", p.namespace, "-leader-elect=false", "-poll=1s", "-retry=1s"}, args...)...)
}

// scaledJob is a ScaledJob whose threshold is 10, and whose pods run for that long.
func (p *place) scaledJob(name, address, list, work string) *v1.ScaledJob {
	sj := &v1.ScaledJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	sj.Spec = v1.ScaledJobSpec{QueueName: list, RedisAddress: address, Threshold: 10, MaxReplicas: 20}
	template := &sj.Spec.JobTemplate.Spec.Template
	template.Annotations = map[string]string{works: work}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "myapp/image-worker:v1.2.0"}}
	sj.Spec.JobTemplate.Spec.BackoffLimit = new(int32(0))
	return sj
}

// consume creates the ScaledJob called consumer of the list.
func (p *place) consume(list, work string, change ...func(*v1.ScaledJob)) *v1.ScaledJob {
	p.t.Helper()
	sj := p.scaledJob("consumer", p.address, list, work)
	for _, c := range change {
		c(sj)
	}
	require.NoError(p.t, p.client.Create(p.t.Context(), sj))
	return sj
}

func (p *place) get(t require.TestingT, name string) *v1.ScaledJob {
	var sj v1.ScaledJob
	require.NoError(t, p.client.Get(p.t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, &sj))
	return &sj
}

func (p *place) delete(name string, options ...client.DeleteOption) {
	p.t.Helper()
	sj := &v1.ScaledJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	require.NoError(p.t, p.client.Delete(p.t.Context(), sj, options...))
	p.becomes(10*time.Second, func(t *assert.CollectT) {
		require.True(t, apierrors.IsNotFound(p.client.Get(p.t.Context(), client.ObjectKeyFromObject(sj), sj)))
	})
}

func (p *place) jobs(t require.TestingT) []batchv1.Job {
	var l batchv1.JobList
	require.NoError(t, p.client.List(p.t.Context(), &l, client.InNamespace(p.namespace)))
	return l.Items
}

// active are the Jobs that have not ended.
func (p *place) active(t require.TestingT) (all []batchv1.Job) {
	for _, j := range p.jobs(t) {
		if j.Status.CompletionTime == nil && j.DeletionTimestamp == nil {
			all = append(all, j)
		}
	}
	return all
}

func names(jobs []batchv1.Job) (all []string) {
	for _, j := range jobs {
		all = append(all, j.Name)
	}
	return all
}

// condition is a condition of the ScaledJob as "Status Reason".
func (p *place) condition(t require.TestingT, name, kind string) string {
	c := meta.FindStatusCondition(p.get(t, name).Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprint(c.Status, " ", c.Reason)
}

// events counts what has been told of ScaledJobs, by reason.
func (p *place) events(t require.TestingT) map[string]int32 {
	var l eventsv1.EventList
	require.NoError(t, p.client.List(p.t.Context(), &l, client.InNamespace(p.namespace)))
	told := map[string]int32{}
	for _, e := range l.Items {
		switch {
		case e.Regarding.Kind != "ScaledJob":
		case e.Series != nil:
			told[e.Reason] += e.Series.Count
		default:
			told[e.Reason]++
		}
	}
	return told
}

// series are the ScaledJob's metrics, without those that only count.
func (p *place) series(t require.TestingT, of *operator, name string) map[string]string {
	_, text := processtest.Get(of.metrics + "/metrics")
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "scaledjob_") && strings.Contains(line, fmt.Sprintf("{namespace=%q,", p.namespace)) && strings.Contains(line, fmt.Sprintf("scaledjob=%q}", name)) {
			kind, _, _ := strings.Cut(line, "{")
			found[strings.TrimPrefix(kind, "scaledjob_")] = strings.TrimSpace(line[strings.LastIndex(line, " "):])
		}
	}
	return found
}

// measures checks what the metrics say of the consumer: "-" is nothing.
func (p *place) measures(of *operator, depth, active, desired string) {
	p.t.Helper()
	p.becomes(10*time.Second, func(t *assert.CollectT) {
		s := p.series(t, of, "consumer")
		for name, want := range map[string]string{"queue_depth": depth, "active_jobs": active, "desired_jobs": desired} {
			got, ok := s[name]
			if !ok {
				got = "-"
			}
			require.Equal(t, want, got, "%s of %v", name, s)
		}
	})
}

// start is the time within which an operator without a lease creates: two timeouts of a create of an earlier
// process, and the poll after them.
const start = 75 * time.Second

// becomes waits until what is asserted holds.
func (p *place) becomes(within time.Duration, holds func(t *assert.CollectT)) {
	p.t.Helper()
	require.EventuallyWithT(p.t, holds, within, 50*time.Millisecond)
}
