package lint_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

var checkedFor = regexp.MustCompile(`^# checked for (\S+)\n`)

// merge puts the keys of one object into another. Lists are replaced.
func merge(into, from map[string]any) {
	for key, value := range from {
		inner, ok := value.(map[string]any)
		if old, isMap := into[key].(map[string]any); ok && isMap {
			merge(old, inner)
		} else {
			into[key] = value
		}
	}
}

// manifestOf completes an example to a manifest. Text that YAML does not keep stays as it is.
func manifestOf(t *testing.T, id, example string) string {
	switch id {
	case "yaml-syntax", "too-large":
		return strings.Replace(minimal, "metadata:\n  name: orders\n", example, 1)
	case "duplicate-key", "unknown-ignore":
		return strings.Replace(minimal, "spec:\n", example, 1)
	case "scheduled-job-invalid", "scheduled-job-surprise":
		return example
	}
	example, others, _ := strings.Cut(example, "---\n")
	var base, piece map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(minimal), &base))
	require.NoError(t, yaml.Unmarshal([]byte(example), &piece), id)
	merge(base, piece)
	data, err := yaml.Marshal(base)
	require.NoError(t, err)
	return string(data) + "---\n" + others
}

// checkExample checks an example of a rule, for the release that it names.
func checkExample(t *testing.T, id, example string) lint.Report {
	t.Helper()
	require.NotEmpty(t, example, id)
	var releases []keda.Profile
	if m := checkedFor.FindStringSubmatch(example); m != nil {
		releases = append(releases, release(t, m[1]))
	}
	return checkAll(lint.File{Name: "a.yaml", Data: []byte(manifestOf(t, id, example))}, releases...)
}

// The bad example of each rule has a finding of the rule, and the good one has none.
func TestExamples(t *testing.T) {
	for _, r := range lint.Rules() {
		e := r.Example()
		for text, want := range map[string]bool{e.Bad: true, e.Good: false} {
			report := checkExample(t, r.ID, text)
			require.Equal(t, want, has(report, r.ID), "%s:\n%s\n%v", r.ID, text, brief(report.Findings))
		}
	}
}

func TestExplain(t *testing.T) {
	for _, r := range lint.Rules() {
		text, err := lint.Explain(r.ID)
		require.NoError(t, err)
		for _, part := range []string{r.ID, r.Severity.String(), r.Doc, "Bad:", "Good:", r.URL()} {
			require.Contains(t, text, part)
		}
	}
	_, err := lint.Explain("trigger-key-unknwon")
	require.EqualError(t, err, `unknown rule "trigger-key-unknwon"; use trigger-key-unknown`)
	_, err = lint.Explain("x")
	require.ErrorContains(t, err, "lint --rules")
}

// pageHead is what the page of the rules says before them.
const pageHead = `# Lint rules: what each finding means

    scaledjob lint deploy/
    scaledjob lint --explain min-above-max   # one rule, with a bad and a good example

An error is a manifest that the API server or KEDA rejects, that never creates a Job, or that creates or deletes Jobs without bound.
A warning is a manifest that does not do what it seems to do. A note is an effect that may surprise. The comment
` + "`# scaledjob:ignore RULE`" + ` silences a rule for a line. This page is written by ` + "`go generate ./...`" + `.

| rule | severity | problem |
|---|---|---|
`

// page returns the page of the rules, each with an example and its finding.
func page(t *testing.T) string {
	t.Helper()
	var table, sections strings.Builder
	for _, r := range lint.Rules() {
		bad := r.Example().Bad
		findings := checkExample(t, r.ID, bad).Findings
		i := slices.IndexFunc(findings, func(f lint.Finding) bool { return f.Rule == r.ID })
		fmt.Fprintf(&table, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Doc)
		fmt.Fprintf(&sections, "\n## %s\n\n```yaml\n%s```\n\n%s: %s\n", r.ID, bad, findings[i].Severity, findings[i].Message())
	}
	return pageHead + table.String() + sections.String()
}

// The page has each rule. go generate names the file to write, which is outside of the module.
func TestPage(t *testing.T) {
	text := page(t)
	require.Equal(t, len(lint.Rules()), strings.Count(text, "\n## "))
	if name := os.Getenv("LINT_RULES"); name != "" {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

func TestFilter(t *testing.T) {
	r := checkText(with("  minReplicaCount: 5\n  maxReplicaCount: 2\n  rolloutStrategy: gradual\n"))
	require.Equal(t, []string{"6:20 min-above-max", "8:20 rollout-deprecated"}, brief(r.Findings))
	all := r
	require.NoError(t, r.Filter([]string{"min-above-max"}, lint.Note))
	require.Equal(t, []string{"8:20 rollout-deprecated"}, brief(r.Findings))
	require.Equal(t, 1, r.Ignored)
	require.Len(t, all.Findings, 2)
	require.NoError(t, all.Filter(nil, lint.Error))
	require.Equal(t, []string{"6:20 min-above-max"}, brief(all.Findings))
	require.Zero(t, all.Ignored)
	require.ErrorContains(t, all.Filter([]string{"min-above"}, lint.Note), `unknown rule "min-above"`)
}
