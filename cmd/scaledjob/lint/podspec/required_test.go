package podspec

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestRequired(t *testing.T) {
	require.Equal(t, []string{"name", "mountPath"}, Required(reflect.TypeFor[corev1.VolumeMount]()))
	require.Equal(t, []string{"key"}, Required(reflect.TypeFor[corev1.SecretKeySelector]()))
	require.Equal(t, []string{"parameter", "name", "key"}, Required(reflect.TypeFor[Reference]()))
	require.Empty(t, Required(reflect.TypeFor[corev1.PodTemplateSpec]()))
}
