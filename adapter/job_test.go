package adapter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/adapter"
)

func TestNewJob(t *testing.T) {
	s := read(t, minimal)
	s.Labels = map[string]string{"team": "shop", "secret": "x", "noisy": "y", adapter.LabelName: "other", "scaledjob.keda.sh/more": "z"}
	s.Annotations = map[string]string{
		"note": "n", adapter.AnnotationPaused: "false", corev1.LastAppliedConfigAnnotation: "{}",
		adapter.AnnotationExcludedLabels: "secret , noisy", adapter.AnnotationGeneration: "99",
	}
	j := s.NewJob(s.Owner(), 7)
	require.Equal(t, map[string]string{"team": "shop", adapter.LabelName: "consumer"}, j.Labels)
	require.Equal(t, map[string]string{"note": "n", adapter.AnnotationGeneration: "2", adapter.AnnotationSequence: "7",
		adapter.AnnotationTemplateHash: s.Revision().TemplateHash}, j.Annotations)
	require.Equal(t, "shop", j.Namespace)
	require.True(t, *j.OwnerReferences[0].Controller)
	require.Equal(t, s.UID, j.OwnerReferences[0].UID)
	require.Equal(t, "ScaledJob", j.OwnerReferences[0].Kind)
	require.Equal(t, corev1.RestartPolicyOnFailure, j.Spec.Template.Spec.RestartPolicy)
	require.Empty(t, s.Spec.JobTargetRef.Template.Spec.RestartPolicy, "the template was changed")
	require.Equal(t, j, s.NewJob(s.Owner(), 7))

	s.Spec.JobTargetRef.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	require.Equal(t, corev1.RestartPolicyNever, s.NewJob(s.Owner(), 1).Spec.Template.Spec.RestartPolicy)
}

// Whatever is changed in one Job, the template and the other Jobs are as before.
func TestJobsShareNoMemory(t *testing.T) {
	s := read(t, minimal)
	s.Labels = map[string]string{"a": "b"}
	s.Annotations = map[string]string{"a": "b"}
	want, first, second := s.DeepCopyObject(), s.NewJob(s.Owner(), 1), s.NewJob(s.Owner(), 2)
	untouched := second.DeepCopy()
	first.Labels["a"], first.Annotations["a"] = "x", "x"
	*first.OwnerReferences[0].Controller = false
	first.Spec.Template.Spec.Containers[0].Image = "x"
	first.Spec.Template.Labels = map[string]string{"x": "x"}
	require.Equal(t, want, s)
	require.Equal(t, untouched, second)
}

// Names and labels are valid for any name that an owner may have, and differ by
// owner, generation and sequence.
func propNames(t *rapid.T) {
	s := &adapter.ScaledJob{}
	s.Name = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?){0,2}`).Draw(t, "name")
	s.UID = "1"
	s.Generation = rapid.Int64Range(1, 1<<40).Draw(t, "generation")
	sequence := rapid.Int64Range(1, 1<<40).Draw(t, "sequence")
	j := s.NewJob(s.Owner(), sequence)
	problems := slices.Concat(validation.IsDNS1123Label(j.Name), validation.IsValidLabelValue(j.Labels[adapter.LabelName]))
	if len(problems) > 0 || len(j.Name) > 52 {
		t.Fatalf("%s, %s: %v", j.Name, j.Labels[adapter.LabelName], problems)
	}
	again, next := s.NewJob(s.Owner(), sequence), s.NewJob(s.Owner(), sequence+1)
	other, newer := *s, *s
	other.UID = "2"
	newer.Generation++
	if j.Name != again.Name || j.Name == next.Name || j.Name == other.NewJob(other.Owner(), sequence).Name || j.Name == newer.NewJob(newer.Owner(), sequence).Name {
		t.Fatal("names are not those of owner, generation and sequence")
	}
}

func TestNames(t *testing.T) { rapid.Check(t, propNames) }
func FuzzNames(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propNames)) }

func TestLabelValue(t *testing.T) {
	long := strings.Repeat("a", 64)
	require.Equal(t, strings.Repeat("a", 63), adapter.LabelValue(long[:63]))
	require.Len(t, adapter.LabelValue(long), 63)
	require.NotEqual(t, adapter.LabelValue(long), adapter.LabelValue(long+"b"))
}

func TestTemplateHash(t *testing.T) {
	s := read(t, minimal)
	before := s.Revision()
	s.Spec.MaxReplicaCount = new(int32)
	require.Equal(t, before, s.Revision())
	s.Spec.JobTargetRef.Template.Spec.Containers[0].Image = "other"
	require.NotEqual(t, before.TemplateHash, s.Revision().TemplateHash)
}
