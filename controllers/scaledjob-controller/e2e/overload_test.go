package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

var overload = flag.Int("overload", 0, "ScaledJobs of TestOverload, which want ten Jobs each; at 0 it is skipped")

// refusing is a priority level without a queue for the controller, with two of all twelve seats.
const refusing = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: refusing}
spec: {type: Limited, limited: {nominalConcurrencyShares: 30, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: refusing}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: refusing}
  rules:
    - subjects: [{kind: User, user: {name: "` + account + `"}}]
      resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
`

// All ScaledJobs want ten Jobs at once from an API server that answers few requests at a time.
// No Job is created twice. The log has the time, and the ideal one: that of the same API server
// for as many creates that it does not refuse.
func TestOverload(t *testing.T) {
	if *overload == 0 {
		t.Skip("takes minutes: make overload")
	}
	c := cluster.Start(t, cluster.WithServer("--max-requests-inflight=8", "--max-mutating-requests-inflight=4"))
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml"))...)
	dynamic, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	s := &fixture{cluster: c, client: c.Client(t), dynamic: dynamic}
	s.apply(t, installed(t))
	s.kubeconfig = c.UserKubeconfig(t, account)
	binary := process.Build(t, "..")
	n := 10 * *overload
	for _, answers := range []string{"waits", "refuses"} {
		clients := 32
		if answers == "refuses" {
			clients = 2
			s.apply(t, refusing)
			time.Sleep(2 * time.Second)
		}
		rate := s.rate(t, "ideal-"+answers, min(n, 3000), clients)
		s.want(t, answers)
		time.Sleep(30 * time.Second) // until the API server has taken back the seats that it lent to an administrator's requests
		before, begin := s.stored(t), time.Now()
		run := process.Start(t, exec.Command(binary, "-kubeconfig", s.kubeconfig, "-lease-namespace=scaledjob", "-metrics-bind-address", "127.0.0.1:0", "-health-probe-bind-address", "127.0.0.1:0"))
		for s.stored(t)-before < n {
			require.Less(t, time.Since(begin), 2*time.Minute+time.Duration(n)*20*time.Millisecond)
			time.Sleep(250 * time.Millisecond)
		}
		took, ideal := time.Since(begin), time.Duration(float64(n)/rate*float64(time.Second))
		_, metrics := run.Get("/metrics")
		refused := "0"
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, `scaledjob_requests_total{code="429",overload="true",resource="jobs",verb="POST"}`) {
				refused = strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
			}
		}
		t.Logf("the API server %s: %d Jobs after %.1f s; %.0f creates a second without a refusal, so ideally %.1f s: %.2f times; %s creates refused",
			answers, n, took.Seconds(), rate, ideal.Seconds(), took.Seconds()/ideal.Seconds(), refused)
		time.Sleep(3 * time.Second)
		run.Stop()
		created := map[string]int{}
		c.Count(t, func(r cluster.Request) bool {
			if r.User == account && r.Verb == "create" && r.Resource == "jobs" && r.Code == http.StatusCreated && strings.HasPrefix(r.Namespace, answers) {
				created[r.Namespace+"/"+r.Name]++
			}
			return false
		})
		require.Len(t, created, n)
		require.Equal(t, n, s.stored(t)-before, "none twice")
	}
}

// rate returns how many creates of Jobs a second the API server answers the controller's account,
// of so many clients that it refuses none.
func (s *fixture) rate(t *testing.T, namespace string, n, clients int) float64 {
	s.namespace(t, namespace)
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	require.NoError(t, err)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}}}
	var next, refused atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for range clients {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job-", i)}, Spec: batchv1.JobSpec{Suspend: new(true), Template: template}}
				if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), j, metav1.CreateOptions{}); apierrors.IsTooManyRequests(err) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Zero(t, refused.Load())
	return float64(n) / time.Since(begin).Seconds()
}

// want creates the ScaledJobs in 20 namespaces.
func (s *fixture) want(t *testing.T, prefix string) {
	for _, name := range numbered(prefix+"-", 20) {
		s.namespace(t, name)
	}
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			name := fmt.Sprint(prefix, "-", worker)
			for i := worker; i < *overload; i += 20 {
				u := manifest.Objects(t, strings.Replace(fmt.Sprintf(lawJob, name), "minReplicaCount: 20\n  pollingInterval: 1\n", "minReplicaCount: 10\n", 1))[0]
				u.SetName(fmt.Sprint("consumer-", i))
				if _, err := s.dynamic.Resource(scaledJobs).Namespace(name).Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// stored returns how many Jobs there are.
func (s *fixture) stored(t *testing.T) int {
	l, err := s.client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	n := len(l.Items)
	if l.RemainingItemCount != nil {
		n += int(*l.RemainingItemCount)
	}
	return n
}
