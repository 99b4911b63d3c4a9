package processtest

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/schedule"
)

// RequireSchema fails if parts of a CustomResourceDefinition, such as "spec", have other fields than Go types, or fields
// of other types: the API server drops a field that a schema does not have. If described, each field must have a
// description. RequireSchema returns the schema.
func RequireSchema(t testing.TB, file string, parts map[string]reflect.Type, described bool) apiextensions.JSONSchemaProps {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var crd apiextensions.CustomResourceDefinition
	require.NoError(t, yaml.UnmarshalStrict(data, &crd))
	schema := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for name, part := range parts {
		comparison{t, described}.compare(file+": "+name, part, schema.Properties[name])
	}
	return schema
}

type comparison struct {
	testing.TB
	described bool
}

var jsonTypes = map[reflect.Kind]string{
	reflect.String: "string", reflect.Bool: "boolean", reflect.Int32: "integer", reflect.Int64: "integer",
	reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
}

func (c comparison) compare(path string, kind reflect.Type, s apiextensions.JSONSchemaProps) {
	if c.described && !strings.HasSuffix(path, "[]") {
		require.NotEmpty(c, s.Description, path)
	}
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case s.XPreserveUnknownFields != nil: // such as a pod template
		return
	case kind == reflect.TypeFor[metav1.Time](), kind == reflect.TypeFor[time.Time]():
		require.Equal(c, "date-time", s.Format, path)
		return
	case kind == reflect.TypeFor[metav1.Duration](), kind == reflect.TypeFor[schedule.Duration]():
		kind = reflect.TypeFor[string]() // in JSON
	}
	require.Equal(c, jsonTypes[kind.Kind()], s.Type, path)
	switch kind.Kind() {
	case reflect.Int32, reflect.Int64: // a schema may allow less
		require.Contains(c, []string{"int32", kind.Kind().String()}, s.Format, path)
	case reflect.Slice:
		c.compare(path+"[]", kind.Elem(), *s.Items.Schema)
	case reflect.Map:
		c.compare(path+"[]", kind.Elem(), *s.AdditionalProperties.Schema)
	case reflect.Struct:
		fields := fieldsOf(kind)
		if kind != reflect.TypeFor[corev1.ObjectReference]() { // a PodTemplate needs no other
			require.ElementsMatch(c, slices.Collect(maps.Keys(fields)), slices.Collect(maps.Keys(s.Properties)), path)
		}
		for name, property := range s.Properties {
			c.compare(path+"."+name, fields[name], property)
		}
	}
}

// fieldsOf returns the types of the fields of a struct in JSON.
func fieldsOf(kind reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range kind.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			maps.Copy(fields, fieldsOf(f.Type))
			continue
		}
		fields[name] = f.Type
	}
	return fields
}
