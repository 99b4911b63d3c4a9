package member_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/rest"
	ktesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/member"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// An endless API server has another page of Jobs after each page.
type endless struct {
	kubernetes.Interface
	pages *atomic.Int64
	items int // of a page
}

// IsWatchListSemanticsUnSupported is what client-go asks fake clients.
func (e endless) IsWatchListSemanticsUnSupported() bool { return true }

func (e endless) BatchV1() batchclient.BatchV1Interface {
	return endlessBatch{e.Interface.BatchV1(), e}
}

type endlessBatch struct {
	batchclient.BatchV1Interface
	endless
}

func (e endlessBatch) Jobs(namespace string) batchclient.JobInterface {
	return endlessJobs{e.BatchV1Interface.Jobs(namespace), e.endless}
}

type endlessJobs struct {
	batchclient.JobInterface
	endless
}

func (e endlessJobs) List(_ context.Context, o metav1.ListOptions) (*batchv1.JobList, error) {
	page := &batchv1.JobList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	if o.Limit == 1 {
		return page, nil // the health check
	}
	n := e.pages.Add(1)
	page.Continue = "more"
	for i := range e.items {
		page.Items = append(page.Items, batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job-", n, "-", i), UID: types.UID(fmt.Sprint(n, i))}})
	}
	return page, nil
}

// A member whose list of Jobs never ends is unreachable, says why, and delays no other. Nor
// does the deletion of Jobs read it without end.
func TestEndlessList(t *testing.T) {
	for _, items := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, slow, "b")
			var pages atomic.Int64
			w.sites["a"] = newSite("a", w.sites["b"].uids)
			c, err := member.New("a", both(endless{w.sites["a"], &pages, items}), member.Options{Terms: requests.Alone(), Home: home, Interval: time.Second, MaxJobs: 1000})
			require.NoError(t, err)
			require.NoError(t, w.all.Add(t.Context(), c))
			time.Sleep(30 * time.Second)
			require.LessOrEqual(t, pages.Load(), int64(1100))
			require.ErrorContains(t, w.all.Problems()["a"], "the member has more than 1000 Jobs of this hub; if it should, raise maxJobs of its registration")
			require.Equal(t, jobs.Reachable, w.observe()["b"].Reach)
			require.NotEqual(t, jobs.Reachable, w.observe()["a"].Reach)
			pages.Store(0)
			for _, cleanup := range w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides) {
				if cleanup.Cluster == "a" {
					require.Error(t, cleanup.Err)
				}
			}
			require.LessOrEqual(t, pages.Load(), int64(1100))
			w.all.Remove("a")
			w.all.Remove("b")
		})
	}
}

// A watch that shows more Jobs than the member may have makes it unreachable.
func TestTooManyJobs(t *testing.T) {
	w := newWorld(t, member.Options{MaxJobs: 3, Pods: true}, "a").ready()
	for i := range 5 {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("a-", i), Labels: map[string]string{member.LabelHome: home}}}
		_, err := w.sites["a"].Clientset.BatchV1().Jobs("shop").Create(t.Context(), j, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	w.eventually("it is unreachable", func() bool { return w.observe()["a"].Reach != jobs.Reachable })
	require.ErrorContains(t, w.all.Problems()["a"], "more than 3 Jobs")

	// The arithmetic of the bounds does not overflow.
	w = newWorld(t, member.Options{MaxJobs: math.MaxInt, Pods: true}, "a").ready()
	w.demand = 5
	noErrors(t, w.poll())
	w.shown(5)
	require.Equal(t, jobs.Reachable, w.observe()["a"].Reach)
	for _, cleanup := range w.all.DeleteJobs(t.Context(), w.target.Owner, w.overrides) {
		require.NoError(t, cleanup.Err)
		require.Equal(t, 5, cleanup.Left)
	}
}

// The pods of Jobs with several at once fit into their owner's share, also of Jobs that have none yet.
func TestParallelPods(t *testing.T) {
	w := newWorld(t, member.Options{MaxJobs: 40, Pods: true}, "a").ready()
	w.target.Job.Spec.Parallelism, w.target.PendingPodConditions = new(int32(5)), []string{"Ready"}
	require.NoError(t, w.all.Track(w.target, w.overrides))
	w.demand = 30
	for range 4 {
		noErrors(t, w.poll())
		w.shown(len(w.jobs("a")))
	}
	for _, j := range w.jobs("a") {
		w.pods("a", &j, 0, 5)
	}
	w.eventually("all run", func() bool {
		all := w.observe()["a"].Jobs
		return len(all) > 1 && !slices.ContainsFunc(all, func(j jobs.Job) bool { return j.Phase != jobs.Running })
	})
}

