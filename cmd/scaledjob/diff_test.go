package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

// Jobs without a generation are deleted by the first operator that looks for one, and all by those that do not.
func TestDiffUpgrade(t *testing.T) {
	for _, c := range []struct {
		spec, from, to string
		deleted        bool
	}{
		{"", "2.14.0", "2.14.1", true},
		{"", "2.9", "2.10", true},
		{"", "2.21", "2.13.1", true},
		{"", "2.14.1", "2.15", false},
		{"  rollout: {strategy: gradual}\n", "2.14.0", "2.14.1", false},
	} {
		status, out, said := call(t, "diff -f "+scaledJobFile(t, "", c.spec)+" --from "+c.from+" --to "+c.to, "")
		require.Empty(t, said)
		require.Equal(t, c.deleted, strings.Contains(out, "it deletes the Jobs of KEDA "+c.from), out)
		if c.deleted {
			require.Equal(t, found, status)
		}
	}
}

// KEDA 2.20 leaves the taken jobs of Azure Pipelines out, and no decision shows it.
func TestDiffOfMetrics(t *testing.T) {
	pipelines := strings.Replace(hostileManifest, `{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: "5", host: "amqp://h/"}}`,
		`{type: azure-pipelines, metadata: {poolID: "1"}}`, 1)
	for releases, want := range map[string]string{
		"2.19 2.20": "The change came with KEDA 2.20.0.", "2.20 2.21": "The change came with KEDA 2.21.0.", "2.17 2.21": "", "2.20.0 2.20.1": "",
	} {
		from, to, _ := strings.Cut(releases, " ")
		status, out, _ := callWith(t, "diff - --from "+from+" --to "+to, []byte(pipelines))
		require.Equal(t, want != "", status == found && strings.Contains(out, "the metric of azure-pipelines") && strings.Contains(out, want), "%s: %s", releases, out)
	}
	_, out, _ := callWith(t, "diff - --from 2.20 --to 2.21", []byte(pipelines+"---\n"+hostileManifest))
	require.True(t, strings.HasSuffix(out, "\n\n1 of 2 ScaledJobs change from KEDA 2.20.2 to KEDA 2.21.0: orders (standard input).\n"), out)
	require.Equal(t, 1, strings.Count(out, ": KEDA 2.20.2 and KEDA 2.21.0 create"), "the ScaledJob that does not change is not printed")
}

// Of ScaledJobs that change for the same reasons, one is printed. With all cases they have to be the same.
func TestDiffGroups(t *testing.T) {
	var all []string
	for _, m := range []string{"a accurate 5", "b eager 5", "c accurate 5", "d accurate 7", "e default 5"} {
		words := strings.Fields(m)
		all = append(all, strings.NewReplacer("name: orders", "name: "+words[0], "  triggers", "  scalingStrategy: {strategy: "+words[1]+"}\n  maxReplicaCount: "+words[2]+"\n  triggers").Replace(hostileManifest))
	}
	for flags, want := range map[string]string{"": "3 ScaledJobs change for the same reasons: a (standard input), c (standard input), d (standard input). The first",
		"--all": "2 ScaledJobs change for the same reasons: a (standard input), c (standard input). The first"} {
		status, out, _ := callWith(t, "diff - --from 2.18 --to 2.21 "+flags, []byte(strings.Join(all, "---\n")))
		require.Equal(t, found, status)
		require.Contains(t, out, want)
		require.Equal(t, strings.Count(out, "\nBecause:"), strings.Count(out, "create different numbers"))
		require.Equal(t, 1, strings.Count(out, "a: KEDA 2.18.3 and"))
		require.NotContains(t, out, "c: KEDA 2.18.3 and")
		require.Equal(t, flags != "", strings.Contains(out, "d: KEDA 2.18.3 and"))
	}
	_, out, _ := callWith(t, "diff - --from 2.18 --to 2.21 -o json", []byte(strings.Join(all, "---\n")))
	require.Equal(t, len(all), strings.Count(out, `"name":`))
}

// Of a directory with a chart, what is not rendered is left out and counted. A named file is not.
func TestDiffChart(t *testing.T) {
	dir := t.TempDir()
	chart := filepath.Join(dir, "chart.yaml")
	require.NoError(t, os.WriteFile(chart, []byte(strings.Replace(hostileManifest, "orders", "{{ .Release.Name }}", 1)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(hostileManifest), 0o600))
	status, out, said := call(t, "diff "+dir+" --from 2.20 --to 2.21", "")
	require.Equal(t, success, status, out)
	require.Contains(t, out, "create the same number")
	require.Equal(t, "skipped 1 Helm template; to check charts rendered, use helm template DIR | scaledjob diff -\n", said)
	for _, command := range []string{"explain " + dir + " --queue 5", "simulate " + dir + " --arrivals poisson:1/m --duration 2m --seeds 1"} {
		status, out, said := call(t, command, "")
		require.Equal(t, success, status, said)
		require.Contains(t, out, "KEDA 2.21.0")
		require.Contains(t, said, "skipped 1 Helm template; ", command)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "orders.yaml")))
	status, _, said = call(t, "diff "+dir+" --from 2.20 --to 2.21", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "no ScaledJob: the files were skipped")
	status, _, said = call(t, "diff "+chart+" --from 2.20 --to 2.21", "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "a template; render first")
}
