package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
)

// The tables in the repository are the ones that the generator writes.
func TestGenerated(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"cmd/scaledjob/internal/crd", "cmd/scaledjob/internal/triggers", "adapter/manifest"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, generate(root))
	for _, name := range []string{"cmd/scaledjob/internal/crd/fields.txt", "cmd/scaledjob/internal/triggers/table.json", "adapter/manifest/triggers_generated.go"} {
		got, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/scaledjob/scaledjob/"+path.Dir(name)).Output()
		require.NoError(t, err)
		want, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), path.Base(name)))
		require.NoError(t, err)
		require.True(t, string(want) == string(got), "%s is outdated: go run ./triggers -C ../..", name)
	}
}

// sourceText is the code of KEDA's scalers, without their tests.
func sourceText(t *testing.T, version string) string {
	dir, err := download(version)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, filepath.Walk(filepath.Join(dir, "pkg", "scalers"), func(name string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			data, err := os.ReadFile(name)
			b.Write(data)
			return err
		}
		return err
	}))
	return b.String()
}

// Every rule that code checks has KEDA's own message in all releases for which it is claimed.
func TestRules(t *testing.T) {
	for i := tagged; i < len(versions); i++ {
		text := sourceText(t, versions[i])
		for _, r := range triggers.Rules() {
			if minor(i) >= r.Since && !strings.Contains(text, r.Message) {
				t.Errorf("%s does not have %q of %v", versions[i], r.Message, r.Types)
			}
			for _, kind := range r.Types {
				require.Contains(t, triggers.Types(), kind)
			}
		}
	}
}

// A schemaParameter is a parameter in the JSON schema that KEDA ships. The schema gives
// every type as string.
type schemaParameter struct {
	Name       string   `json:"name"`
	Optional   bool     `json:"optional"`
	Default    string   `json:"default"`
	Enum       []string `json:"allowedValue"`
	Deprecated string   `json:"deprecated"`
	Metadata   bool     `json:"metadataVariableReadable"`
	Env        bool     `json:"envVariableReadable"`
	Auth       bool     `json:"triggerAuthenticationVariableReadable"`
}

// The declarations are those of the JSON schema that each release ships.
func TestSchema(t *testing.T) {
	compared := 0
	for i := tagged; i < len(versions); i++ {
		dir, err := download(versions[i])
		require.NoError(t, err)
		names, err := filepath.Glob(filepath.Join(dir, "schema", "generated", "*.json"))
		require.NoError(t, err)
		require.Len(t, names, 1)
		data, err := os.ReadFile(names[0])
		require.NoError(t, err)
		var schema struct {
			Scalers []struct {
				Type       string            `json:"type"`
				Parameters []schemaParameter `json:"parameters"`
			} `json:"scalers"`
		}
		require.NoError(t, json.Unmarshal(data, &schema))
		for _, s := range schema.Scalers {
			d, ok := triggers.Lookup(s.Type, minor(i))
			require.True(t, ok, "%s %s", versions[i], s.Type)
			for _, p := range s.Parameters {
				// The schema ignores that the struct with the connection of Redis is optional.
				p.Optional = p.Optional || strings.HasPrefix(s.Type, "redis") && p.Name != "listName" && p.Name != "stream"
				compared++
				require.True(t, slices.ContainsFunc(d.Parameters, func(q triggers.Parameter) bool { return same(p, q) }), "%s %s %+v", versions[i], s.Type, p)
			}
		}
	}
	require.Greater(t, compared, 3000)
}

func same(p schemaParameter, q triggers.Parameter) bool {
	return q.Declared != "" && slices.Contains(q.Names, p.Name) && (p.Default != "" || q.Deprecated != "" || p.Optional == !q.Required) && p.Default == q.Default &&
		slices.Equal(p.Enum, q.Enum) && p.Metadata == strings.Contains(q.From, "m") && p.Env == strings.Contains(q.From, "e") && p.Auth == strings.Contains(q.From, "a")
}
