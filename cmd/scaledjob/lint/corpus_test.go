package lint_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

// scopes are the releases for which the manifests of testdata/corpus are checked.
var scopes = map[string][]keda.Profile{"all releases": nil, "the newest": {keda.Newest()}}

// No error is found in a manifest without mistakes.
func TestCleanManifests(t *testing.T) {
	all := load(t, "testdata/corpus/clean/*.yaml")
	require.GreaterOrEqual(t, len(all), 60)
	types := map[string]bool{}
	for name, releases := range scopes {
		warned := 0
		for _, m := range all {
			r := lint.Check([]lint.File{m.File}, releases...)
			require.Equal(t, 1, r.ScaledJobs)
			for _, s := range lint.Read(m.Data) {
				types[s.Spec.Triggers[0].Type] = true
			}
			for _, f := range r.Findings {
				if f.Severity > lint.Note {
					t.Logf("%s: %s: %s %s", name, m.Name, f.Rule, f.Message())
				}
				if f.Severity == lint.Error {
					t.Errorf("%s: %s: %s", name, m.Name, f.Message())
				}
			}
			if r.Worst() == lint.Warning {
				warned++
			}
		}
		require.LessOrEqual(t, warned, len(all)/10, name)
	}
	require.GreaterOrEqual(t, len(types), 25)
}

// In at least 93 % of the manifests with a mistake an error or a warning is found.
func TestWrongManifests(t *testing.T) {
	all := load(t, "testdata/corpus/wrong/*.yaml")
	require.GreaterOrEqual(t, len(all), 90)
	for name, releases := range scopes {
		var missed []string
		for _, m := range all {
			if r := lint.Check([]lint.File{m.File}, releases...); r.Worst() < lint.Warning {
				missed = append(missed, strings.TrimSuffix(filepath.Base(m.Name), ".yaml"))
			}
		}
		require.LessOrEqual(t, 100*len(missed), 7*len(all), "%s: %v", name, missed)
		t.Logf("%s: %d of %d found, not %v", name, len(all)-len(missed), len(all), missed)
	}
}

// elsewhere are manifests without a mistake that the operator could not build for what the test bed
// lacked: a value of a Secret that is not in the manifest (the bed planted "value-of-KEY", or nothing
// where the Secret may not be read), or a server.
var elsewhere = map[string]string{
	"value": "azure-blob azure-eventhub azure-queue gcp-storage gcs kafka-token-provider mongodb-srv mongodb mysql opensearch-tls postgresql runner-app servicebus-cloud " +
		"key-azure-eventhub-unprocessedEventsThreshold key-azure-queue-queueLenght",
	"nothing": "cluster-auth file-path foreign-secret placeholder-secrets runner-token sops-secret",
	"server":  "azure-pipelines cassandra connection-beside-identity postgres-parts postgresql-fields",
}

// TestOperator compares lint with the API server and KEDA's operator, to which e2e's TestCorpus has
// applied the manifests of the corpora: testdata/operator.txt has a line for each.
func TestOperator(t *testing.T) {
	lacked := map[string]bool{}
	for _, files := range elsewhere {
		for file := range strings.FieldsSeq(files) {
			lacked[file] = true
		}
	}
	table, err := os.ReadFile("testdata/operator.txt")
	require.NoError(t, err)
	counts := map[string]int{}
	for line := range strings.Lines(string(table)) {
		file, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		state, message, _ := strings.Cut(rest, " ")
		data, err := os.ReadFile("testdata/corpus/" + file)
		require.NoError(t, err)
		errors := 0
		for _, f := range lint.Check([]lint.File{{Name: file, Data: data}}, keda.Newest()).Findings {
			if f.Severity == lint.Error {
				errors++
			}
		}
		counts[state]++
		without := lacked[strings.TrimSuffix(path.Base(file), ".yaml")]
		switch state {
		case "unparsed", "refused", "strict", "not-ready":
			require.True(t, errors > 0 || without, "%s: %s, and lint finds no error: %s", file, state, message)
		case "polled":
			require.Zero(t, errors, "%s: polled, and lint finds an error", file)
		}
	}
	require.Greater(t, counts["not-ready"]+counts["refused"], 100)
	t.Log(counts)
}
