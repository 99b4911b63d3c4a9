package cluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

func eventually(t *testing.T, such func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !such(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "not within %v", soon)
	}
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func namespace(t *testing.T, c *cluster.Cluster) string {
	ns, err := c.Client(t).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return ns.Name
}

func grant(t *testing.T, client kubernetes.Interface, ns, group string, rule rbacv1.PolicyRule) {
	meta := metav1.ObjectMeta{Name: group}
	_, err := client.RbacV1().Roles(ns).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: group}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: group}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func pod(name, run string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"run": run}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
}

// job has no name, but one that the server makes up, if name is "".
func job(name, run string) *batchv1.Job {
	p, none := pod("", run), int32(0)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, GenerateName: "j-"},
		Spec: batchv1.JobSpec{
			BackoffLimit: &none, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec},
		},
	}
}

func createJob(t *testing.T, client kubernetes.Interface, ns, name, run string) {
	t.Helper()
	_, err := client.BatchV1().Jobs(ns).Create(t.Context(), job(name, run), metav1.CreateOptions{})
	require.NoError(t, err)
}

func create(t *testing.T, client kubernetes.Interface, ns string, pod *corev1.Pod) {
	t.Helper()
	_, err := client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// get returns nil if there is no such pod.
func get(t *testing.T, client kubernetes.Interface, ns, name string) *corev1.Pod {
	t.Helper()
	p, err := client.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(t, err)
	return p
}

func pods(t *testing.T, client kubernetes.Interface, ns string) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func podOf(t *testing.T, client kubernetes.Interface, ns, job string) corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	require.NoError(t, err)
	require.NotEmpty(t, list.Items)
	return list.Items[0]
}

// running waits until so many pods run.
func running(t *testing.T, client kubernetes.Interface, ns string, n int) {
	t.Helper()
	eventually(t, func() bool {
		have := 0
		for _, p := range pods(t, client, ns) {
			if p.Status.Phase == corev1.PodRunning {
				have++
			}
		}
		return have == n
	})
}

func hasCondition(t *testing.T, client kubernetes.Interface, ns, name string, condition batchv1.JobConditionType) bool {
	t.Helper()
	j, err := client.BatchV1().Jobs(ns).Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	for _, c := range j.Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func completes(t *testing.T, client kubernetes.Interface, ns, name string) {
	t.Helper()
	eventually(t, func() bool { return hasCondition(t, client, ns, name, batchv1.JobComplete) })
}
