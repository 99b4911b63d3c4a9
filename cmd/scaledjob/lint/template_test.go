package lint_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Lint finds what Kubernetes refuses in a Job, at the field that is wrong, and nothing in a
// Job that Kubernetes accepts.
func TestTemplates(t *testing.T) {
	const file = "testdata/template.txt"
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var golden strings.Builder
	for line := range strings.Lines(string(data)) {
		text, _, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok {
			golden.WriteString(line)
			continue
		}
		place, fields, _ := strings.Cut(text, " ")
		var added map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(fields), &added), line)
		main := map[string]any{"name": "main", "image": "example.com/orders:1"}
		pod := map[string]any{"restartPolicy": "Never", "containers": []any{main}, "volumes": []any{map[string]any{"name": "v"}}}
		job := map[string]any{"template": map[string]any{"spec": pod}}
		merge(map[string]map[string]any{"job": job, "pod": pod, "main": main}[place], added)
		spec, err := yaml.Marshal(job)
		require.NoError(t, err)
		report := checkText(strings.Replace(minimal, minimal[strings.Index(minimal, "  jobTargetRef"):strings.Index(minimal, "  triggers")],
			"  jobTargetRef:\n    "+strings.ReplaceAll(string(spec), "\n", "\n    ")+"\n", 1))
		var messages []string
		for _, f := range report.Findings {
			messages = append(messages, fmt.Sprintf("%s: %s", f.Severity, f.Message()))
		}
		golden.WriteString(text + " -> " + cmp.Or(strings.Join(messages, " | "), "ok") + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(golden.String()), 0o644))
	} else {
		require.Equal(t, golden.String(), string(data))
	}
}
