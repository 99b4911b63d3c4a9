package lint_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
	"github.com/scaledjob/scaledjob/keda"
)

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
