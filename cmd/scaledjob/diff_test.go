package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

const paused, notPaused = `, annotations: {autoscaling.keda.sh/paused: "true"}`, `, annotations: {autoscaling.keda.sh/paused: "false"}`

// Where both sides pause, what is compared is what they would do otherwise; where one
// does, that is the difference.
func TestDiffPaused(t *testing.T) {
	const note = "\nNote: the ScaledJob is paused; compared without the annotation\n"
	for name, c := range map[string]struct {
		metadata, from, to string
		noted              bool
		status             int
	}{
		"both, spec":     {paused, "spec", "2.21", true, success},
		"both, releases": {paused, "2.18.0", "2.18.3", true, success},
		"one":            {notPaused, "2.12", "2.13", false, found},
		"one, spec":      {paused, "spec", "2.10", false, found},
		"neither":        {notPaused, "spec", "2.21", false, success},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := call(t, "diff -f "+scaledJobFile(t, c.metadata, "")+" --from "+c.from+" --to "+c.to, "")
			require.Empty(t, said)
			require.Equal(t, c.status, status, out)
			if c.noted {
				require.Contains(t, out, note)
			} else {
				require.NotContains(t, out, note)
			}
		})
	}
}

// A manifest that only the new release refuses is a difference.
func TestDiffRefused(t *testing.T) {
	for spec, want := range map[string]struct {
		from, to, said string
		status         int
	}{
		"  rollout: {strategy: default}\n":         {"2.19", "2.20", "\nRejected: the API server rejects it from 2.20 on: spec.rollout.strategy: found", found},
		"  scalingStrategy: {strategy: default}\n": {"2.19", "2.20.1", "\nRejected: the API server rejects it from 2.20.0 to 2.20.1: spec.scalingStrategy.strategy: found", found},
		"  rollout: {strategy: default} \n":        {"2.20", "2.21", "create the same number", success},
		"  rollout: {strategy: default}  \n":       {"2.20", "2.19", "\nNote: spec.rollout.strategy: found", success},
	} {
		status, out, said := call(t, "diff -f "+scaledJobFile(t, "", spec)+" --from "+want.from+" --to "+want.to, "")
		require.Empty(t, said)
		require.Equal(t, want.status, status, out)
		require.Contains(t, out, want.said)
		if want.from == "2.20" && want.to == "2.21" {
			require.NotContains(t, out, "spec.rollout.strategy")
		}
	}
	_, out, _ := call(t, "diff -o json -f "+scaledJobFile(t, "", "")+" --from 2.18.0 --to 2.18.3", "")
	require.Contains(t, out, `"differences":[]`)
}

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
		`{type: their-own, metadata: {}}`:                             false,
	} {
		file := write(t, "m.yaml", "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: m}\nspec:\n  triggers: ["+metadata+"]\n")
		manifests, err := (&input.ManifestFlags{Files: []string{file}}).Read(nil, nil)
		require.NoError(t, err)
		require.Equal(t, []bool{want}, counting(manifests[0]), metadata)
	}
}

// KEDA 2.20 leaves the taken jobs of Azure Pipelines out, and no decision shows it.
func TestDiffOfMetrics(t *testing.T) {
	pipelines := strings.Replace(hostileManifest, `{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: "5", host: "amqp://h/"}}`,
		`{type: azure-pipelines, metadata: {poolID: "1"}}`, 1)
	for releases, want := range map[string]string{
		"2.19 2.20": "Brought by KEDA 2.20.0.", "2.20 2.21": "Brought by KEDA 2.21.0.", "2.17 2.21": "", "2.20.0 2.20.1": "",
	} {
		from, to, _ := strings.Cut(releases, " ")
		status, out, _ := callWith(t, "diff - --from "+from+" --to "+to, []byte(pipelines))
		require.Equal(t, want != "", status == found && strings.Contains(out, "the metric of azure-pipelines") && strings.Contains(out, want), "%s: %s", releases, out)
	}
	_, out, _ := callWith(t, "diff - --from 2.20 --to 2.21", []byte(pipelines+"---\n"+hostileManifest))
	require.True(t, strings.HasSuffix(out, "\n1 of 2 ScaledJobs change from KEDA 2.20.2 to KEDA 2.21.0.\n"), out)
}
