package member_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/term"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// Where pods are watched, Jobs are pending as their conditions say. Pods of others' Jobs do not count.
func TestPods(t *testing.T) {
	w := newWorld(t, member.Options{Pods: true}, "a").ready()
	w.target.PendingPodConditions = []string{"example.com/Consumed"}
	w.track()
	w.demand = 1
	noErrors(t, w.poll())
	w.shown(1)
	j := w.jobs("a")[0]
	pods := w.sites["a"].CoreV1().Pods(j.Namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "pod", Labels: j.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true)}},
	}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	phase := func() jobs.Phase { return w.observe()["a"].Jobs[0].Phase }
	require.Equal(t, jobs.Pending, phase())
	pod.Status.Conditions = []corev1.PodCondition{{Type: "example.com/Consumed", Status: corev1.ConditionTrue}}
	_, err = pods.Update(t.Context(), pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.eventually("it runs", func() bool { return phase() == jobs.Running })
	selectors := 0
	for _, action := range w.sites["a"].Actions() { // the fake's watches heed no selector
		if list, is := action.(ktesting.ListAction); is && list.GetResource().Resource == "pods" {
			require.Equal(t, member.LabelHome+"="+home, list.GetListRestrictions().Labels.String())
			selectors++
		}
	}
	require.Positive(t, selectors)
	require.Equal(t, home, pod.Labels[member.LabelHome])
}

// Dialing makes no request, and a member that is away is not reachable.
func TestDial(t *testing.T) {
	c, err := member.Dial("a", &rest.Config{Host: "127.0.0.1:1"}, member.Options{Terms: term.Alone(), Home: home, Timeout: time.Second})
	require.NoError(t, err)
	require.Equal(t, "a", c.Name())
	var all member.Clusters
	require.NoError(t, all.Add(t.Context(), c))
	require.ErrorContains(t, c.Probe(t.Context()), "connection refused")
	require.Equal(t, []jobs.Cluster{{Name: "a"}}, all.Observe(owner).Clusters)
	_, errs := all.ObserveReplicas(t.Context(), member.Workload{}, member.ReplicasPoll{})
	require.Error(t, errs["a"])
	_, err = member.Dial("a", &rest.Config{Host: "a b"}, member.Options{Terms: term.Alone(), Home: home})
	require.ErrorContains(t, err, "member a: ")
}
