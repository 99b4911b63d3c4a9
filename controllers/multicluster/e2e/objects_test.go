package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// A Deployment 4:6: a member that is gone keeps its part for the grace period, then
// the other has all, and when it comes back it has its part again.
func (s *fixture) rebalances(t *testing.T) {
	q := s.space(t, "replicas")
	q.waiting("queue", 5)
	q.deployment(one, "nginx")
	q.deployment(two, "nginx")
	q.object("{name: "+one+", weight: 4}, {name: "+two+", weight: 6}", "gracePeriod: 5s", "")
	s.start(t, "-namespace", q.namespace)
	q.shared(2, 3)

	gone := time.Now()
	q.away(one)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, 5, q.replicas(t, two, "nginx")) })
	require.GreaterOrEqual(t, time.Since(gone), 5*time.Second)
	require.Less(t, time.Since(gone), 30*time.Second, "the grace period, a health check, a poll, and a loaded machine")
	q.becomes(func(t *assert.CollectT) {
		m := q.member(t, dso, "nginx", one)
		require.EqualValues(t, 0, m["desiredReplicas"])
		require.Equal(t, "NotReady", m["state"])
		require.EqualValues(t, 1, q.status(t, dso, "nginx")["membersHealthyCount"])
		q.told(t, "nginx", "Warning MemberExcluded", one)
	})
	q.back(one)
	q.shared(2, 3)

	q.annotate(dso, "nginx", "autoscaling.keda.sh/paused-replicas", "3")
	q.shared(1, 2)
	q.becomes(func(t *assert.CollectT) {
		paused, _ := q.condition(t, dso, "nginx", "Paused")
		require.Equal(t, "True Paused", paused)
	})
	q.annotate(dso, "nginx", "autoscaling.keda.sh/paused-replicas", nil)
	q.shared(2, 3)
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
	q.shared(4, 6)
}

// object makes a DistributedScaledObject for the Deployment nginx on the members, with a rebalancingPolicy and
// further fields of its scaledObjectSpec.
func (q *space) object(members, policy, fields string) {
	q.t.Helper()
	q.apply(q.t, q.namespace, `apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: nginx}
spec:
  memberClusters: [`+members+`]
  rebalancingPolicy: {`+policy+`}
  scaledObjectSpec:
    pollingInterval: 1
    maxReplicaCount: 20
    scaleTargetRef: {name: nginx}
    triggers: [{type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: queue, key: waiting, targetValue: "1"}}]
`+fields)
}

// shared waits until the first two members have these replicas.
func (q *space) shared(want ...int) {
	q.t.Helper()
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, want, []int{q.replicas(t, one, "nginx"), q.replicas(t, two, "nginx")})
	})
}

// A member without the Deployment costs the others nothing, and neither does one that
// creates no pods. When its replicas exist, the others give theirs up.
func (s *fixture) growsFirst(t *testing.T) {
	q := s.space(t, "grows")
	q.waiting("queue", 10)
	q.deployment(one, "nginx")
	q.object("{name: "+one+"}, {name: "+two+"}", "gracePeriod: 2s", "")
	s.start(t, "-namespace", q.namespace)
	has := func(t require.TestingT, member string, want int) {
		require.Equal(t, want, q.replicas(t, member, "nginx"))
	}
	q.becomes(func(t *assert.CollectT) {
		has(t, one, 10)
		m := q.member(t, dso, "nginx", two)
		require.Equal(t, "WorkloadMissing", m["reason"])
		require.Contains(t, m["description"], "does not have the workload")
		q.told(t, "nginx", "Warning MemberExcluded", two)
	})
	q.stays(4*time.Second, func(t require.TestingT) { has(t, one, 10) })

	cluster.Quota(t, q.members[two].client, q.namespace, "none", corev1.ResourcePods, "0")
	q.deployment(two, "nginx")
	q.becomes(func(t *assert.CollectT) { has(t, two, 5) })
	q.stays(4*time.Second, func(t require.TestingT) { has(t, one, 10) })
	require.NoError(t, q.members[two].client.CoreV1().ResourceQuotas(q.namespace).Delete(t.Context(), "none", metav1.DeleteOptions{}))
	q.shared(5, 5)
}

