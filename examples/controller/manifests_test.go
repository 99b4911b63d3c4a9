package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// What is applied to run the controller leaves the custom resources alone, which may be
// KEDA's; they are a kustomization of their own, and all that -install installs.
func TestManifests(t *testing.T) {
	resources := func(folder string) []string {
		data, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
		require.NoError(t, err)
		var k struct {
			Resources []string `json:"resources"`
		}
		require.NoError(t, yaml.Unmarshal(data, &k))
		return k.Resources
	}
	require.Equal(t, []string{"namespace.yaml", "rbac.yaml", "deployment.yaml"}, resources("manifests"))
	embedded, err := crds.ReadDir("manifests/crds")
	require.NoError(t, err)
	var installed []string
	for _, file := range embedded {
		installed = append(installed, file.Name())
	}
	require.ElementsMatch(t, installed, resources("manifests/crds"))
	require.Len(t, installed, 3)
}