// Pods that anybody in another namespace labels as an owner's, or as those of owners that do not exist,
// are nobody's, however many they are, and whether they are listed or shown by a watch. An owner with more
// pods than the member may have gets no more Jobs there.
func TestForgedPods(t *testing.T) {
	o := member.Options{MaxJobs: 40, Pods: true, Key: []byte("the hub's")}
	w := newWorld(t, o, "a").ready()
	w.target.PendingPodConditions = []string{"Ready"}
	require.NoError(t, w.all.Track(w.target, w.overrides))
	w.demand = 1
	noErrors(t, w.poll())
	w.shown(1)
	forged := w.jobs("a")[0]
	forged.Namespace, forged.UID = "elsewhere", "forged"
	w.pods("a", &forged, 0, 30)
	for i := range 60 {
		forged.Spec.Template.Labels[adapter.LabelOwner] = fmt.Sprintf("00000000-0000-4000-9000-%012d", i)
		w.pods("a", &forged, i+1, 1)
	}
	own := w.jobs("a")[0]
	w.pods("a", &own, 0, 1)
	for range 2 {
		w.eventually("his own pod is shown", func() bool { return w.observe()["a"].Jobs[0].Phase == jobs.Running })
		require.Greater(t, *w.observe()["a"].MaxJobs, int64(3))
		w.add("a", o)
		w.ready()
	}
	w.pods("a", &own, 1, 90) // of many completions, or of failures that are ignored
	w.eventually("he gets no more Jobs there", func() bool { w.plan(); return w.decided.Members[0].Excluded == jobs.ReasonFull })
	require.Equal(t, jobs.Reachable, w.observe()["a"].Reach)
}

// A list of pods that never ends is given up, and names the selector.
func TestEndlessPods(t *testing.T) {
	pages, clients := 0, fake.NewClientset()
	clients.PrependReactor("list", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		pages++
		return true, &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "more"}}, nil
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	c, err := member.New("a", member.Clients{Requests: clients, Watches: fake.NewClientset(), Scales: &deployment{replicas: 1, selector: "app=nginx"}, Mapper: mapper},
		member.Options{Terms: requests.Alone(), Home: home, Pods: true, QPS: -1})
	require.NoError(t, err)
	var all member.Clusters
	require.NoError(t, c.Probe(t.Context()))
	require.NoError(t, all.Add(t.Context(), c))
	w := member.Workload{Namespace: "shop", Name: "nginx"}
	_, problems := all.ObserveReplicas(t.Context(), w, member.ReplicasPoll{})
	require.ErrorContains(t, problems["a"], "list pods of app=nginx: more than 100000; use a narrower selector")
	require.Equal(t, 1000, pages)
}

// A member that is another cluster than the registered one is unreachable. Of two that are
// one cluster, the one that was registered later is, or without a UID.
func TestIdentity(t *testing.T) {
	w := newWorld(t, member.Options{}, "a", "b", "c", "d").ready()
	for name, uid := range map[string]types.UID{"a": "one", "b": "one", "c": "three", "d": "one"} {
		system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}}
		_, err := w.sites[name].CoreV1().Namespaces().Create(t.Context(), system, metav1.CreateOptions{})
		require.NoError(t, err)
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
	w := newWorld(t, member.Options{Interval: 10 * time.Millisecond}, "a", "b")
	system := func(name string, uid types.UID) {
		namespaces := w.sites[name].CoreV1().Namespaces()
		_ = namespaces.Delete(t.Context(), "kube-system", metav1.DeleteOptions{}) // which may not exist
		_, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	system("a", "one")
	w.add("a", member.Options{Interval: 10 * time.Millisecond})
	w.ready()
	system("a", "two")
	w.eventually("it is another cluster", func() bool { return w.all.Problems()["a"] != nil })
	require.ErrorContains(t, w.all.Problems()["a"], `its namespace kube-system has UID "two", and the first contact has "one"`)
	require.NotContains(t, w.all.Problems(), "b", "it shows no UID")
	system("a", "one")
	w.eventually("it is back", func() bool { return w.observe()["a"].Reach == jobs.Reachable })
	system("b", "one")
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
	c, err := member.Dial("a", &rest.Config{Host: server.URL}, member.Options{Terms: requests.Alone(), Home: home})
	require.NoError(t, err)
	require.ErrorContains(t, c.Probe(t.Context()), "the member closed the connection without an answer")
}

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
	c, err := member.Dial("a", &rest.Config{Host: "127.0.0.1:1"}, member.Options{Terms: requests.Alone(), Home: home, Timeout: time.Second})
	require.NoError(t, err)
	require.Equal(t, "a", c.Name())
	var all member.Clusters
	require.NoError(t, all.Add(t.Context(), c))
	require.ErrorContains(t, c.Probe(t.Context()), "connection refused")
	require.Equal(t, []jobs.Cluster{{Name: "a"}}, all.Observe(owner).Clusters)
	_, errs := all.ObserveReplicas(t.Context(), member.Workload{}, member.ReplicasPoll{})
	require.Error(t, errs["a"])
	_, err = member.Dial("a", &rest.Config{Host: "a b"}, member.Options{Terms: requests.Alone(), Home: home})
	require.ErrorContains(t, err, "member a: ")
}
