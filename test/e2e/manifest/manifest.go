// Package manifest makes objects of YAML in a test, as kubectl does.
package manifest

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Read returns the text of a file.
func Read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// Objects returns the objects in documents of YAML or JSON.
func Objects(t testing.TB, documents string) (objects []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(documents), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err, documents)
		if u.Object != nil {
			objects = append(objects, u)
		}
	}
}

// DropKinds returns the objects that have none of the kinds.
func DropKinds(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool { return slices.Contains(kinds, u.GetKind()) })
}

// Apply creates the objects in the cluster of config, or updates existing objects. It rejects
// fields that the API server does not know.
func Apply(t testing.TB, config *rest.Config, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		_, err := Client(t, config, u).Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "test", Force: true})
		require.NoError(t, err, "%s %s", u.GetKind(), u.GetName())
	}
}

// Client is a client of objects of the kind and the namespace that the object has. It
// waits for a kind that has just been defined.
func Client(t testing.TB, config *rest.Config, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	m := mapping(t, config, object.GroupVersionKind())
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		return client.Resource(m.Resource)
	}
	return client.Resource(m.Resource).Namespace(object.GetNamespace())
}

func mapping(t testing.TB, config *rest.Config, kind schema.GroupVersionKind) *meta.RESTMapping {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		m, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if !meta.IsNoMatchError(err) || time.Now().After(end) {
			require.NoError(t, err)
			return m
		}
		mapper.Reset()
	}
}
