// Package operator runs KEDA's operator, and its metrics server, on a control plane of package cluster,
// as processes.
//
//	c := cluster.Start(t, cluster.WithAutoscaler())
//	o := operator.Start(t, c)
//	server := o.ServeMetrics(t)
//
// A ScaledObject then has a HorizontalPodAutoscaler that scales, and its values are read at
// /apis/external.metrics.k8s.io/v1beta1/namespaces/<namespace>/<metric>?labelSelector=scaledobject.keda.sh/name=<name>.
// Each process is stopped and started again with Stop and Restart; Log returns its output.
//
// The programs are built from their module in test/e2e/binaries/keda: 11 CPU minutes the first time. They are
// kept beside the binaries of package cluster. SCALEDJOB_KEDA=2.18.3 selects another release, which is
// built in its own source, without the scalers of New Relic and SolarWinds: some proxies do not serve
// their modules.
package operator

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/internal/certificate"
)

// An Operator is KEDA's operator as a process.
type Operator struct {
	*Program
	Metrics string // address of its metrics

	cluster      *cluster.Cluster
	service      string // address at which the metrics server asks it
	certificates string // folder, also of the metrics server
}

// Start applies KEDA's definitions, and starts the operator with the log level 1 in JSON. Args are
// further flags, and replace these. The operator is killed when the test ends.
func Start(t testing.TB, c *cluster.Cluster, args ...string) *Operator {
	t.Helper()
	Definitions(t, c)
	o := &Operator{Metrics: free(t), cluster: c, service: free(t), certificates: t.TempDir()}
	require.NoError(t, certificate.Write(o.certificates, "keda-operator", "localhost", service+"."+namespace+".svc"))
	o.Program = &Program{
		bin: build(t, "operator"), log: filepath.Join(t.TempDir(), "operator.log"), ready: `"msg":"Starting workers"`,
		args: slices.Concat([]string{
			"--kubeconfig=" + c.Kubeconfig(), "--cert-dir=" + o.certificates, "--zap-log-level=1", "--zap-encoder=json",
			"--metrics-bind-address=" + o.Metrics, "--health-probe-bind-address=" + free(t), "--metrics-service-bind-address=" + o.service,
		}, args),
	}
	o.start(t)
	return o
}
