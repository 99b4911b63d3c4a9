package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/controllers/internal/apiserver"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

var scale = flag.Int("scale", 100, "`number` of ScaledJobs in TestScale; each gets ten Jobs")

// Every ScaledJob gets its Jobs, and none twice, beside a fake API server that is never the
// bottleneck. The log has the memory that the controller needs, without and with the Jobs.
func TestScale(t *testing.T) {
	const jobsEach = 10
	interval := 2 * time.Second
	if *scale > 1000 {
		interval = 30 * time.Second
	}
	var mu sync.Mutex
	length, read := 0, map[string]bool{}
	queues := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		read[r.URL.Path] = true
		fmt.Fprintf(w, `{"length": %d}`, length)
	}))
	defer queues.Close()
	group, version := manifest.GroupVersionKind.Group, manifest.GroupVersionKind.Version
	api := &apiserver.Server{Custom: []metav1.APIResource{
		{Group: group, Version: version, Name: "scaledjobs", Kind: "ScaledJob"},
		{Group: group, Version: version, Name: "triggerauthentications", Kind: "TriggerAuthentication"},
		{Group: group, Version: version, Name: "clustertriggerauthentications", Kind: "ClusterTriggerAuthentication"},
	}}
	objects := map[string]string{}
	for i := range *scale {
		namespace, name := fmt.Sprint("scale-", i%10), fmt.Sprint("consumer-", i)
		objects[path.Join("/apis", group, version, "namespaces", namespace, "scaledjobs", name)] = fmt.Sprintf(scaled, name, namespace, queues.URL, int(interval.Seconds()))
	}
	binary := process.Build(t, "..")
	p := process.Start(t, exec.Command(binary, "-kubeconfig", api.Start(t, objects), "-lease-namespace", "scaledjob",
		"-metrics-bind-address", "127.0.0.1:0", "-health-probe-bind-address", "127.0.0.1:0"))
	eventually := func(what string, holds func() bool) {
		t.Helper()
		require.Eventually(t, holds, 10*time.Minute, time.Second, what)
	}
	eventually("every queue was read", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(read) == *scale
	})
	time.Sleep(interval) // statuses and events
	before, empty := len(api.Requests("", "")), process.MemoryOf(t, p.Command.Process.Pid)
	mu.Lock()
	length = jobsEach
	mu.Unlock()
	begin, created := time.Now(), 0
	eventually("all Jobs", func() bool {
		created = len(api.Requests("POST", "jobs"))
		return created >= *scale*jobsEach
	})
	took := time.Since(begin)
	time.Sleep(2 * interval) // each is polled once more
	full, jobs := process.MemoryOf(t, p.Command.Process.Pid), api.Requests("POST", "jobs")
	require.Len(t, jobs, *scale*jobsEach, "a create is sent again, or there are Jobs too many")
	of := map[string]int{}
	for _, r := range jobs {
		of[jobName.FindStringSubmatch(r.Body)[1]]++
	}
	require.Len(t, of, *scale)
	for name, n := range of {
		require.Equal(t, jobsEach, n, name)
	}
	t.Logf("%d ScaledJobs and %d Jobs after %.0f s; %d requests before, %d since; memory %v without Jobs, %v with them",
		*scale, created, took.Seconds(), before, len(api.Requests("", ""))-before, empty, full)
}

var jobName = regexp.MustCompile(`"name":"(consumer-[0-9]+)-[0-9a-f]{8}-[0-9]+"`)

const scaled = `{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob",
"metadata": {"name": %[1]q, "namespace": %[2]q, "uid": %[1]q, "generation": 1, "labels": {"team": "orders", "app.kubernetes.io/part-of": "shop"}},
"spec": {"pollingInterval": %[4]d, "maxReplicaCount": 10, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 3,
"jobTargetRef": {"backoffLimit": 2, "activeDeadlineSeconds": 3600, "template": {
 "metadata": {"labels": {"app": "consumer"}, "annotations": {"example.com/owner": "orders"}},
 "spec": {"restartPolicy": "Never", "serviceAccountName": "consumer", "containers": [{"name": "consumer",
  "image": "registry.example.com/shop/consumer:1.2.3", "args": ["--queue", %[1]q, "--visibility-timeout", "300"],
  "env": [{"name": "BROKER", "value": "amqp://rabbitmq.shop.svc.cluster.local:5672"}, {"name": "LOG_LEVEL", "value": "info"}],
  "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
  "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true}}]}}},
"triggers": [{"type": "metrics-api", "metadata": {"url": "%[3]s/%[1]s", "valueLocation": "length", "targetValue": "1"}}]}}`
