package triggers

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pairsOf reads a=b c=d, with _ for a space.
func pairsOf(text string) map[string]string {
	m := map[string]string{}
	for item := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(item, "=")
		m[key] = value
		if strings.ContainsAny(value, "*'(") || strings.Contains(value, "7_days") {
			m[key] = strings.ReplaceAll(value, "_", " ")
		}
	}
	return m
}

// Every rule finds its problem, and nothing in a trigger that keeps it.
func TestRules(t *testing.T) {
	data, err := os.ReadFile("testdata/rules.txt")
	require.NoError(t, err)
	found := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		text, want, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		text, brackets, _ := strings.Cut(text, "[")
		name, metadata, _ := strings.Cut(text, " ")
		authentication := pairsOf(strings.TrimSuffix(brackets, "]"))
		in := Input{Metadata: pairsOf(metadata), PodIdentity: authentication["podIdentity"], Authentication: func(p string) Value {
			return literal(authentication[p])
		}}
		var problems []string
		for _, p := range Check(name, "2.21", in) {
			if p.Rule != "" {
				require.NotEmpty(t, p.Fix)
				problems = append(problems, p.Text)
				found[p.Rule] = true
			}
		}
		if want == "ok" {
			require.Empty(t, problems, line)
			continue
		}
		require.True(t, slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) }), "%s%q", line, problems)
	}
	for _, r := range Rules() {
		assert.True(t, found[r.Message], "no trigger breaks %q", r.Message)
	}
}
