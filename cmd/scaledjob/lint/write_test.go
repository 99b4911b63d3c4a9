package lint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

var report = lint.Report{
	ScaledJobs: 2,
	Ignored:    1,
	Findings: []lint.Finding{
		{Rule: "min-above-max", Severity: lint.Error, File: "a b,c:50%.yaml", Line: 9, Column: 20, Object: "shop/orders", Path: "spec.minReplicaCount",
			Found: "5", Effects: []lint.Effect{{Releases: "2.8 to 2.10", Text: "one"}, {Releases: "since 2.11", Text: "two <3"}}, Fix: "100%\nor less"},
		{Rule: "duplicate-key", Severity: lint.Warning, File: "b.yaml", Line: 1, Column: 1, Found: "x", Effects: []lint.Effect{{Text: "y"}}, Fix: "z"},
		{Rule: "trigger-push", Severity: lint.Note, File: "b.yaml", Line: 2, Column: 3, Found: "x", Effects: []lint.Effect{{Text: "y"}}, Fix: "z"},
		{Rule: "trigger-push", Severity: lint.Note, File: "b.yaml", Line: 3, Column: 3, Found: "x", Effects: []lint.Effect{{Text: "y"}}, Fix: "z"},
	},
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.WriteText(&b))
	require.Equal(t, `a b,c:50%.yaml:9:20: error: spec.minReplicaCount is 5: in 2.8 to 2.10, one; since 2.11, two <3. 100%\nor less. [min-above-max]
b.yaml:1:1: warning: x: y. z. [duplicate-key]
b.yaml:2:3: note: x: y. z. [trigger-push]
b.yaml:3:3: note: x: y. z. [trigger-push]
1 error, 1 warning, 2 notes in 2 ScaledJobs, and 1 ignored
`, b.String())
	require.Equal(t, "no findings; no ScaledJob found", new(lint.Report).Summary())
	require.Equal(t, "no findings; no ScaledJob found, and 2 ignored", (&lint.Report{Ignored: 2}).Summary())
	require.Equal(t, lint.Error, report.Worst())
	require.Equal(t, "none", new(lint.Report).Worst().String())
	require.Equal(t, "Severity(9)", lint.Severity(9).String())
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.WriteJSON(&b))
	require.Contains(t, b.String(), "two <3")
	var first struct {
		Findings []json.RawMessage `json:"findings"`
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &first))
	require.JSONEq(t, `{"rule": "min-above-max", "severity": "error", "file": "a b,c:50%.yaml", "line": 9, "column": 20, "object": "shop/orders",
		"path": "spec.minReplicaCount", "found": "5", "effects": [{"releases": "2.8 to 2.10", "text": "one"}, {"releases": "since 2.11", "text": "two <3"}],
		"fix": "100%\nor less"}`, string(first.Findings[0]))
	require.JSONEq(t, `{"rule": "duplicate-key", "severity": "warning", "file": "b.yaml", "line": 1, "column": 1, "found": "x", "effects": [{"text": "y"}], "fix": "z"}`,
		string(first.Findings[1]))
	b.Reset()
	require.NoError(t, new(lint.Report).WriteJSON(&b))
	require.JSONEq(t, `{"version": 1, "scaledJobs": 0, "scheduledJobs": 0, "errors": 0, "warnings": 0, "notes": 0, "ignored": 0, "findings": []}`, b.String())
}

func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.WriteGitHub(&b))
	require.Equal(t, `::error file=a b%2Cc%3A50%25.yaml,line=9,col=20,title=min-above-max::spec.minReplicaCount is 5: in 2.8 to 2.10, one; since 2.11, two <3. 100%25%0Aor less.
::warning file=b.yaml,line=1,col=1,title=duplicate-key::x: y. z.
::notice file=b.yaml,line=2,col=3,title=trigger-push::x: y. z.
::notice file=b.yaml,line=3,col=3,title=trigger-push::x: y. z.
`, b.String())
}

// The log has what the schema of SARIF 2.1.0 requires, and what GitHub's code
// scanning does: one location for each result, with a line.
func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, report.WriteSARIF(&b))
	var log struct {
		Version, Schema string
		Runs            []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct{ ID string }
				}
			}
			Results []json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(bytes.Replace(b.Bytes(), []byte("$schema"), []byte("schema"), 1), &log))
	require.Equal(t, "2.1.0 https://json.schemastore.org/sarif-2.1.0.json", log.Version+" "+log.Schema)
	require.Len(t, log.Runs, 1)
	driver, at := log.Runs[0].Tool.Driver, -1
	require.NotEmpty(t, driver.Name)
	require.Len(t, driver.Rules, len(lint.Rules()))
	for i, r := range lint.Rules() {
		require.Equal(t, r.ID, driver.Rules[i].ID)
		if r.ID == "min-above-max" {
			at = i
			require.Contains(t, b.String(), fmt.Sprintf("%q: %q", "helpUri", r.URL()))
		}
	}
	require.Len(t, log.Runs[0].Results, len(report.Findings))
	require.JSONEq(t, fmt.Sprintf(`{"ruleId": "min-above-max", "ruleIndex": %d, "level": "error", "message": {"text": %q}, "locations": [{"physicalLocation":
		{"artifactLocation": {"uri": "./a%%20b,c:50%%25.yaml"}, "region": {"startLine": 9, "startColumn": 20}}}]}`, at, report.Findings[0].Message()), string(log.Runs[0].Results[0]))
	b.Reset()
	require.NoError(t, new(lint.Report).WriteSARIF(&b))
	require.Contains(t, b.String(), `"results": []`)
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrors(t *testing.T) {
	for _, err := range []error{report.WriteText(broken{}), report.WriteJSON(broken{}), report.WriteGitHub(broken{}), report.WriteSARIF(broken{})} {
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

// The lines of a finding are those of the excerpt, whatever ends them.
func TestLineBreaks(t *testing.T) {
	const text = "apiVersion: keda.sh/v1alpha1\nkind: Deployment\n"
	want := lint.Check([]lint.File{{Name: "a.yaml", Data: []byte(text)}})
	require.Equal(t, 2, want.Findings[0].Line)
	for _, end := range []string{"\r\n", "\r", "\u0085", "\u2028", "\u2029"} {
		data := []byte(strings.ReplaceAll(text, "\n", end))
		given := slices.Clone(data)
		r := lint.Check([]lint.File{{Name: "a.yaml", Data: data}})
		require.Equal(t, given, data)
		var a, b strings.Builder
		require.NoError(t, want.WriteText(&a))
		require.NoError(t, r.WriteText(&b))
		require.Equal(t, a.String(), b.String(), "%q", end)
	}
}
