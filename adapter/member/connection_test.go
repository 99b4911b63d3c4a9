package member_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// Pods with the hub's label that are not of a Job of this hub count for nobody.
func TestForgedPods(t *testing.T) {
	o := member.Options{Pods: true, Key: []byte("the hub's")}
	w := newFixture(t, o, "a").ready()
	w.target.PendingPodConditions = []string{"Ready"}
	require.NoError(t, w.all.Track(w.target, w.overrides))
	w.demand = 1
	noErrors(t, w.poll())
	w.shown(1)
	forged := w.jobs("a")[0]
	forged.Spec.Template.Labels[adapter.LabelOwner] = "00000000-0000-4000-9000-000000000001"
	w.pods("a", &forged, 0, 30)
	w.add("a", o) // as after a restart
	require.Equal(t, jobs.Pending, w.ready().observe()["a"].Jobs[0].Phase)
	own := w.jobs("a")[0]
	w.pods("a", &own, 1, 1)
	w.eventually("his own pod is shown", func() bool { return w.observe()["a"].Jobs[0].Phase == jobs.Running })
}

// A member that is another cluster than the registered one is unreachable. Of two that are
// one cluster, the one that was registered later is, or without a UID.
func TestIdentity(t *testing.T) {
	w := newFixture(t, member.Options{}, "a", "b", "c", "d").ready()
	for name, uid := range map[string]types.UID{"a": "one", "b": "one", "c": "three", "d": "one"} {
		w.sites[name].identify(t, uid)
	}
	now := time.Now()
	w.add("a", member.Options{UID: "one", Registered: now})
	w.add("b", member.Options{UID: "one", Registered: now.Add(-time.Hour)})
	w.add("c", member.Options{UID: "two"})
	w.add("d", member.Options{})
	w.eventually("each is judged", func() bool {
		seen := w.observe()
		return seen["a"].Reach != jobs.Reachable && seen["b"].Reach == jobs.Reachable && len(w.all.Problems()) == 3
	})
	require.ErrorContains(t, w.all.Problems()["a"], "it is the same cluster as member b, which was registered before")
	require.ErrorContains(t, w.all.Problems()["c"], `its namespace kube-system has UID "three", and its registration has "two"`)
	require.ErrorContains(t, w.all.Problems()["d"], "it is the same cluster as member")
	w.all.Remove("b")
	w.eventually("it is the only one", func() bool { return w.observe()["a"].Reach == jobs.Reachable })
}

// A member that was registered without a UID has the UID of the first contact, and keeps it.
func TestFirstContact(t *testing.T) {
	w := newFixture(t, member.Options{Interval: 10 * time.Millisecond}, "a", "b")
	w.sites["a"].identify(t, "one")
	w.add("a", member.Options{Interval: 10 * time.Millisecond})
	w.ready()
	w.sites["a"].identify(t, "two")
	w.eventually("it is another cluster", func() bool { return w.all.Problems()["a"] != nil })
	require.ErrorContains(t, w.all.Problems()["a"], `its namespace kube-system has UID "two", and the first contact has "one"`)
	require.NotContains(t, w.all.Problems(), "b", "it shows no UID")
	w.sites["a"].identify(t, "one")
	w.eventually("it is back", func() bool { return w.observe()["a"].Reach == jobs.Reachable })
	w.sites["b"].identify(t, "one")
	w.eventually("one of two is used", func() bool { return len(w.all.Problems()) == 1 })
	require.ErrorContains(t, w.all.Problems()["b"], "it is the same cluster as member a")
}

// A member that closes connections is described so, and not as a request that was not sent.
func TestClosedConnection(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			c.Close()
		}
	}))
	defer server.Close()
	c, err := member.Dial("a", &rest.Config{Host: server.URL}, member.Options{Terms: requests.OneShot(), Home: home})
	require.NoError(t, err)
	require.ErrorContains(t, c.Probe(t.Context()), "the member closed the connection without an answer")
}

// Where pods are watched, Jobs are pending as their conditions say. Pods of others' Jobs do not count.
func TestPods(t *testing.T) {
	w := newFixture(t, member.Options{Pods: true}, "a").ready()
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
	c, err := member.Dial("a", &rest.Config{Host: "127.0.0.1:1"}, member.Options{Terms: requests.OneShot(), Home: home, Timeout: time.Second})
	require.NoError(t, err)
	var all member.Clusters
	require.NoError(t, all.Add(t.Context(), c))
	require.ErrorContains(t, c.Probe(t.Context()), "connection refused")
	require.Equal(t, []jobs.Cluster{{Name: "a"}}, all.Observe(owner).Clusters)
	_, errs := all.ObserveReplicas(t.Context(), member.Workload{}, member.ReplicasPoll{})
	require.Error(t, errs["a"])
	_, err = member.Dial("a", &rest.Config{Host: "a b"}, member.Options{Terms: requests.OneShot(), Home: home})
	require.ErrorContains(t, err, "member a: ")
}
