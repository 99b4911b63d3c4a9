package v1

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/field"
)

func crdSchema(t *testing.T) *apiextensions.JSONSchemaProps {
	t.Helper()
	data, err := os.ReadFile("../../config/crd/batch.miracle.dev_scaledjobs.yaml")
	require.NoError(t, err)
	require.Less(t, len(data), 256<<10, "kubectl apply stores it in an annotation")
	var crd apiextensions.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(data, &crd))
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func valid() ScaledJobSpec {
	return ScaledJobSpec{QueueName: "orders", RedisAddress: "redis:6379", Threshold: 1, MaxReplicas: 1, JobTemplate: batchv1.JobTemplateSpec{}}
}

func TestAddToScheme(t *testing.T) {
	s := runtime.NewScheme()
	require.NoError(t, AddToScheme(s))
	for _, kind := range []string{"ScaledJob", "ScaledJobList", "ListOptions"} {
		require.True(t, s.Recognizes(GroupVersion.WithKind(kind)), kind)
	}
}

// The code and the CRD accept the same addresses.
func TestAddress(t *testing.T) {
	require.Equal(t, crdSchema(t).Properties["spec"].Properties["redisAddress"].Pattern, address.String())
	for text, ok := range map[string]bool{
		"redis:1": true, "redis:6379": true, "redis:65535": true, "redis:59999": true, "redis:60000": true, "10.0.0.1:65499": true, "[::1]:6379": true,
		"redis:65536": false, "redis:65540": false, "redis:65600": false, "redis:66000": false, "redis:70000": false, "redis:99999": false,
		"redis:100000": false, "redis:0": false, "redis:": false, "redis": false, ":6379": false, "redis:-1": false, "::1:6379": false, "": false,
		"redis:06379": false, "my redis:6379": false, "user@redis:6379": false, "a/b:6379": false, "[redis]:6379": false, "redis:6379 ": false,
		"redis:6379\n": false, "[fe80::1%eth0]:6379": false, "[fe80::1%1]:6379": true,
	} {
		spec := valid()
		spec.RedisAddress = text
		require.Equal(t, ok, spec.Validate() == nil, text)
	}
}

func TestValidate(t *testing.T) {
	spec := valid()
	require.NoError(t, spec.Validate())
	spec.MaxReplicas = 0
	require.NoError(t, spec.Validate(), "it pauses")
	spec.RedisAuth = &RedisAuth{SecretKeyRef: SecretKeyRef{Name: "redis", Key: "password"}}
	require.NoError(t, spec.Validate())

	spec = ScaledJobSpec{MinReplicas: -1, MaxReplicas: -2, RedisAuth: &RedisAuth{}}
	var paths []string
	for _, e := range field.All(spec.Validate()) {
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{
		"spec.queueName", "spec.redisAddress", "spec.threshold", "spec.minReplicas", "spec.maxReplicas",
		"spec.redisAuth.secretKeyRef.name", "spec.redisAuth.secretKeyRef.key",
	}, paths, "all at once")
}
