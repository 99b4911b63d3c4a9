package processtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Permissions returns the namespaces, ServiceAccounts and RBAC of a kustomization, as YAML.
func Permissions(t testing.TB, directory string) string {
	t.Helper()
	found, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	require.NoError(t, err)
	var documents []string
	for _, r := range found.Resources() {
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