// A member that leaves the list is scaled to 0 when its replicas exist elsewhere, and
// events say so.
func (s *fixture) leaves(t *testing.T) {
	q := s.space(t, "leaves")
	q.waiting("queue", 6)
	for _, name := range names {
		q.deployment(name, "nginx")
	}
	q.object("{name: "+one+"}, {name: "+two+"}", "", "")
	p := s.start(t, "-namespace", q.namespace)
	q.shared(3, 3)
	p.Stop() // what it needs to know is in the status
	q.object("{name: "+one+"}", "", "")
	s.start(t, "-namespace", q.namespace)
	q.shared(6, 0)
	q.becomes(func(t *assert.CollectT) {
		q.told(t, "nginx", "Normal MemberNotListed", two)
		q.told(t, "nginx", "Normal MemberReleased", two)
		require.Empty(t, q.member(t, dso, "nginx", two))
	})
	_, err := q.members[three].client.AppsV1().Deployments(q.namespace).UpdateScale(t.Context(), "nginx",
		&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "nginx", Namespace: q.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}, metav1.UpdateOptions{})
	require.NoError(t, err)
	q.stays(3*time.Second, func(t require.TestingT) {
		require.Equal(t, 2, q.replicas(t, three, "nginx"), "it was never a member")
	})
}

// The HorizontalPodAutoscaler of KEDA writes the number: from 0 to 1, 10, 1 and 0. While KEDA's operator or its metrics server
// is away the number stays, which the status reports, and is right again when both are back.
func TestDistributedScaledObject(t *testing.T) {
	s := newFixture(t, one, two)
	s.join(t)
	q := s.space(t, "scales")
	q.deployment(one, "nginx")
	q.deployment(two, "nginx")
	q.object("{name: "+one+", weight: 4}, {name: "+two+", weight: 6}", "", "    cooldownPeriod: 3\n"+
		"    advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 0}}}}")
	s.start(t, "-namespace", q.namespace)
	ready := func(want string) {
		t.Helper()
		q.becomes(func(t *assert.CollectT) {
			ready, why := q.condition(t, dso, "nginx", "Ready")
			require.Equal(t, want, ready, why)
		})
	}
	become := func(items int, want ...int) {
		t.Helper()
		begin := time.Now()
		q.waiting("queue", items)
		q.shared(want...)
		t.Logf("%d items: %v replicas after %v", items, want, time.Since(begin).Round(time.Millisecond))
	}
	become(1, 0, 1)
	ready("True Ready")
	become(10, 4, 6)
	become(1, 0, 1)
	become(0, 0, 0)
	become(10, 4, 6)

	s.operator.Stop() // the HorizontalPodAutoscaler waits a minute for its answer
	q.waiting("queue", 5)
	q.stays(3*time.Second, func(t require.TestingT) {
		require.Equal(t, []int{4, 6}, []int{q.replicas(t, one, "nginx"), q.replicas(t, two, "nginx")})
	})
	s.operator.Restart(t)
	q.shared(2, 3)
	ready("True Ready")
	s.metrics.Stop()
	ready("Unknown KEDAUnavailable")
	q.waiting("queue", 10)
	s.metrics.Restart(t)
	q.shared(4, 6)
	ready("True Ready")
}

