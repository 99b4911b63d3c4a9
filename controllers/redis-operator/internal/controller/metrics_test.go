package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

// Series name the namespace, ScaledJob and queue. They end with their ScaledJob, and not with another of its
// name; counters begin again with another queue.
func TestSeries(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics(r)
	reconciled := func(namespace, queue string, err error) {
		sj := &v1.ScaledJob{Spec: v1.ScaledJobSpec{QueueName: queue}}
		sj.Namespace, sj.Name = namespace, "orders"
		m.reconciled(sj, outcome{active: 3, depth: 5, unread: err}, err != nil)
	}
	away := errors.New("away")
	reconciled("shop", "a", away)
	reconciled("mail", "a", away)
	reconciled("mail", "b", nil)
	reconciled("mail", "b", away)
	m.forget(types.NamespacedName{Namespace: "shop", Name: "orders"})
	const want = `# HELP scaledjob_reconcile_errors_total Reconciles in which something failed: the queue's reading, too.
# TYPE scaledjob_reconcile_errors_total counter
scaledjob_reconcile_errors_total{namespace="mail",queue="b",scaledjob="orders"} 1
`
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(want), "scaledjob_reconcile_errors_total"))
	n, err := testutil.GatherAndCount(r)
	require.NoError(t, err)
	require.Equal(t, 3, n, "no depth that was not read at last")
}
