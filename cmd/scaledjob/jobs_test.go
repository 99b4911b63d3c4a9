package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A dumped Job is what the tests say of one.
type dumped struct {
	name, namespace, label, owner, generation, outcome string
}

// dump writes what kubectl get jobs -o json would, with the tracking label of 2.4 and
// later unless another is said.
func dump(t *testing.T, tracking string, jobs ...dumped) string {
	t.Helper()
	items := []any{}
	for _, j := range jobs {
		metadata := map[string]any{"name": j.name, "namespace": j.namespace, "labels": map[string]string{tracking: j.label}}
		if j.owner != "" {
			metadata["ownerReferences"] = []any{map[string]any{"kind": "ScaledJob", "name": "m", "uid": j.owner, "controller": true}}
		}
		if j.generation != "" {
			metadata["annotations"] = map[string]string{"scaledjob.keda.sh/generation": j.generation}
		}
		status := map[string]any{}
		if j.outcome != "" {
			status["conditions"] = []any{map[string]string{"type": j.outcome, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
		}
		items = append(items, map[string]any{"kind": "Job", "metadata": metadata, "status": status})
	}
	data, err := json.Marshal(map[string]any{"kind": "List", "items": items})
	require.NoError(t, err)
	return write(t, "jobs.json", string(data))
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const label24 = "scaledjob.keda.sh/name"

// scaledJob writes a manifest of m at generation 3, with more of its metadata and spec.
func scaledJob(t *testing.T, metadata, spec string) string {
	t.Helper()
	return write(t, "m.yaml", `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: m, generation: 3`+metadata+`}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}
  triggers: [{type: redis, metadata: {listLength: "2"}}]
`+spec)
}

// KEDA takes the Jobs of a namespace with its label, whoever owns them; the core takes
// those of an owner, whatever their labels.
func TestWhoseJobs(t *testing.T) {
	for name, c := range map[string]struct {
		metadata, tracking string
		jobs               []dumped
		keda, core         string // release, and the Jobs that go
	}{
		"no owner":            {", namespace: default", label24, []dumped{{"x", "default", "m", "", "2", ""}}, "x", ""},
		"label overwritten":   {", namespace: default, uid: u", label24, []dumped{{"x", "default", "other", "u", "2", ""}}, "", "x"},
		"another namespace":   {", namespace: default", label24, []dumped{{"x", "zz", "m", "u", "2", ""}}, "", ""},
		"the owner before it": {", namespace: default, uid: u", label24, []dumped{{"x", "default", "m", "v", "2", ""}}, "x", ""},
		"any namespace":       {"", label24, []dumped{{"x", "zz", "m", "u", "2", ""}}, "x", "x"},
		"before 2.4":          {"", "scaledjob", []dumped{{"x", "zz", "m", "u", "2", ""}}, "", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			command := "rollout -f " + scaledJob(t, c.metadata, "") + " --jobs " + dump(t, c.tracking, c.jobs...) + " -o name"
			for as, want := range map[string]string{"keda@2.21": c.keda, "core": c.core} {
				status, out, said := call(t, command+" --as "+as, "")
				require.Equal(t, success, status, said)
				require.Equal(t, want, strings.TrimPrefix(strings.TrimSpace(out), "job.batch/"), as)
			}
		})
	}
	jobs := dump(t, "scaledjob", dumped{"x", "default", "m", "u", "", "Complete"})
	_, out, _ := call(t, "prune --as keda@2.3 -o name -f "+scaledJob(t, "", "  successfulJobsHistoryLimit: 0\n")+" --jobs "+jobs, "")
	require.Equal(t, "job.batch/x\n", out)

	status, _, said := call(t, "prune -f "+scaledJob(t, "", "")+" --jobs "+dump(t, label24, dumped{"x", "a", "m", "", "", ""}, dumped{"x", "b", "m", "", "", ""}), "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "called m in the namespaces a, b: want metadata.namespace in the manifest")
}

// What is said of Jobs that go, and of none, is why.
func TestWhyJobsGo(t *testing.T) {
	const paused = `, annotations: {autoscaling.keda.sh/paused: "true"}`
	const gradual = "  rollout: {strategy: gradual}\n"
	current, old := dumped{"x", "d", "m", "u", "3", ""}, dumped{"x", "d", "m", "u", "2", ""}
	done := dumped{"x", "d", "m", "u", "3", "Complete"}
	other := dumped{"x", "d", "n", "", "2", ""}
	for name, c := range map[string]struct {
		command, metadata, spec string
		jobs                    []dumped
		want                    string
	}{
		"2.13 takes all":           {"rollout --as keda@2.13", "", "", []dumped{current}, "x  of whatever generation  background\nby this rule: Every Job is deleted on each reconciliation, unless"},
		"2.21 takes older":         {"rollout", "", "", []dumped{old}, "x  of generation 2, and not 3"},
		"2.3 takes none":           {"rollout --as keda@2.3", "", "", []dumped{old}, ": A rollout looks for a label that no Job has"},
		"rollout, empty":           {"rollout", "", "", nil, "0 of the 0 Jobs of m: the dump has no Jobs"},
		"rollout, others'":         {"rollout", "", "", []dumped{other}, ": none of the 1 Jobs in the dump is its"},
		"rollout, current":         {"rollout", "", "", []dumped{current}, ": all are of generation 3"},
		"rollout, paused":          {"rollout", paused, "", []dumped{old}, ": it is paused"},
		"rollout, gradual":         {"rollout", "", gradual, []dumped{old}, ": the rollout strategy gradual leaves"},
		"rollout, gradual, core":   {"rollout --as core", "", gradual, []dumped{old}, ": the rollout strategy gradual leaves"},
		"rollout, current, core":   {"rollout --as core", "", "", []dumped{current}, ": none that has not finished is of a generation below 3"},
		"rollout, paused, core":    {"rollout --as core", paused, "", []dumped{old}, ": it is paused"},
		"rollout, others', core":   {"rollout --as core", "", "", []dumped{other}, ": none of the 1 Jobs in the dump is its"},
		"prune, paused":            {"prune", paused, "  successfulJobsHistoryLimit: 0\n", []dumped{done}, ": it is paused"},
		"prune, paused, core":      {"prune --as core", paused, "  successfulJobsHistoryLimit: 0\n", []dumped{done}, "x  succeeded  finished 2026-01-01T00:00:00Z"},
		"prune, empty":             {"prune", "", "", nil, ": the dump has no Jobs"},
		"prune, others'":           {"prune", "", "", []dumped{other}, ": none of the 1 Jobs in the dump is its"},
		"prune, few":               {"prune", "", "", []dumped{done}, ": no more have finished than are kept"},
		"prune, panics at once":    {"prune --as keda@2.19", "", "  successfulJobsHistoryLimit: -1\n", []dumped{done}, ": KEDA panics: a negative history limit"},
		"prune, panics after some": {"prune --as keda@2.19", "", "  successfulJobsHistoryLimit: 0\n  failedJobsHistoryLimit: -1\n", []dumped{done}, "x  succeeded  finished 2026-01-01T00:00:00Z\nand then KEDA panics: a negative history limit"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := call(t, c.command+" -f "+scaledJob(t, c.metadata, c.spec)+" --jobs "+dump(t, label24, c.jobs...), "")
			require.Equal(t, success, status, said)
			require.Contains(t, out, c.want)
		})
	}
}

// What a release ignores or refuses is said, whatever is asked.
func TestNotesOnJobs(t *testing.T) {
	jobs := dump(t, label24)
	for _, command := range []string{"prune", "rollout"} {
		file := scaledJob(t, "", "  rollout: {strategy: default}\n")
		_, out, said := call(t, command+" --as keda@2.20 -f "+file+" --jobs "+jobs, "")
		require.Contains(t, said, `note: spec.rollout.strategy is "default": KEDA 2.20.2 wants one of gradual, immediate`)
		require.NotContains(t, out, "note")
		_, out, _ = call(t, command+" --as keda@2.20 -o json -f "+file+" --jobs "+jobs, "")
		require.Contains(t, out, `"notes":["spec.rollout.strategy`)

		_, _, said = call(t, command+" --as core -f "+scaledJob(t, "", "  scalingStrategy: {strategy: custom}\n")+" --jobs "+jobs, "")
		require.Contains(t, said, "note: spec.scalingStrategy.customScalingRunningJobPercentage")
	}
	status, out, said := call(t, "prune --as keda@2.19 -o name -f "+scaledJob(t, "", "  successfulJobsHistoryLimit: -1\n")+" --jobs "+jobs, "")
	require.Equal(t, success, status)
	require.Empty(t, out)
	require.Contains(t, said, "note: KEDA panics: a negative history limit")
}
