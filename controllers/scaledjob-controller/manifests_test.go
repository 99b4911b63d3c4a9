package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// -install installs the custom resources, which may be KEDA's, and the FlowSchema. The other
// manifests do not have them.
func TestManifests(t *testing.T) {
	data, err := os.ReadFile("manifests/crds/kustomization.yaml")
	require.NoError(t, err)
	var k struct {
		Resources []string `json:"resources"`
	}
	require.NoError(t, yaml.Unmarshal(data, &k))
	crds, err := installed.ReadDir("manifests/crds")
	require.NoError(t, err)
	var files []string
	for _, file := range crds {
		files = append(files, file.Name())
	}
	require.Equal(t, []string{"scaledjobs.yaml"}, files)
	require.Equal(t, append(files, "../../../../adapter/kedametrics/crd"), k.Resources)
	_, err = kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(t, err)
	_, err = installed.ReadFile("manifests/cluster/flowschema.yaml")
	require.NoError(t, err)
}

// The flags of the Deployment are valid.
func TestDeployment(t *testing.T) {
	o := processtest.Parse(t, newOptions(), processtest.Arguments(t, "manifests/tenant")...)
	require.True(t, o.LeaderElect)
	require.Equal(t, []string{"127.0.0.1:8080", ":8081"}, []string{o.MetricsAddress, o.ProbesAddress}, "metrics are open to nobody else")
}
