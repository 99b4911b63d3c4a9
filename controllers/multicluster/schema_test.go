package main

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/api"
	"github.com/scaledjob/scaledjob/strategy"
)

// The custom resources have exactly the fields of the types.
func TestSchema(t *testing.T) {
	schema := processtest.RequireSchema(t, "manifests/crds/distributedscaledjobs.yaml", map[string]reflect.Type{
		"spec": reflect.TypeFor[api.DistributedScaledJobSpec](), "status": reflect.TypeFor[api.JobStatus](),
	}, false)
	processtest.RequireSchema(t, "manifests/crds/distributedscaledobjects.yaml", map[string]reflect.Type{
		"spec": reflect.TypeFor[api.DistributedScaledObjectSpec](), "status": reflect.TypeFor[api.ObjectStatus](),
	}, false)
	var names []string
	for _, name := range schema.Properties["spec"].Properties["scaledJobSpec"].Properties["scalingStrategy"].Properties["strategy"].Enum {
		var text string
		require.NoError(t, json.Unmarshal(name.Raw, &text))
		names = append(names, text)
	}
	require.ElementsMatch(t, append(strategy.Names(), "", "basic"), names)
}
