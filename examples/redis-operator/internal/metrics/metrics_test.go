package metrics

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/scaledjob/scaledjob/examples/redis-operator/api/v1"
)

// series are all that there are, as "name namespace/scaledjob queue value".
func series(t *testing.T, r *prometheus.Registry) (all []string) {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			all = append(all, fmt.Sprintf("%s %s/%s %s %v", f.GetName(), labels["namespace"], labels["scaledjob"], labels["queue"], value))
		}
	}
	return all
}

func scaledJob(name, queue string) *v1.ScaledJob {
	sj := &v1.ScaledJob{Spec: v1.ScaledJobSpec{QueueName: queue}}
	sj.Namespace, sj.Name = "shop", name
	return sj
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := New(registry)
	a, b := scaledJob("a", "orders"), scaledJob("b", "returns")

	m.Reconciled(a, Reconcile{Active: 3, Depth: 47, Desired: 5, Read: true})
	require.ElementsMatch(t, []string{
		"scaledjob_queue_depth shop/a orders 47", "scaledjob_active_jobs shop/a orders 3", "scaledjob_desired_jobs shop/a orders 5",
		"scaledjob_reconcile_total shop/a orders 1", "scaledjob_reconcile_errors_total shop/a orders 0",
	}, series(t, registry))

	m.Reconciled(a, Reconcile{Active: 3, Failed: true})
	require.ElementsMatch(t, []string{
		"scaledjob_active_jobs shop/a orders 3",
		"scaledjob_reconcile_total shop/a orders 2", "scaledjob_reconcile_errors_total shop/a orders 1",
	}, series(t, registry), "unknown is not 0")

	m.Reconciled(scaledJob("a", "orders-2"), Reconcile{})
	require.ElementsMatch(t, []string{
		"scaledjob_active_jobs shop/a orders-2 0",
		"scaledjob_reconcile_total shop/a orders-2 1", "scaledjob_reconcile_errors_total shop/a orders-2 0",
	}, series(t, registry), "of the queue that it has now")

	m.Reconciled(b, Reconcile{})
	m.Forget(types.NamespacedName{Namespace: "shop", Name: "a"})
	m.Forget(types.NamespacedName{Namespace: "elsewhere", Name: "b"})
	require.ElementsMatch(t, []string{
		"scaledjob_active_jobs shop/b returns 0",
		"scaledjob_reconcile_total shop/b returns 1", "scaledjob_reconcile_errors_total shop/b returns 0",
	}, series(t, registry), "of those that are there")
}
