package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/podspec"
)

// A schema is a part of a CRD.
type schema struct {
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Required   []string           `json:"required"`
	Enum       []string           `json:"enum"`
	MinItems   int                `json:"minItems"`
	Default    any                `json:"default"`
}

func readCRD(t *testing.T, name string) *schema {
	dir, err := download(versions[len(versions)-1])
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(dir, "config", "crd", "bases", "keda.sh_"+name+".yaml"))
	require.NoError(t, err)
	data, err = yaml.YAMLToJSON(data)
	require.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	require.NoError(t, json.Unmarshal(data, &crd))
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// The required fields of a template are required in the CRD, and a TriggerAuthentication has
// the same fields, values and required fields.
func TestObjects(t *testing.T) {
	compareObjects(t, readCRD(t, "scaledjobs").Properties["jobTargetRef"], reflect.TypeFor[batchv1.JobSpec](), "jobTargetRef", false)
	for _, name := range []string{"triggerauthentications", "clustertriggerauthentications"} {
		compareObjects(t, readCRD(t, name), reflect.TypeFor[podspec.AuthenticationSpec](), "spec", true)
	}
}

func compareObjects(t *testing.T, s *schema, of reflect.Type, at string, exact bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && s.Items != nil {
		if of.Kind() == reflect.Slice {
			s = s.Items
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || len(s.Properties) == 0 {
		return
	}
	for _, name := range podspec.Required(of) {
		if s.Properties[name] != nil {
			assert.Contains(t, s.Required, name, at)
		}
	}
	for _, name := range s.Required {
		if exact && s.Properties[name].Default == nil {
			assert.Contains(t, podspec.Required(of), name, at)
		}
	}
	names := []string{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			require.False(t, exact, "%s.%s", at, name)
			if len(f.Index) == 1 && of.Name() != "ObjectMeta" && name != "" {
				assert.True(t, podspec.TooNew(of, name), "%s.%s: list it in podspec.TooNew", of.Name(), name)
			}
			continue
		}
		names = append(names, name)
		if exact {
			assert.Equal(t, strings.Join(p.Enum, ","), f.Tag.Get("enum"), "%s.%s", at, name)
			assert.Equal(t, p.MinItems > 0, f.Tag.Get("min") == "1", "%s.%s", at, name)
		}
		compareObjects(t, p, f.Type, at+"."+name, exact)
	}
	if exact {
		for name := range s.Properties {
			assert.True(t, slices.Contains(names, name), "%s.%s", at, name)
		}
	}
}
