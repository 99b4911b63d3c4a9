package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Quota creates a quota of a resource, such as pods or count/jobs.batch, and waits until the
// quota controller has counted: the API server enforces it from then on.
func Quota(t testing.TB, client kubernetes.Interface, namespace, name string, resourceName corev1.ResourceName, hard string) {
	t.Helper()
	quotas := client.CoreV1().ResourceQuotas(namespace)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{resourceName: resource.MustParse(hard)}},
	}, metav1.CreateOptions{})
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		q, found := quotas.Get(t.Context(), name, metav1.GetOptions{})
		if _, counted := q.Status.Used[resourceName]; found == nil && counted {
			return
		}
	}
	t.Fatalf("the quota %s is not counted within a minute: %v", name, err)
}
