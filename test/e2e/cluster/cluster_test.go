package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// Whatever has been answered is counted, with its user and status. What else a cluster does is used by the tests of
// what runs on it.
func TestRequestsAreComplete(t *testing.T) {
	c := cluster.Start(t)
	client, template := c.Client(t), corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}}}}
	for i := range 200 {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "j-"}, Spec: batchv1.JobSpec{Template: template}}
		_, err := client.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, 2*(i+1), c.Count(t, func(r cluster.Request) bool { return r.Resource == "jobs" }))
	}
	ann, err := kubernetes.NewForConfig(c.User("ann"))
	require.NoError(t, err)
	err = ann.BatchV1().Jobs("default").Delete(t.Context(), "j", metav1.DeleteOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.Equal(t, 1, c.Count(t, func(r cluster.Request) bool {
		return r.User == "ann" && r.Verb == "delete" && r.Name == "j" && r.Code == 403
	}))
}
