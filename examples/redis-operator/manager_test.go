package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/scaledjob/scaledjob/examples/internal/apiserver"
	"github.com/scaledjob/scaledjob/examples/internal/process"
	"github.com/scaledjob/scaledjob/examples/internal/processtest"
)

// soon is a limit for whatever happens at once on a machine without load.
const soon = time.Minute

// scaledJobs is the custom resource.
var scaledJobs = metav1.APIResource{Group: "batch.miracle.dev", Version: "v1", Name: "scaledjobs", Kind: "ScaledJob"}

const (
	processors = "/apis/batch.miracle.dev/v1/namespaces/production/scaledjobs/image-processor"
	processor  = `{"apiVersion": "batch.miracle.dev/v1", "kind": "ScaledJob",
		"metadata": {"namespace": "production", "name": "image-processor", "uid": "1", "resourceVersion": "1", "generation": 1},
		"spec": {"queueName": "orders", "redisAddress": "%s", "threshold": 10, "minReplicas": 0, "maxReplicas": 20,
			"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.com/c:1"}]}}}}}}`
)

func TestWithoutScaledJobs(t *testing.T) {
	file := (&apiserver.Server{}).Start(t, nil)
	status, said := processtest.Run(t, newOptions(), "-kubeconfig", file)
	require.Equal(t, 1, status)
	require.Contains(t, said, "the cluster has no ScaledJobs of batch.miracle.dev: kubectl apply -k examples/redis-operator/config/crd")
}

// caches have synced, or wait until the context ends.
type caches struct {
	cache.Cache
	synced bool
}

func (c caches) WaitForCacheSync(ctx context.Context) bool {
	if !c.synced {
		<-ctx.Done()
	}
	return c.synced
}

func TestSynced(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	require.NoError(t, synced(caches{synced: true})(request))
	require.EqualError(t, synced(caches{})(request), "the caches have not synced")
}

// An output may be read while it is written.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

// The whole process, for one namespace: it gets the lease, creates Jobs, reports, and
// stops. It asks for nothing outside the namespace, so that it needs no ClusterRole.
func TestRun(t *testing.T) {
	redis := miniredis.RunT(t)
	for range 47 {
		redis.RPush("orders", "item")
	}
	api := &apiserver.Server{Custom: []metav1.APIResource{scaledJobs}}
	file := api.Start(t, map[string]string{processors: fmt.Sprintf(processor, redis.Addr())})
	metrics, probes := processtest.FreeAddress(t), processtest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	var log output
	ended := make(chan int)
	go func() {
		ended <- process.Run(ctx, newOptions(), []string{
			"-kubeconfig", file, "-namespace=production", "-poll=50ms", "-log-level=debug",
			"-metrics-bind-address", metrics, "-health-probe-bind-address", probes,
		}, &log)
	}()
	eventually := func(what string, holds func() bool) {
		t.Helper()
		require.Eventually(t, holds, soon, 10*time.Millisecond, what)
	}
	eventually("Jobs", func() bool { return len(api.Requests("POST", "jobs")) == 5 })
	eventually("status", func() bool {
		statuses := api.Requests("PUT", "scaledjobs")
		return len(statuses) > 0 && strings.Contains(statuses[0].Body, `"queueDepth":47`)
	})
	eventually("events", func() bool {
		return slices.ContainsFunc(api.Requests("POST", "events"), func(r apiserver.Request) bool {
			return strings.Contains(r.Body, `"reason":"CreatedJobs"`)
		})
	})
	eventually("polls", func() bool {
		_, text := processtest.Get(metrics + "/metrics")
		return strings.Contains(text, `scaledjob_queue_depth{namespace="production",queue="orders",scaledjob="image-processor"} 47`) &&
			!strings.Contains(text, `scaledjob_reconcile_total{namespace="production",queue="orders",scaledjob="image-processor"} 1`+"\n")
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		eventually(path, func() bool { code, _ := processtest.Get(probes + path); return code == 200 })
	}
	stop()
	require.Zero(t, <-ended)
	eventually("hung up", func() bool { return redis.CurrentConnectionCount() == 0 })
	require.Len(t, api.Requests("POST", "jobs"), 5)
	held, kept := api.Requests("POST", "leases"), api.Requests("PUT", "leases")
	require.Regexp(t, `"holderIdentity":"[^"]`, held[0].Body)
	require.NotRegexp(t, `"holderIdentity":"[^"]`, kept[len(kept)-1].Body, "released")
	for _, request := range api.Requests("", "") {
		require.Contains(t, request.Path, "/namespaces/production/")
	}
	require.Contains(t, log.String(), "level=DEBUG")
}
