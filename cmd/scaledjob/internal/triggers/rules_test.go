package triggers

import (
	"cmp"
	"os"
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

// Every rule finds its problem, and nothing in a trigger that keeps it. UPDATE=1 writes the problems anew.
func TestRules(t *testing.T) {
	const file = "testdata/rules.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	found := map[string]bool{}
	var golden strings.Builder
	for line := range strings.Lines(string(data)) {
		trigger, _, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if strings.HasPrefix(line, "#") || !ok {
			golden.WriteString(line)
			continue
		}
		text, brackets, _ := strings.Cut(trigger, "[")
		name, metadata, _ := strings.Cut(text, " ")
		authentication := pairsOf(strings.TrimSuffix(brackets, "]"))
		in := Input{Metadata: pairsOf(metadata), PodIdentity: authentication["podIdentity"], Authentication: func(p string) Value {
			return Literal(authentication[p])
		}}
		var problems []string
		for _, p := range Check(name, "2.21", in) {
			if p.Rule != "" {
				require.NotEmpty(t, p.Fix)
				problems = append(problems, p.Text+". "+p.Fix)
				found[p.Rule] = true
			}
		}
		golden.WriteString(trigger + " -> " + cmp.Or(strings.Join(problems, " | "), "ok") + "\n")
	}
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(golden.String()), 0o644))
	} else {
		require.Equal(t, golden.String(), string(data))
	}
	for _, r := range Rules() {
		assert.True(t, found[r.Message], "no trigger breaks %q", r.Message)
	}
}
