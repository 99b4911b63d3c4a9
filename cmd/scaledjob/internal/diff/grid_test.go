package diff

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// The grid has queues that are no multiple of the target, and parts of items only where
// a metric can have them.
func TestQueues(t *testing.T) {
	redis, prometheus := manifest.Trigger{Type: "redis", Target: 5}, manifest.Trigger{Type: "prometheus", Target: 3}
	got := queues([]manifest.Trigger{redis}, 10, []bool{true})
	require.Contains(t, got, []float64{1})
	require.Contains(t, got, []float64{13})
	for _, q := range got {
		require.Equal(t, math.Trunc(q[0]), q[0])
	}
	got = queues([]manifest.Trigger{redis, prometheus}, 10, []bool{true, false})
	for _, want := range [][]float64{{1, 1}, {13, 8}, {13, 7.5}} {
		require.Contains(t, got, want)
	}
	require.Len(t, queues([]manifest.Trigger{{Target: 1}}, 10, []bool{true}), 14, "one item is one Job's worth")

	for metadata, want := range map[string]bool{
		`{type: redis, metadata: {listLength: "2"}}`:                  true,
		`{type: rabbitmq, metadata: {mode: QueueLength, value: "2"}}`: true,
		`{type: rabbitmq, metadata: {mode: MessageRate, value: "2"}}`: false,
		`{type: prometheus, metadata: {threshold: "2"}}`:              false,
		`{type: gcp-pubsub, metadata: {aggregation: mean}}`:           false,
		`{type: their-own, metadata: {}}`:                             false,
	} {
		file := filepath.Join(t.TempDir(), "m.yaml")
		require.NoError(t, os.WriteFile(file, []byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: m}\nspec:\n  triggers: ["+metadata+"]\n"), 0o600))
		manifests, err := (&input.ManifestFlags{Files: []string{file}}).Read(nil, nil)
		require.NoError(t, err)
		require.Equal(t, []bool{want}, counting(manifests[0]), metadata)
	}
}

func TestSpread(t *testing.T) {
	require.Equal(t, []int64{0}, spread(0, 13))
	require.Equal(t, []int64{0, 1, 2, 3}, spread(3, 13))
	got := spread(1000, 13)
	require.LessOrEqual(t, len(got), 14)
	for _, n := range []int64{0, 1, 2, 998, 999, 1000} {
		require.Contains(t, got, n)
	}
}
