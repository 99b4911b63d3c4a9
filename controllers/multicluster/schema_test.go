package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/strategy"
)

// The custom resources have exactly the fields of the types.
func TestSchema(t *testing.T) {
	for file, parts := range map[string]map[string]reflect.Type{
		"distributedscaledjobs":    {"spec": reflect.TypeFor[api.DistributedScaledJobSpec](), "status": reflect.TypeFor[jobStatus]()},
		"distributedscaledobjects": {"spec": reflect.TypeFor[api.DistributedScaledObjectSpec](), "status": reflect.TypeFor[objectStatus]()},
	} {
		data, err := os.ReadFile(filepath.Join("manifests", "crds", file+".yaml"))
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema openAPI }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(data, &crd))
		schemas := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		for name, part := range parts {
			compare(t, file+"."+name, part, schemas[name])
		}
		if jobs, isJob := schemas["spec"].Properties["scaledJobSpec"]; isJob {
			require.ElementsMatch(t, append(strategy.Names(), "", "basic"), jobs.Properties["scalingStrategy"].Properties["strategy"].Enum)
		}
	}
}

type openAPI struct {
	Properties map[string]openAPI
	Items      *openAPI
	Enum       []string
	Additional schemaOrBool `json:"additionalProperties"`
	Anything   bool         `json:"x-kubernetes-preserve-unknown-fields"`
}

type schemaOrBool struct{ *openAPI }

func (s *schemaOrBool) UnmarshalJSON(data []byte) error {
	if string(data) == "true" || string(data) == "false" {
		return nil
	}
	return json.Unmarshal(data, &s.openAPI)
}

func compare(t *testing.T, path string, of reflect.Type, s openAPI) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		switch {
		case of.Kind() == reflect.Slice && s.Items != nil:
			s = *s.Items
		case of.Kind() == reflect.Map && s.Additional.openAPI != nil:
			s = *s.Additional.openAPI
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || s.Anything {
		return
	}
	if len(s.Properties) == 0 { // the API server would drop the fields of a type of ours
		require.NotContains(t, of.PkgPath(), "scaledjob/controllers", path)
		return
	}
	fields := map[string]reflect.Type{}
	collect(of, fields)
	var is, want []string
	for name := range fields {
		want = append(want, name)
	}
	for name := range s.Properties {
		is = append(is, name)
	}
	slices.Sort(is)
	slices.Sort(want)
	require.Equal(t, want, is, path)
	for name, field := range fields {
		compare(t, path+"."+name, field, s.Properties[name])
	}
}

func collect(of reflect.Type, fields map[string]reflect.Type) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			collect(f.Type, fields)
			continue
		}
		fields[name] = f.Type
	}
}
