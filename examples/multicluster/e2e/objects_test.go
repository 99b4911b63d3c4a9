package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Deployment 4:6: a member that is gone keeps its part for the grace period, then
// the other has all, and when it comes back it has its part again.
func (s *stand) rebalances(t *testing.T) {
	q := s.space(t, "replicas")
	q.waiting("queue", 5)
	q.deployment(one, "nginx")
	q.deployment(two, "nginx")
	q.apply(t, q.namespace, `apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: nginx}
spec:
  memberClusters: [{name: `+one+`, weight: 4}, {name: `+two+`, weight: 6}]
  rebalancingPolicy: {gracePeriod: 5s}
  scaledObjectSpec:
    pollingInterval: 1
    cooldownPeriod: 60
    scaleTargetRef: {name: nginx}
    triggers: [{type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: queue, key: waiting, targetValue: "1"}}]`)
	s.start(t, "-namespace", q.namespace)
	shared := func(want ...int) {
		t.Helper()
		q.becomes(func(t *assert.CollectT) {
			require.Equal(t, want, []int{q.replicas(t, one, "nginx"), q.replicas(t, two, "nginx")})
		})
	}
	shared(2, 3)
	q.becomes(func(t *assert.CollectT) { q.told(t, "nginx", "Warning SpecWarning", "cooldownPeriod") })

	q.away(one)
	gone := time.Now()
	q.becomes(func(t *assert.CollectT) { require.Equal(t, 5, q.replicas(t, two, "nginx")) })
	require.GreaterOrEqual(t, time.Since(gone), 5*time.Second)
	require.Less(t, time.Since(gone), 15*time.Second, "the grace period, a health check, a poll, and a loaded machine")
	q.becomes(func(t *assert.CollectT) {
		m := q.member(t, dso, "nginx", one)
		require.EqualValues(t, 0, m["desiredReplicas"])
		require.Equal(t, "NotReady", m["state"])
		require.EqualValues(t, 1, q.status(t, dso, "nginx")["membersHealthyCount"])
		q.told(t, "nginx", "Warning MemberExcluded", one)
	})
	q.back(one)
	shared(2, 3)

	q.annotate(dso, "nginx", "autoscaling.keda.sh/paused-replicas", "3")
	shared(1, 2)
	q.becomes(func(t *assert.CollectT) {
		paused, _ := q.condition(t, dso, "nginx", "Paused")
		require.Equal(t, "True Paused", paused)
	})
	q.annotate(dso, "nginx", "autoscaling.keda.sh/paused-replicas", nil)
	shared(2, 3)
	q.annotate(dso, "nginx", "autoscaling.keda.sh/paused", "true")
	q.becomes(func(t *assert.CollectT) {
		paused, _ := q.condition(t, dso, "nginx", "Paused")
		require.Equal(t, "True Paused", paused)
	})
	q.waiting("queue", 10)
	q.stays(2*time.Second, func(t require.TestingT) {
		require.Equal(t, []int{2, 3}, []int{q.replicas(t, one, "nginx"), q.replicas(t, two, "nginx")})
	})
	q.annotate(dso, "nginx", "autoscaling.keda.sh/paused", nil)
	shared(4, 6)
}
