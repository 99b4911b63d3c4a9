package member

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// Of an API server's objects all that this package and adapter read is decoded, and nothing else.
func TestTrimmedObjects(t *testing.T) {
	at := metav1.Unix(1700000000, 0)
	whole := metav1.ObjectMeta{
		Name: "a", Namespace: "b", UID: "c", ResourceVersion: "7", Generation: 3, CreationTimestamp: at, DeletionTimestamp: &at,
		Labels:          map[string]string{LabelHome: "h", batchv1.JobNameLabel: "a", "job-name": "a", "controller-uid": "u", "team": "x"},
		Annotations:     map[string]string{prefix + "generation": "3", "k8s.io/initial-events-end": "true", "note": "x"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "n", UID: "u", Controller: new(true)}},
		Finalizers:      []string{"x"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}
	read := *whole.DeepCopy()
	delete(read.Labels, "team")
	delete(read.Annotations, "note")
	read.Finalizers, read.ManagedFields = nil, nil
	container := corev1.ContainerStatus{Name: "c", Image: "i", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "r", Message: "m"}}}
	waits := corev1.ContainerStatus{State: container.State}
	pod := func(m metav1.ObjectMeta, spec corev1.PodSpec, s corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: m, Spec: spec, Status: corev1.PodStatus{
			Phase: corev1.PodPending, Reason: "r", Message: "m", ContainerStatuses: []corev1.ContainerStatus{s}, InitContainerStatuses: []corev1.ContainerStatus{s},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at, Reason: "r", Message: "m"}},
		}}
	}
	job := func(m metav1.ObjectMeta, template corev1.PodTemplateSpec) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Suspend: new(true), TTLSecondsAfterFinished: new(int32(5)), Template: template}, Status: batchv1.JobStatus{
			Active: 1, Succeeded: 2, Failed: 3, Terminating: new(int32(4)), Ready: new(int32(5)), StartTime: &at, CompletionTime: &at,
			Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: at, Reason: "r", Message: "m"}},
		}}
	}
	spec := corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}}
	page := metav1.ListMeta{ResourceVersion: "7", Continue: "more", RemainingItemCount: new(int64(9))}
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for _, c := range []struct{ whole, read runtime.Object }{
		{job(whole, corev1.PodTemplateSpec{Spec: spec}), job(read, corev1.PodTemplateSpec{})},
		{pod(whole, spec, container), pod(read, corev1.PodSpec{NodeName: "n"}, waits)},
		{&corev1.Namespace{ObjectMeta: whole, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"x"}}}, &corev1.Namespace{ObjectMeta: read}},
		{&corev1.EventList{ListMeta: page, Items: []corev1.Event{{InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: "a", Namespace: "b"}, Reason: "r", Message: "m", Source: corev1.EventSource{Host: "x"}}}},
			&corev1.EventList{ListMeta: page, Items: []corev1.Event{{InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: "a", Namespace: "b"}, Reason: "r", Message: "m"}}}},
		{&batchv1.JobList{ListMeta: page, Items: []batchv1.Job{*job(whole, corev1.PodTemplateSpec{Spec: spec})}}, &batchv1.JobList{ListMeta: page, Items: []batchv1.Job{*job(read, corev1.PodTemplateSpec{})}}},
		{&metav1.Status{Status: "Failure", Message: "m", Reason: "r", Code: 410, Details: &metav1.StatusDetails{Name: "a", Kind: "jobs", RetryAfterSeconds: 3, UID: "u"}},
			&metav1.Status{Status: "Failure", Message: "m", Reason: "r", Code: 410, Details: &metav1.StatusDetails{Name: "a", Kind: "jobs", RetryAfterSeconds: 3, UID: "u"}}},
	} {
		kinds, _, err := scheme.Scheme.ObjectKinds(c.whole)
		require.NoError(t, err)
		kind := kinds[0]
		if _, is := c.whole.(*metav1.Status); is {
			kind.Version, kind.Group = "v1", ""
		}
		c.whole.GetObjectKind().SetGroupVersionKind(kind)
		var sent bytes.Buffer
		require.NoError(t, codec.Encode(c.whole, &sent))
		trimmed, err := (&memory{}).trim(bufio.NewReader(&sent), 1)
		require.NoError(t, err)
		got, _, err := codec.Decode(trimmed, nil, nil)
		require.NoError(t, err)
		got.GetObjectKind().SetGroupVersionKind(kind)
		c.read.GetObjectKind().SetGroupVersionKind(kind)
		require.Equal(t, c.read, got, "%T", c.whole)
	}
}
