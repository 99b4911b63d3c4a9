package lint_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

// Lint finds what Kubernetes refuses in a Job, at the field that is wrong, and nothing in a
// Job that Kubernetes accepts.
func TestTemplates(t *testing.T) {
	data, err := os.ReadFile("testdata/template.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		text, want, ok := strings.Cut(strings.TrimSpace(line), " -> ")
		if !ok {
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
		var errors []string
		for _, f := range report.Findings {
			if f.Severity == lint.Error {
				errors = append(errors, f.Path)
			}
		}
		if want == "ok" {
			require.Empty(t, errors, line)
			continue
		}
		require.True(t, slices.ContainsFunc(errors, func(path string) bool { return strings.HasSuffix(path, want) }), "%s%v", line, errors)
	}
}
