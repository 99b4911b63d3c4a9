package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// soon is the longest that a test waits for what the cluster does.
const soon = 45 * time.Second

// TestCluster runs most tests against one cluster, each in its own namespace.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.WithControllers("deployment-controller", "replicaset-controller"))
	c.Kubelet(t, fate)
	for name, test := range map[string]func(*testing.T, *cluster.Cluster, string){
		"pods": testPods, "deadline": testDeadline, "deleted jobs": testDeletedJobs, "grace": testGrace,
		"replacement": testReplacement, "finalizer": testFinalizer,
		"deployment": testDeployment, "user": testUser, "requests": testRequests, "quota": testQuota,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, c, namespace(t, c))
		})
	}
}

// fate is what the label run of a pod asks for.
func fate(pod *corev1.Pod) cluster.Run {
	switch pod.Labels["run"] {
	case "short":
		return cluster.Run{Start: 100 * time.Millisecond, Work: 500 * time.Millisecond}
	case "fail":
		return cluster.Run{Work: 100 * time.Millisecond, Exit: 3}
	case "never":
		return cluster.Run{Start: -1}
	}
	return cluster.Run{Work: -1}
}

func TestTwoClusters(t *testing.T) {
	t.Parallel()
	a, b := cluster.Start(t), cluster.Start(t)
	ns := namespace(t, a)
	_, err := b.Client(t).CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.NotEqual(t, a.Folder(), b.Folder())
}

// A killed API server comes back with what it had, and everybody finds back to it.
func TestAPIServerRestart(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t)
	c.Kubelet(t, func(pod *corev1.Pod) cluster.Run {
		if pod.Labels["run"] == "short" {
			return cluster.Run{Work: 3 * time.Second}
		}
		return cluster.Run{}
	})
	ns, client := namespace(t, c), c.Client(t)
	creations := func() int {
		return c.Count(t, func(r cluster.Request) bool { return r.Verb == "create" && r.Resource == "jobs" && r.Code == 201 })
	}
	createJob(t, client, ns, "before", "short")
	running(t, client, ns, 1)
	c.KillAPIServer()
	_, err := client.BatchV1().Jobs(ns).Get(t.Context(), "before", metav1.GetOptions{})
	require.Error(t, err)
	require.NoError(t, c.StartAPIServer(t.Context()))
	require.Equal(t, 1, creations())
	createJob(t, client, ns, "after", "at-once")
	require.Equal(t, 2, creations())
	for _, name := range []string{"before", "after"} {
		completes(t, client, ns, name)
	}
	require.NoError(t, c.StartAPIServer(t.Context()), "it runs")
}

// Pods that one stand-in has started are ended by the next.
func TestKubeletRestart(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t)
	ns, client := namespace(t, c), c.Client(t)
	createJob(t, client, ns, "j", "")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- c.RunPods(ctx, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: time.Hour} })
	}()
	running(t, client, ns, 1)
	stop()
	require.NoError(t, <-done)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: 2 * time.Second} })
	completes(t, client, ns, "j")
}

func testPods(t *testing.T, c *cluster.Cluster, ns string) {
	client := c.Client(t)
	createJob(t, client, ns, "good", "short")
	createJob(t, client, ns, "bad", "fail")
	createJob(t, client, ns, "waiting", "never")
	completes(t, client, ns, "good")
	eventually(t, func() bool {
		return hasCondition(t, client, ns, "bad", batchv1.JobFailed)
	})
	pod := podOf(t, client, ns, "bad")
	require.Equal(t, corev1.PodFailed, pod.Status.Phase)
	require.Equal(t, int32(3), pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	require.Equal(t, corev1.PodPending, podOf(t, client, ns, "waiting").Status.Phase)
}

func testDeadline(t *testing.T, c *cluster.Cluster, ns string) {
	client, seconds := c.Client(t), int64(1)
	p := pod("p", "")
	p.Spec.ActiveDeadlineSeconds = &seconds
	create(t, client, ns, p)
	eventually(t, func() bool {
		p := get(t, client, ns, "p")
		return p != nil && p.Status.Phase == corev1.PodFailed && p.Status.Reason == "DeadlineExceeded"
	})
}

// A running pod without a node goes away with its Job.
func testDeletedJobs(t *testing.T, c *cluster.Cluster, ns string) {
	client := c.Client(t)
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		createJob(t, client, ns, "j", "")
		running(t, client, ns, 1)
		require.NoError(t, client.BatchV1().Jobs(ns).Delete(t.Context(), "j", metav1.DeleteOptions{PropagationPolicy: &policy}))
		eventually(t, func() bool {
			_, err := client.BatchV1().Jobs(ns).Get(t.Context(), "j", metav1.GetOptions{})
			return apierrors.IsNotFound(err) && len(pods(t, client, ns)) == 0
		})
	}
}

// A pod that has a node gets a grace period, and is ended by the stand-in.
func testGrace(t *testing.T, c *cluster.Cluster, ns string) {
	client := c.Client(t)
	p := pod("p", "")
	p.Spec.NodeName = "none"
	create(t, client, ns, p)
	running(t, client, ns, 1)
	begin := time.Now()
	require.NoError(t, client.CoreV1().Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}))
	eventually(t, func() bool { return get(t, client, ns, "p") == nil })
	require.Less(t, time.Since(begin), 10*time.Second)
}