// A formula of two triggers decides the number for all members. Without demand the number is the idle
// count after the cooldown, and the members have their own counts again at the end.
func (s *fixture) scalesLikeKEDA(t *testing.T) {
	q := s.space(t, "like-keda")
	q.waiting("a", 3)
	q.waiting("b", 5)
	for member, replicas := range map[string]int32{one: 2, two: 1} {
		q.deployment(member, "nginx")
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "nginx", Namespace: q.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		_, err := q.members[member].client.AppsV1().Deployments(q.namespace).UpdateScale(t.Context(), "nginx", scale, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	q.apply(t, q.namespace, `apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: nginx}
spec:
  memberClusters: [{name: `+one+`}, {name: `+two+`}]
  scaledObjectSpec:
    pollingInterval: 1
    cooldownPeriod: 3
    minReplicaCount: 4
    idleReplicaCount: 0
    maxReplicaCount: 20
    scaleTargetRef: {name: nginx}
    advanced: {restoreToOriginalReplicaCount: true, scalingModifiers: {formula: a + b, target: "1"}}
    triggers:
      - {name: a, type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: a, key: waiting, targetValue: "1"}}
      - {name: b, type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: b, key: waiting, targetValue: "1"}}`)
	s.start(t, "-namespace", q.namespace)
	q.shared(4, 4)
	q.becomes(func(t *assert.CollectT) {
		active, _ := q.condition(t, dso, "nginx", "ScalingActive")
		require.Equal(t, "True ValidMetricFound", active)
		require.EqualValues(t, 8, q.status(t, dso, "nginx")["replicas"])
	})
	empty := time.Now()
	q.waiting("a", 0)
	q.waiting("b", 0)
	q.shared(0, 0)
	require.GreaterOrEqual(t, time.Since(empty), 1500*time.Millisecond, "the cooldown, from the last poll with items")
	objects := q.dynamic.Resource(dso).Namespace(q.namespace)
	require.NoError(t, objects.Delete(t.Context(), "nginx", metav1.DeleteOptions{}))
	q.shared(2, 1)
	q.becomes(func(t *assert.CollectT) {
		for _, resource := range []schema.GroupVersionResource{dso, api.ScaledObjects} {
			_, err := q.dynamic.Resource(resource).Namespace(q.namespace).Get(q.t.Context(), "nginx", metav1.GetOptions{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
		}
	})
}

// If reads fail more often than failureThreshold, the number is that of the fallback, and the
// status reports it; the next read that succeeds ends it.
func (s *fixture) fallsBack(t *testing.T) {
	q := s.space(t, "falls-back")
	q.waiting("queue", 3)
	q.deployment(one, "nginx")
	q.object("{name: "+one+"}", "", "    minReplicaCount: 1\n    fallback: {failureThreshold: 3, replicas: 6}")
	s.start(t, "-namespace", q.namespace)
	has := func(replicas int, fallback string) {
		t.Helper()
		q.becomes(func(t *assert.CollectT) {
			condition, _ := q.condition(t, dso, "nginx", "Fallback")
			require.Regexp(t, "^"+fallback, condition)
			require.Equal(t, replicas, q.replicas(t, one, "nginx"))
		})
	}
	has(3, "False")
	require.NoError(t, s.home.client.CoreV1().ConfigMaps(q.namespace).Delete(t.Context(), "queue", metav1.DeleteOptions{}))
	has(6, "True")
	q.waiting("queue", 7)
	has(7, "False")
}

// While the demand alternates within the window of the HorizontalPodAutoscaler, the number stays, and the status
// reports why.
func (s *fixture) holds(t *testing.T) {
	q := s.space(t, "holds")
	q.waiting("queue", 8)
	q.deployment(one, "nginx")
	q.object("{name: "+one+"}", "", "    minReplicaCount: 1\n    advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 8}}}}")
	s.start(t, "-namespace", q.namespace)
	has := func(t require.TestingT, replicas int) { require.Equal(t, replicas, q.replicas(t, one, "nginx")) }
	q.becomes(func(t *assert.CollectT) { has(t, 8) })
	for _, n := range []int{0, 8, 0, 8, 0} {
		q.waiting("queue", n)
		q.stays(2*time.Second, func(t require.TestingT) { has(t, 8) })
	}
	q.becomes(func(t *assert.CollectT) {
		able, _ := q.condition(t, dso, "nginx", "AbleToScale")
		require.Equal(t, "True ScaleDownStabilized", able)
		has(t, 8)
	})
	q.becomes(func(t *assert.CollectT) { has(t, 1) })
}

// A StatefulSet, in a namespace of its own on one member.
func (s *fixture) statefulSets(t *testing.T) {
	q := s.space(t, "sets")
	_, err := s.members[two].client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "sets-there"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	q.waiting("queue", 5)
	q.workload(one, "StatefulSet", q.namespace, "db")
	q.workload(two, "StatefulSet", "sets-there", "db")
	q.apply(t, q.namespace, `apiVersion: keda.kedify.io/v1alpha1
kind: DistributedScaledObject
metadata: {name: db}
spec:
  memberClusters: [{name: `+one+`, weight: 4}, {name: `+two+`, weight: 6, targetNamespace: sets-there}]
  scaledObjectSpec:
    pollingInterval: 1
    scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}
    triggers: [{type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: queue, key: waiting, targetValue: "1"}}]`)
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) {
		a, err := q.members[one].client.AppsV1().StatefulSets(q.namespace).Get(q.t.Context(), "db", metav1.GetOptions{})
		require.NoError(t, err)
		b, err := q.members[two].client.AppsV1().StatefulSets("sets-there").Get(q.t.Context(), "db", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, []int32{2, 3}, []int32{*a.Spec.Replicas, *b.Spec.Replicas})
	})
}
