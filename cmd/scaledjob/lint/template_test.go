package lint_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// Lint finds what Kubernetes refuses in a Job, at the field that is wrong, and nothing in a Job that Kubernetes accepts.
// The other lines of the file have the messages of other fields and documents.
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
		fields, others, _ := strings.Cut(fields, " --- ")
		place, named, _ := strings.Cut(place, "@")
		var releases []keda.Profile
		if named != "" {
			releases = append(releases, release(t, named))
		}
		main := map[string]any{"name": "main", "image": "example.com/orders:1"}
		pod := map[string]any{"restartPolicy": "Never", "containers": []any{main}, "volumes": []any{map[string]any{"name": "v"}}}
		job := map[string]any{"template": map[string]any{"spec": pod}}
		trigger := map[string]any{"type": "prometheus", "metadata": map[string]any{"serverAddress": "http://prometheus.shop.svc:9090", "query": "sum(orders)", "threshold": "5"}}
		spec := map[string]any{"jobTargetRef": job, "triggers": []any{trigger}}
		metadata := map[string]any{"name": "orders"}
		if into := map[string]map[string]any{"job": job, "pod": pod, "main": main, "spec": spec, "metadata": metadata}[place]; into != nil {
			var added map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(fields), &added), line)
			merge(into, added)
		}
		written, err := yaml.Marshal(map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": metadata, "spec": spec})
		require.NoError(t, err)
		document := string(written)
		if place == "trigger" {
			document = withTrigger("", fields)
		}
		if others != "" {
			document += "---\n" + strings.ReplaceAll(strings.ReplaceAll(others, " --- ", `\n---\n`), `\n`, "\n")
		}
		report := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(document)}}, releases...)
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
