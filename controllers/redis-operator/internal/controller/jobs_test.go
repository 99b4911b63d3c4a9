package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scaledjob/scaledjob/adapter"

	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

func scaledJob() *v1.ScaledJob {
	sj := &v1.ScaledJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "production", Name: "image-processor", UID: "0f8fad5b-d9cb-469f-a165-70867728950e", Generation: 3,
		},
		Spec: *spec(10, 0, 20),
	}
	sj.Spec.JobTemplate.Labels = map[string]string{"team": "images", LabelName: "somebody-else"}
	sj.Spec.JobTemplate.Annotations = map[string]string{"why": "a test"}
	sj.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"app": "worker"}
	sj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	sj.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "myapp/image-worker:v1.2.0"}}
	return sj
}

func TestTarget(t *testing.T) {
	sj := scaledJob()
	target, err := read(sj)
	require.NoError(t, err)
	job := target.NewJob(7)
	require.Equal(t, map[string]string{"team": "images", LabelName: "image-processor", adapter.LabelOwner: string(sj.UID)}, job.Labels)
	require.Equal(t, "a test", job.Annotations["why"])
	require.Equal(t, "3", job.Annotations[adapter.AnnotationGeneration])
	require.Equal(t, []metav1.OwnerReference{*metav1.NewControllerRef(sj, v1.GroupVersion.WithKind("ScaledJob"))}, job.OwnerReferences)
	require.Equal(t, sj.Spec.JobTemplate.Spec, job.Spec)

	target.Job.Labels["team"] = "another"
	target.Job.Spec.Template.Labels["app"] = "another"
	target.Job.Spec.Template.Spec.Containers[0].Image = "another"
	require.Equal(t, scaledJob(), sj, "no memory is shared")
}

func TestAnyName(t *testing.T) {
	for _, name := range []string{"a", "image-processor", "a.b.c", strings.Repeat("a", 253), strings.Repeat("a", 62) + ".b"} {
		sj := scaledJob()
		sj.Name = name
		target, err := read(sj)
		require.NoError(t, err)
		require.Empty(t, validation.IsDNS1123Label(target.NewJob(1<<40).Name))
	}
}
