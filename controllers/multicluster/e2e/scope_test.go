package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// A quota of no pods stops one owner on every member, and no other owner: not by his stuck
// Jobs, nor by the longest taints.
func (s *fixture) keepsApart(t *testing.T) {
	a, b := s.space(t, "team-a"), s.space(t, "team-b")
	for _, name := range names[:2] {
		cluster.Quota(t, s.members[name].client, a.namespace, "none", corev1.ResourcePods, "0")
	}
	a.waiting("queue", 4)
	a.job("work", weights(1, 1)+"\n  clusterScheduling: {failoverPolicy: {gracePeriod: 2s, softTaintDuration: 0s, hardTaintDuration: 100h}}", "")
	s.start(t)
	a.becomes(func(t *assert.CollectT) {
		for _, name := range names[:2] {
			m := a.member(t, dsj, "work", name)
			require.Equal(t, true, m["hardTainted"])
			require.Equal(t, "Ready", m["state"])
			require.Contains(t, m["description"], "Jobs of this owner do not start on the cluster")
			require.Contains(t, m["description"], "exceeded quota: none")
		}
	})
	a.logs("quota", dsj, "work")
	c := s.space(t, "team-c")
	c.waiting("queue", 2)
	c.job("work", "  memberClusters: [{name: "+one+"}]\n  clusterScheduling: {failoverPolicy: {gracePeriod: 2s}}", one+`: "-1s"`)
	c.becomes(func(t *assert.CollectT) {
		pods := c.members[one].client.CoreV1().Pods(c.namespace)
		l, err := pods.List(c.t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range l.Items {
			l.Items[i].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "processor", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: `image "example.com/typo:1" not found`},
			}}}
			_, err := pods.UpdateStatus(c.t.Context(), &l.Items[i], metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		require.Contains(t, c.member(t, dsj, "work", one)["description"], `2 ErrImagePull: image "example.com/typo:1" not found`)
	})
	c.logs("image typo", dsj, "work")
	b.waiting("queue", 6)
	b.job("work", weights(1, 1), "")
	b.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{3, 3}, b.counts(t, "work", one, two))
		ready, why := b.condition(t, dsj, "work", "Ready")
		require.Equal(t, "True Ready", ready, why)
	})
}

// Pods that never become ready take no replica from the member whose pods are, and the
// status says why. When they start, the member has its share.
func (s *fixture) readyPodsCount(t *testing.T) {
	q := s.space(t, "ready")
	q.waiting("queue", 8) // a ninth replica is more than the 10 % that the HorizontalPodAutoscaler tolerates
	q.deployment(one, "nginx")
	q.deployment(two, "nginx")
	starts := func(annotation string) {
		_, err := q.members[two].client.AppsV1().Deployments(q.namespace).Patch(t.Context(), "nginx", types.MergePatchType,
			[]byte(`{"spec":{"template":{"metadata":{"annotations":{"`+two+`":`+annotation+`}}}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	starts(`"-1s"`)
	q.object("{name: "+one+"}", "", "")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, 8, q.replicas(t, one, "nginx")) })
	q.object("{name: "+one+"}, {name: "+two+"}", "progressDeadline: 5s", "")
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, 8, q.replicas(t, one, "nginx"))
		require.Equal(t, 1, q.replicas(t, two, "nginx"), "one probes")
		m := q.member(t, dso, "nginx", two)
		require.Equal(t, "NoProgress", m["reason"])
		require.Contains(t, m["description"], "0 of 1 replica work")
	})
	q.stays(3*time.Second, func(t require.TestingT) { require.Equal(t, 8, q.replicas(t, one, "nginx")) })
	q.logs("member without capacity", dso, "nginx")
	starts("null")
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{4, 4}, []int{q.replicas(t, one, "nginx"), q.replicas(t, two, "nginx")})
	})
}

// A hub without its network says so, holds nothing against a member, and creates Jobs as
// soon as it has the network again.
func (s *fixture) losesNetwork(t *testing.T) {
	q := s.space(t, "network")
	q.waiting("queue", 2)
	q.job("work", weights(1, 1), "")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{1, 1}, q.counts(t, "work", one, two)) })
	for _, name := range names {
		q.away(name)
	}
	q.becomes(func(t *assert.CollectT) {
		ready, why := q.condition(t, dsj, "work", "Ready")
		require.Equal(t, "False HubMayBeCutOff", ready)
		require.Contains(t, why, "none of 3 members answers")
	})
	time.Sleep(5 * time.Second) // ten health checks
	require.Contains(t, q.member(t, dsj, "work", one)["description"], "unreachable")
	q.logs("dead network of the hub", dsj, "work")
	for _, name := range names {
		q.back(name)
	}
	q.waiting("queue", 6)
	q.becomes(func(t *assert.CollectT) { // whichever is back first
		counts := q.counts(t, "work", one, two)
		require.Equal(t, 6, counts[0]+counts[1])
	})
}

// The Jobs of a member that has not answered for lostAfter free their slots. When it
// returns, none is deleted and none is created.
func (s *fixture) losesJobs(t *testing.T) {
	q := s.space(t, "lost")
	q.waiting("queue", 10)
	q.job("work", weights(1, 1)+"\n  clusterScheduling: {failoverPolicy: {lostAfter: 5s}}", "", "maxReplicaCount: 10")
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{5, 5}, q.counts(t, "work", one, two))
		require.EqualValues(t, 0, q.status(t, dsj, "work")["pendingJobs"])
	})
	q.away(two)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{10}, q.counts(t, "work", one))
		require.EqualValues(t, 5, q.status(t, dsj, "work")["lostJobs"])
		_, why := q.condition(t, dsj, "work", "Ready")
		require.Contains(t, why, "5 lost Jobs there may run twice")
		require.Contains(t, q.member(t, dsj, "work", two)["description"], "the work of 5 lost Jobs there may run twice: work-")
	})
	q.logs("dead member", dsj, "work")
	q.back(two)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, "Ready", q.member(t, dsj, "work", two)["state"]) })
	q.stays(4*time.Second, func(t require.TestingT) { require.Equal(t, []int{10, 5}, q.counts(t, "work", one, two)) })
}

// Jobs whose owner does not exist any more stay, are counted, listed by a command, and deleted
// by another.
func (s *fixture) findsOrphans(t *testing.T) {
	q := s.space(t, "orphans")
	q.waiting("queue", 2)
	q.job("gone", weights(1), "")
	q.job("work", weights(1), "")
	p := s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{2}, q.counts(t, "gone", one))
		require.Equal(t, []int{2}, q.counts(t, "work", one))
	})
	p.Stop()
	objects := s.dynamic.Resource(dsj).Namespace(q.namespace)
	_, err := objects.Patch(t.Context(), "gone", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, objects.Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.EqualValues(t, 2, q.member(t, dsj, "work", one)["orphanedJobs"]) })
	require.Equal(t, []int{2}, q.counts(t, "gone", one))
	out, err := s.command(t, "list-orphans", one, "--keda-kubeconfig", s.home.Kubeconfig())
	require.NoError(t, err, out)
	require.Equal(t, 2, strings.Count(out, "orphans/gone"), out)
	require.NotContains(t, out, "orphans/work")
	out, err = s.command(t, "delete-orphans", one, "--keda-kubeconfig", s.home.Kubeconfig())
	require.NoError(t, err, out)
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{0}, q.counts(t, "gone", one))
		require.Nil(t, q.member(t, dsj, "work", one)["orphanedJobs"])
	})
	require.Equal(t, []int{2}, q.counts(t, "work", one))
}
