package processtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Permissions returns the namespaces, ServiceAccounts and RBAC of a kustomization, as YAML.
func Permissions(t testing.TB, directory string) string {
	t.Helper()
	var documents []string
	for _, r := range resources(t, directory) {
		kind := r.GetKind()
		if !slices.Contains([]string{"Namespace", "ServiceAccount"}, kind) && !strings.Contains(kind, "Role") {
			continue
		}
		text, err := r.AsYAML()
		require.NoError(t, err)
		documents = append(documents, string(text))
	}
	return strings.Join(documents, "---\n")
}

// Arguments returns those of the container in a kustomization's Deployment.
func Arguments(t testing.TB, directory string) []string {
	t.Helper()
	for _, r := range resources(t, directory) {
		if r.GetKind() == "Deployment" {
			args, err := r.GetSlice("spec.template.spec.containers")
			require.NoError(t, err)
			var texts []string
			for _, a := range args[0].(map[string]any)["args"].([]any) {
				texts = append(texts, a.(string))
			}
			return texts
		}
	}
	require.Fail(t, "no Deployment", directory)
	return nil
}

func resources(t testing.TB, directory string) []*resource.Resource {
	t.Helper()
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	require.NoError(t, err)
	return found.Resources()
}
