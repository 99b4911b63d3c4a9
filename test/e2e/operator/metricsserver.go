package operator

import (
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// The metrics server is at this Service, as KEDA's own manifests have it.
const (
	namespace  = "keda"
	service    = "keda-metrics-apiserver"
	apiService = "v1beta1.external.metrics.k8s.io"
)

// A MetricsServer is KEDA's metrics server as a process.
type MetricsServer struct{ *Program }

// ServeMetrics starts KEDA's metrics server, which asks this operator, and makes the API server serve
// external.metrics.k8s.io through it. It returns when that works. Args are further flags. The metrics server is
// killed when the test ends.
func (o *Operator) ServeMetrics(t testing.TB, args ...string) *MetricsServer {
	t.Helper()
	address, metrics := free(t), free(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	_, metricsPort, err := net.SplitHostPort(metrics)
	require.NoError(t, err)
	kubeconfig := o.cluster.Kubeconfig()
	m := &MetricsServer{&Program{
		bin: build(t, "adapter"), log: filepath.Join(t.TempDir(), "adapter.log"), ready: "Serving securely on",
		args: slices.Concat([]string{
			"--kubeconfig=" + kubeconfig, "--lister-kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", "--secure-port=" + port, "--port=" + metricsPort, "--cert-dir=" + o.certificates,
			"--tls-cert-file=" + filepath.Join(o.certificates, "tls.crt"), "--tls-private-key-file=" + filepath.Join(o.certificates, "tls.key"),
			"--metrics-service-address=" + o.service, "--metrics-service-grpc-authority=localhost",
		}, args),
	}}
	m.start(t)
	o.aggregate(t, port)
	return m
}

// aggregate lets the API server ask the metrics server at the port. An ExternalName needs no endpoints, and no
// network of a cluster.
func (o *Operator) aggregate(t testing.TB, port string) {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(o.certificates, "ca.crt"))
	require.NoError(t, err)
	objects := manifest.Objects(t, fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %[3]s}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %[4]s}
spec:
  {group: external.metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100,
   service: {name: %[2]s, namespace: %[1]s, port: %[3]s}, caBundle: %[5]s}
`, namespace, service, port, apiService, base64.StdEncoding.EncodeToString(authority)))
	manifest.Apply(t, o.cluster.Config(), objects...)
	ctx, client := t.Context(), manifest.Client(t, o.cluster.Config(), objects[2])
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		object, err := client.Get(ctx, apiService, metav1.GetOptions{})
		require.NoError(t, err)
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		require.NoError(t, err)
		require.NotEmpty(t, conditions)
		require.Equal(t, "True", conditions[0].(map[string]any)["status"], conditions)
	}, time.Minute, 100*time.Millisecond)
}
