package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/testdata"
)

// The resources have the fields of the types, and no others. The API server removes
// fields that a resource does not have, and the state would change.
func TestResourcesHaveEveryField(t *testing.T) {
	for file, types := range map[string]map[string]reflect.Type{
		"scheduledjobs.yaml": {"spec": reflect.TypeFor[scheduledjob.Spec](), "status": reflect.TypeFor[scheduledjob.Status]()},
		"runrequests.yaml":   {"status": reflect.TypeFor[requestStatus]()},
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

// compare compares a schema with the JSON of a type. Each field has a description, which
// kubectl explain prints.
func compare(t *testing.T, path string, schema map[string]any, kind reflect.Type) {
	if !strings.HasSuffix(path, "[]") {
		require.NotEmpty(t, schema["description"], path)
	}
	if kind == reflect.TypeFor[schedule.Duration]() {
		kind = reflect.TypeFor[string]() // in JSON
	}
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
			if kind == reflect.TypeFor[corev1.ObjectReference]() && properties[name] == nil {
				continue // a PodTemplate needs no other
			}
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

// The flags of the Deployment are valid.
func TestDeployment(t *testing.T) {
	o := processtest.Parse(t, newOptions(), processtest.Arguments(t, "manifests/tenant")...)
	require.Equal(t, ":8080", o.MetricsAddress, "for the NetworkPolicy's namespaces")
	require.True(t, o.LeaderElect)
}

// The API server accepts every timeSpec that the controller can read. Of the others it accepts those for which
// it would have to compute.
func TestPatternOfTimeSpec(t *testing.T) {
	crd, err := os.ReadFile(filepath.Join("manifests", "crds", "scheduledjobs.yaml"))
	require.NoError(t, err)
	pattern := regexp.MustCompile(string(regexp.MustCompile(`pattern: '(\^\(R.*)'`).FindSubmatch(crd)[1]))
	var refused []*regexp.Regexp
	for _, rule := range regexp.MustCompile(`rule: "!self\.matches\('(.*)'\)"`).FindAllSubmatch(crd, -1) {
		refused = append(refused, regexp.MustCompile(string(rule[1])))
	}
	require.Len(t, refused, 9)
	accepts := func(text string) bool {
		return pattern.MatchString(text) && !slices.ContainsFunc(refused, func(r *regexp.Regexp) bool { return r.MatchString(text) })
	}
	vectors := func(name string, into any) {
		data, err := testdata.Files.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
	}
	var right struct{ Cases []struct{ TimeSpec string } }
	vectors("intervals.json", &right)
	for _, c := range right.Cases {
		require.True(t, accepts(c.TimeSpec), c.TimeSpec)
	}
	require.True(t, accepts(""))
	var wrong struct{ Cases []struct{ Text string } }
	vectors("interval-errors.json", &wrong)
	var accepted []string
	for _, c := range wrong.Cases {
		if c.Text != "" && accepts(c.Text) {
			accepted = append(accepted, c.Text)
		}
	}
	require.Equal(t, []string{
		"R9223372036854775808/2026-01-01T02:00:00Z/P1D", "R5//PT0.333333333333H", "R5//P10001Y", "R5//PT2562048H", "R5//PT9223372036.9S",
		"R/2026-01-02T02:00:00Z/2026-01-02T02:00:00Z", "R/0001-01-02T02:00:00Z/2026-01-02T02:00:00Z",
	}, accepted)
	require.Greater(t, len(wrong.Cases), 100)
}
