package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const manifestText = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: consumer, namespace: shop}
spec:
  jobTargetRef:
    template:
      spec:
        containers: [{name: c, image: example.com/c:1}]
  triggers:
    - type: rabbitmq
      metadata: {value: "1"}
`

func quickstart(t *testing.T, text, queue string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var out strings.Builder
	err := run(t.Context(), file, queue, &out)
	return out.String(), err
}

// The story of the strategy default: 3 messages get 3 Jobs, the same 3 get none
// more, 3 more get 3, and once the first have finished 3 messages get none.
func TestStory(t *testing.T) {
	out, err := quickstart(t, manifestText, "3,3,6,6,3")
	require.NoError(t, err)
	var created []string
	for line := range strings.Lines(out) {
		if n, ok := strings.CutPrefix(line, "  create    "); ok {
			created = append(created, strings.TrimSpace(n))
		}
	}
	require.Equal(t, []string{"3: the strategy's proposal", "0: the strategy's proposal", "3: the strategy's proposal",
		"0: the strategy's proposal", "0: the strategy's proposal"}, created, out)
	require.Contains(t, out, "poll 5: 3 items; Jobs: 3 running, 0 pending, 3 succeeded\n")
	require.True(t, strings.HasSuffix(out, "\n5 polls: 6 Jobs created, 0 pruned; at most 6 unfinished, of 100 allowed\n"), out)
}

func TestHistoryIsPruned(t *testing.T) {
	out, err := quickstart(t, strings.Replace(manifestText, "spec:\n", "spec:\n  minReplicaCount: 200\n  successfulJobsHistoryLimit: 1\n  maxReplicaCount: 4\n", 1), "0,0,0,0,0,0")
	require.NoError(t, err)
	require.Contains(t, out, "warning: spec.minReplicaCount: found 200; use maxReplicaCount or less; it is taken as 4\n")
	require.Contains(t, out, "8 Jobs created, 3 pruned; at most 4 unfinished, of 4 allowed")
}

func TestBadInput(t *testing.T) {
	for _, tt := range []struct{ text, queue, want string }{
		{"apiVersion: apps/v1\nkind: Deployment\n", "1", "no ScaledJob: found a Deployment"},
		{manifestText + "  maxReplicas: 3\n", "1", "spec.maxReplicas: found an unknown field"},
		{manifestText + "    - {type: redis, metadata: {listLength: \"1\"}}\n", "1", "found 2 triggers; use one"},
		{manifestText + "---" + manifestText, "1", "found 2 ScaledJobs; use one"},
		{manifestText, "0,-3", `queue: found "-3"; use a number of 0 or more`},
		{manifestText, "x", `queue: found "x"`},
	} {
		out, err := quickstart(t, tt.text, tt.queue)
		require.ErrorContains(t, err, tt.want)
		require.Empty(t, out)
	}
	require.ErrorContains(t, run(t.Context(), "nowhere.yaml", "1", nil), "nowhere.yaml: no such file")
}
