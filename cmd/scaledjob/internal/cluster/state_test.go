package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStates names what keeps Jobs from working, which Jobs, and who may have set it.
func TestStates(t *testing.T) {
	yes, manager, now := true, "example.com/other", metav1.Now()
	job := func(name string, change func(*Job)) *Job {
		j := &Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
		change(j)
		return j
	}
	o := Owned{Dump: Dump{Jobs: []*Job{
		job("a", func(j *Job) { j.Spec.Suspend, j.Labels = &yes, map[string]string{queueLabel: "q"} }),
		job("b", func(j *Job) { j.DeletionTimestamp, j.Finalizers = &now, []string{"example.com/hold"} }),
		job("c", func(j *Job) { j.Spec.ManagedBy = &manager }),
		job("d", func(*Job) {}),
		job("e", func(j *Job) {
			j.Spec.Suspend = &yes
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}),
		job("works", func(*Job) {}),
	}, Pods: []*Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"job-name": "d"}}, Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}}}}}
	var texts []string
	for _, s := range o.States() {
		texts = append(texts, s.Text)
	}
	require.Equal(t, []string{
		"1 Job is suspended (a): Kueue suspends Jobs until its queue admits them. KEDA counts suspended Jobs as running, and their deadlines do not run",
		"1 Job is being deleted (b), held by example.com/hold: KEDA counts a Job until it is gone",
		"1 Job is managed by another controller, example.com/other (c): Kubernetes starts no pods for such Jobs",
		"1 Job is unable to start a container (d ImagePullBackOff): KEDA counts such Jobs as running",
	}, texts)
}