// The job controller waits for the end of a pod that it is to replace only once
// it has failed.
func testReplacement(t *testing.T, c *cluster.Cluster, ns string) {
	client, policy := c.Client(t), batchv1.Failed
	j := job("j", "")
	j.Spec.PodReplacementPolicy = &policy
	_, err := client.BatchV1().Jobs(ns).Create(t.Context(), j, metav1.CreateOptions{})
	require.NoError(t, err)
	running(t, client, ns, 1)
	first := podOf(t, client, ns, "j")
	require.NoError(t, client.CoreV1().Pods(ns).Delete(t.Context(), first.Name, metav1.DeleteOptions{}))
	eventually(t, func() bool { return get(t, client, ns, first.Name) == nil })
}

// A pod with a finalizer ends when it is deleted, and lingers until that is
// taken away.
func testFinalizer(t *testing.T, c *cluster.Cluster, ns string) {
	client := c.Client(t)
	p := pod("p", "")
	p.Finalizers = []string{"example.com/wait"}
	create(t, client, ns, p)
	running(t, client, ns, 1)
	require.NoError(t, client.CoreV1().Pods(ns).Delete(t.Context(), "p", metav1.DeleteOptions{}))
	eventually(t, func() bool { return get(t, client, ns, "p").Status.Phase == corev1.PodFailed })
	p = get(t, client, ns, "p")
	p.Finalizers = nil
	_, err := client.CoreV1().Pods(ns).Update(t.Context(), p, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return get(t, client, ns, "p") == nil })
}

func testDeployment(t *testing.T, c *cluster.Cluster, ns string) {
	client, two := c.Client(t), int32(2)
	labels := map[string]string{"run": "server"}
	template := pod("", "server")
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	_, err := client.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: template.Spec},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool {
		d, err := client.AppsV1().Deployments(ns).Get(t.Context(), "d", metav1.GetOptions{})
		require.NoError(t, err)
		return d.Status.AvailableReplicas == two
	})
	sets, err := client.AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, sets.Items, 1)
	running(t, client, ns, 2)
}

// A user may do what RBAC grants.
func testUser(t *testing.T, c *cluster.Cluster, ns string) {
	client := clientOf(t, c.User("ann", "readers"))
	list := func() error {
		_, err := client.BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
		return err
	}
	require.True(t, apierrors.IsForbidden(list()))
	grant(t, c.Client(t), ns, "readers", rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list"}})
	eventually(t, func() bool { return list() == nil })
	err := client.BatchV1().Jobs(ns).Delete(t.Context(), "j", metav1.DeleteOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.Equal(t, 1, c.Count(t, func(r cluster.Request) bool {
		return r.User == "ann" && r.Namespace == ns && r.Verb == "delete" && r.Resource == "jobs" && r.Name == "j" && r.Code == 403
	}))

	account := "system:serviceaccount:" + ns + ":reader"
	config, err := clientcmd.BuildConfigFromFlags("", c.UserKubeconfig(t, account))
	require.NoError(t, err)
	self, err := clientOf(t, config).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, account, self.Status.UserInfo.Username)
	require.ElementsMatch(t, []string{"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}, self.Status.UserInfo.Groups)
}

func testRequests(t *testing.T, c *cluster.Cluster, ns string) {
	config := c.User("bob", "system:masters")
	config.UserAgent = "counted"
	client := clientOf(t, config)
	begin := time.Now().Add(-time.Second)
	const jobs = 30
	for range jobs {
		createJob(t, client, ns, "", "never")
	}
	w, err := client.CoreV1().Pods(ns).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	w.Stop()
	_, err = client.CoreV1().Pods(ns).UpdateStatus(t.Context(), pod("none", ""), metav1.UpdateOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	counts := make(map[[4]string]int)
	for _, r := range c.Requests(t) {
		if r.User == "bob" {
			counts[[4]string{r.Verb, r.Resource, r.Subresource, r.Namespace}]++
			require.Equal(t, "counted", r.UserAgent)
			require.WithinRange(t, r.Time, begin, time.Now())
		}
	}
	require.Equal(t, map[[4]string]int{
		{"create", "jobs", "", ns}:       jobs,
		{"watch", "pods", "", ns}:        1,
		{"update", "pods", "status", ns}: 1,
	}, counts)
	require.Zero(t, c.Count(t, func(r cluster.Request) bool { return r.Verb == "update" && r.Resource == "jobs" }), "the job controller's")
}

// Whatever has been answered is counted.
func TestRequestsAreComplete(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t)
	ns, client := namespace(t, c), c.Client(t)
	for i := range 200 {
		createJob(t, client, ns, "", "")
		_, err := client.BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, 2*(i+1), c.Count(t, func(r cluster.Request) bool { return r.Resource == "jobs" }))
	}
}

// The quota controller counts Jobs, and the API server rejects a Job above the quota with its words.
func testQuota(t *testing.T, c *cluster.Cluster, namespace string) {
	client := c.Client(t)
	cluster.Quota(t, client, namespace, "jobs", "count/jobs.batch", "2")
	used := func() int64 {
		q, err := client.CoreV1().ResourceQuotas(namespace).Get(t.Context(), "jobs", metav1.GetOptions{})
		require.NoError(t, err)
		is := q.Status.Used["count/jobs.batch"]
		return is.Value()
	}
	create := func(name string) error {
		_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{
			Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "c"}}}},
		}}, metav1.CreateOptions{})
		return err
	}
	require.NoError(t, create("a"))
	require.NoError(t, create("b"))
	err := create("c")
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "exceeded quota: jobs, requested: count/jobs.batch=1, used: count/jobs.batch=2, limited: count/jobs.batch=2")
	require.NoError(t, client.BatchV1().Jobs(namespace).Delete(t.Context(), "a", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	require.Eventually(t, func() bool { return used() == 1 }, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return create("c") == nil }, time.Minute, 50*time.Millisecond, "the API server reads the quota somewhat later")
}
