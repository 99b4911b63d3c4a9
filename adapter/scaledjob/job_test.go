package scaledjob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
)

func config(t require.TestingT, s *manifest.ScaledJob) scaledjob.Config {
	c, err := scaledjob.Configure(s, nil)
	require.NoError(t, err)
	return c
}

func TestPrototype(t *testing.T) {
	s := read(t, minimal)
	s.Labels = map[string]string{
		"team": "shop", "secret": "x", "noisy": "y", manifest.LabelName: "other", "scaledjob.keda.sh/more": "z", "scaledjob.github.io/home": "west",
	}
	s.Annotations = map[string]string{
		"note": "n", manifest.AnnotationPaused: "false", corev1.LastAppliedConfigAnnotation: "{}",
		manifest.AnnotationExcludedLabels: "secret , noisy", manifest.AnnotationGeneration: "99", adapter.AnnotationTemplateHash: "1",
	}
	c := config(t, s)
	require.NoError(t, c.Target.Validate())
	j := c.Target.NewJob(7)
	require.Equal(t, map[string]string{"team": "shop", manifest.LabelName: "consumer", adapter.LabelOwner: string(s.UID)}, j.Labels)
	require.Equal(t, map[string]string{
		"note": "n", manifest.AnnotationGeneration: "2", adapter.AnnotationGeneration: "2",
	}, j.Annotations)
	require.Equal(t, "shop", j.Namespace)
	require.Equal(t, "ScaledJob", j.OwnerReferences[0].Kind)
	require.Equal(t, s.UID, j.OwnerReferences[0].UID)
	require.Equal(t, corev1.RestartPolicyOnFailure, j.Spec.Template.Spec.RestartPolicy)

	s.Spec.JobTargetRef.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	c = config(t, s)
	require.Equal(t, corev1.RestartPolicyNever, c.Target.NewJob(1).Spec.Template.Spec.RestartPolicy)

	for generation, want := range map[int64]string{1: "1", 34: "34"} {
		s.Generation = generation
		require.Equal(t, want, config(t, s).Target.Job.Annotations[manifest.AnnotationGeneration])
	}
	s.Generation = 0 // of a file
	require.NotContains(t, config(t, s).Target.Job.Annotations, manifest.AnnotationGeneration)
}

// A change of the prototype changes neither the ScaledJob nor another prototype.
func TestPrototypesShareNoMemory(t *testing.T) {
	s := read(t, with("  scalingStrategy: {pendingPodConditions: [Ready]}\n"))
	s.Labels, s.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
	want, first, second := s.DeepCopyObject(), config(t, s).Target, config(t, s).Target
	untouched := second.Job.DeepCopy()
	first.Job.Labels["a"], first.Job.Annotations["a"], first.PendingPodConditions[0] = "x", "x", "x"
	first.Job.Spec.Template.Spec.Containers[0].Image = "x"
	require.Equal(t, want, s)
	require.Equal(t, untouched, second.Job)
	require.Equal(t, []string{"Ready"}, second.PendingPodConditions)
}

// KEDA's label is a valid label value for any name of a ScaledJob.
func TestLabelValue(t *testing.T) {
	long := strings.Repeat("a", 64)
	require.Equal(t, strings.Repeat("a", 63), manifest.LabelValue(long[:63]))
	require.Regexp(t, "^a{52}-[0-9a-f]{10}$", manifest.LabelValue(long))
	require.NotEqual(t, manifest.LabelValue(long), manifest.LabelValue(long+"b"))
	rapid.Check(t, func(t *rapid.T) {
		s := read(t, minimal)
		s.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?){0,2}`).Draw(t, "name")
		require.Empty(t, validation.IsValidLabelValue(config(t, s).Target.Job.Labels[manifest.LabelName]))
	})
}
