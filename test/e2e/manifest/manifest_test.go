package manifest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

const documents = `# Of a kind that is not there yet.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}}]
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, namespace: default}
size: 3
`

func TestObjects(t *testing.T) {
	all := manifest.Objects(t, documents)
	require.Len(t, all, 2)
	require.Equal(t, "CustomResourceDefinition", all[0].GetKind())
	require.Equal(t, "default", all[1].GetNamespace())
	require.Len(t, manifest.Objects(t, `{"apiVersion": "v1", "kind": "ConfigMap"}`), 1)
	require.Empty(t, manifest.Objects(t, ""))
}

func TestApply(t *testing.T) {
	config := cluster.Start(t).Config()
	objects := manifest.Objects(t, documents)
	manifest.Apply(t, config, objects...)
	thing := objects[1]
	thing.Object["size"] = int64(4)
	manifest.Apply(t, config, objects...)
	things := manifest.Client(t, config, thing)
	got, err := things.Get(t.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 4, got.Object["size"])
	thing.Object["sise"] = int64(5)
	_, err = things.Apply(t.Context(), "a", thing, metav1.ApplyOptions{FieldManager: "test"})
	require.ErrorContains(t, err, "sise")
}
