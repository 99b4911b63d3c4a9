package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/run"
	"github.com/scaledjob/scaledjob/schedule"
)

// The resources have the fields of the types, and no others: what a resource does
// not have, the API server takes away, and a state would come back as another.
func TestResourcesHaveEveryField(t *testing.T) {
	for file, types := range map[string]map[string]reflect.Type{
		"scheduledjobs.yaml": {"spec": reflect.TypeFor[run.Spec](), "status": reflect.TypeFor[run.Status]()},
		"runrequests.yaml":   {"status": reflect.TypeFor[schedule.Run]()},
	} {
		data, err := os.ReadFile(filepath.Join("manifests", "crds", file))
		require.NoError(t, err)
		crd := map[string]any{}
		require.NoError(t, yaml.UnmarshalStrict(data, &crd))
		versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
		require.NoError(t, err)
		properties, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties")
		require.NoError(t, err)
		for name, kind := range types {
			compare(t, file+": "+name, properties[name].(map[string]any), kind)
		}
	}
}

// compare compares a schema with what a type is in JSON.
func compare(t *testing.T, path string, schema map[string]any, kind reflect.Type) {
	switch kind.Kind() {
	case reflect.Pointer:
		compare(t, path, schema, kind.Elem())
	case reflect.Slice:
		compare(t, path+"[]", schema["items"].(map[string]any), kind.Elem())
	case reflect.Struct:
		properties, ok := schema["properties"].(map[string]any)
		if kind == reflect.TypeFor[time.Time]() || kind == reflect.TypeFor[metav1.Time]() {
			require.Equal(t, "date-time", schema["format"], path)
			return
		}
		if !ok { // a pod template
			require.Equal(t, true, schema["x-kubernetes-preserve-unknown-fields"], path)
			return
		}
		fields := fieldsOf(kind)
		for name := range properties {
			require.Contains(t, fields, name, path)
		}
		for name, field := range fields {
			require.Contains(t, properties, name, path)
			compare(t, path+"."+name, properties[name].(map[string]any), field)
		}
	default:
		want := map[reflect.Kind]string{
			reflect.String: "string", reflect.Bool: "boolean", reflect.Map: "object", reflect.Int32: "integer", reflect.Int64: "integer",
		}
		require.Equal(t, want[kind.Kind()], schema["type"], path)
		if slices.Contains([]reflect.Kind{reflect.Int32, reflect.Int64}, kind.Kind()) {
			require.Equal(t, kind.Kind().String(), schema["format"], path)
		}
	}
}

func fieldsOf(kind reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range kind.NumField() {
		f := kind.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" {
			fields[name] = f.Type
			continue
		}
		for name, inner := range fieldsOf(f.Type) {
			fields[name] = inner
		}
	}
	return fields
}

// The samples are what they are taken for.
func TestSamples(t *testing.T) {
	for file, n := range map[string]int{"sample.yaml": 2, "proposal.json": 1} {
		data, err := os.ReadFile(filepath.Join("manifests", file))
		require.NoError(t, err)
		found, err := run.ReadScheduledJobs(data)
		require.NoError(t, err)
		require.Len(t, found, n)
		for _, s := range found {
			_, err := s.Config(nil)
			require.NoError(t, err)
		}
	}
}
