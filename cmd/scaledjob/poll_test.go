package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter"
)

// A dumped Job is what the tests say of one.
type dumped struct {
	name, namespace, label, owner, generation, outcome string
}

// dumpFile writes what kubectl get jobs -o json would, with the tracking label of 2.4 and
// later unless another is said.
func dumpFile(t *testing.T, tracking string, jobs ...dumped) string {
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
	return written(t, "jobs.json", string(data))
}

const label24 = "scaledjob.keda.sh/name"

// scaledJob writes a manifest of m at generation 3, with more of its metadata and spec.
func scaledJobFile(t *testing.T, metadata, spec string) string {
	t.Helper()
	return written(t, "m.yaml", `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: m, generation: 3`+metadata+`}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}
  triggers: [{type: redis, metadata: {listLength: "2"}}]
`+spec)
}

// KEDA takes the Jobs of a namespace with its label, whoever owns them; the specification takes
// those of an owner, whatever their labels.
func TestWhoseJobs(t *testing.T) {
	for name, c := range map[string]struct {
		metadata, tracking string
		jobs               []dumped
		keda, spec         string // release, and the Jobs that go
	}{
		"no owner":            {", namespace: default", label24, []dumped{{"x", "default", "m", "", "2", "Complete"}}, "x", ""},
		"label overwritten":   {", namespace: default, uid: u", label24, []dumped{{"x", "default", "other", "u", "2", "Complete"}}, "", "x"},
		"another namespace":   {", namespace: default", label24, []dumped{{"x", "zz", "m", "u", "2", "Complete"}}, "", ""},
		"the owner before it": {", namespace: default, uid: u", label24, []dumped{{"x", "default", "m", "v", "2", "Complete"}}, "x", ""},
		"any namespace":       {"", label24, []dumped{{"x", "zz", "m", "u", "2", "Complete"}}, "x", "x"},
		"a Job without one":   {", namespace: default, uid: u", label24, []dumped{{"x", "", "m", "u", "2", "Complete"}}, "x", "x"},
		"no namespace":        {"", label24, []dumped{{"x", "", "m", "u", "2", "Complete"}}, "x", "x"},
		"before 2.4":          {"", "scaledjob", []dumped{{"x", "zz", "m", "u", "2", "Complete"}}, "", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			command := "explain " + scaledJobFile(t, c.metadata, "  scalingStrategy: {pendingPodConditions: [Ready]}\n  successfulJobsHistoryLimit: 0\n") + " --jobs " + dumpFile(t, c.tracking, c.jobs...) + " -o name"
			for as, want := range map[string]string{"2.21": c.keda, "spec": c.spec} {
				status, out, said := call(t, command+" --release "+as, "")
				require.Equal(t, success, status, said)
				require.Equal(t, want, strings.TrimPrefix(strings.TrimSpace(out), "job.batch/"), as)
			}
		})
	}
	jobs := dumpFile(t, "scaledjob", dumped{"x", "default", "m", "u", "", "Complete"})
	_, out, _ := call(t, "explain --release 2.3 -o name -f "+scaledJobFile(t, "", "  successfulJobsHistoryLimit: 0\n")+" --jobs "+jobs, "")
	require.Equal(t, "job.batch/x\n", out)

	status, _, said := call(t, "explain -f "+scaledJobFile(t, "", "")+" --jobs "+dumpFile(t, label24, dumped{"x", "a", "m", "", "", ""}, dumped{"x", "b", "m", "", "", ""}), "")
	require.Equal(t, trouble, status)
	require.Contains(t, said, "called m in the namespaces a, b; use a manifest with metadata.namespace")
}

// A dump is one or several documents in one or several files. A Job counts once, and is
// deleted once even if it is both outdated and finished.
func TestDumps(t *testing.T) {
	job := func(name string) string {
		return `{"kind":"Job","metadata":{"name":"` + name + `","namespace":"n","labels":{"scaledjob.keda.sh/name":"m"},"annotations":{"scaledjob.keda.sh/generation":"3"}}}`
	}
	pod := func(job string) string {
		return `{"kind":"Pod","metadata":{"name":"` + job + `-x","namespace":"n","labels":{"job-name":"` + job + `"}},"status":{"phase":"Running"}}`
	}
	manifest := scaledJobFile(t, "", "")
	for name, texts := range map[string][]string{
		"a list":               {`{"kind":"List","items":[` + job("a") + "," + job("b") + "," + pod("a") + `]}`},
		"objects one by one":   {job("a"), job("b"), pod("a")},
		"JSON one by one":      {job("a") + job("b") + "\n" + pod("a")},
		"JSON between dashes":  {"---\n" + job("a") + "\n---\n" + job("b") + "\n---\n" + pod("a") + "\n---\n"},
		"YAML and an empty":    {"# Jobs\n---\n" + job("a") + "\n---\nkind: List\nitems:\n- " + job("b") + "\n---\n" + pod("a")},
		"YAML, bare dashes":    {"items:\n-\n  " + job("a") + "\n-\n  " + job("b") + "\n-\n  " + pod("a") + "\nkind: List\n"},
		"pods of others":       {job("a") + job("b") + pod("a") + strings.ReplaceAll(pod("c"), `"labels":{"job-name":"c"}`, `"ownerReferences":[{"kind":"ReplicaSet","name":"b","controller":true}]`)},
		"the same in two":      {job("a") + job("b") + pod("a"), job("b") + pod("a") + job("a")},
		"typed lists together": {`{"kind":"JobList","items":[` + job("a") + "," + job("b") + `]}{"kind":"PodList","items":[` + pod("a") + `]}`},
	} {
		command := "explain --queue 1 " + manifest
		for _, text := range texts {
			command += " --jobs " + written(t, "dump", text)
		}
		status, out, said := call(t, command, "")
		require.Equal(t, success, status, said)
		require.Contains(t, out, "R=2 running, P=1 of them pending", name)
	}
	for text, want := range map[string]string{"": "not JSON", "# a\n": "not JSON", job("a") + "{": "not JSON", job("a") + "\n---\nkind: Service\n": "found a Service", job("a") + "\n---\n[]": "not JSON",
		"items:\n-\n  kind: Service\n-\n  " + job("a") + "\nkind: List\n": "found a Service"} {
		status, _, said := call(t, "explain --queue 1 "+manifest+" --jobs "+written(t, "dump", text), "")
		require.Equal(t, trouble, status, text)
		require.Contains(t, said, want, text)
	}
	_, _, said := call(t, "explain --queue 1 "+manifest+" --jobs "+t.TempDir(), "")
	require.Equal(t, 1, strings.Count(said, "is a directory"))
	require.NotContains(t, said, "read ")
	done := dumpFile(t, label24, dumped{"x", "d", "m", "u", "2", "Complete"})
	_, out, _ := call(t, "explain -o name "+scaledJobFile(t, "", "  successfulJobsHistoryLimit: 0\n")+" --jobs "+done, "")
	require.Equal(t, "job.batch/x\n", out)
}

// A Job that runs is not pending, in any order of its pods, with and without their UIDs.
func TestPodsOfADump(t *testing.T) {
	const job = `{"kind":"Job","metadata":{"name":"j","namespace":"n","labels":{"scaledjob.keda.sh/name":"m"},"annotations":{"scaledjob.keda.sh/generation":"3"},` +
		`"ownerReferences":[{"kind":"ScaledJob","name":"m","uid":"u","controller":true}]}}`
	manifest := scaledJobFile(t, "", "")
	for _, about := range []string{`"labels":{"job-name":"j"}`, `"labels":{"batch.kubernetes.io/job-name":"j"}`, `"ownerReferences":[{"kind":"Job","name":"j","controller":true}]`} {
		for phases, pending := range map[[2]string]string{{"Running", "Failed"}: "P=0", {"Failed", "Running"}: "P=0", {"Pending", "Succeeded"}: "P=0", {"Succeeded", "Unknown"}: "P=0", {"Failed", "Pending"}: "P=1"} {
			text := job
			for i, phase := range phases {
				text += fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"p%d","namespace":"n",%s},"status":{"phase":%q}}`, i, about, phase)
			}
			_, out, said := call(t, "explain --queue 1 --release spec,2.21 "+manifest+" --jobs "+written(t, "dump", text), "")
			require.Equal(t, 2, strings.Count(out, "R=1 running, "+pending+" of them pending"), "%v with %s: %s%s", phases, about, out, said)
		}
	}
}

// Under the specification an edit deletes the Jobs of another template, also of the second manifest of a text;
// KEDA deletes all of an older generation.
func TestEditOfTemplate(t *testing.T) {
	text, err := os.ReadFile(scaledJobFile(t, "", ""))
	require.NoError(t, err)
	var object struct {
		Spec struct{ JobTargetRef map[string]any }
	}
	require.NoError(t, yaml.Unmarshal(text, &object))
	job := func(name, hash string) string {
		return fmt.Sprintf(`{"kind":"Job","metadata":{"name":%q,"namespace":"d","labels":{"scaledjob.keda.sh/name":"m"},"annotations":{"scaledjob.keda.sh/generation":"2",%q:%q},
			"ownerReferences":[{"kind":"ScaledJob","name":"m","uid":"u","controller":true}]}}`, name, adapter.AnnotationTemplateHash, hash)
	}
	dump := written(t, "jobs.json", job("same", adapter.TemplateHash(object.Spec.JobTargetRef))+job("edited", "another"))
	several := written(t, "several.yaml", strings.Replace(string(text), "name: m", "name: first", 1)+"---\n"+string(text))
	for release, want := range map[string]string{"spec": "job.batch/edited\n", "2.21": "job.batch/same\njob.batch/edited\n"} {
		_, out, said := call(t, "explain -o name --name m --release "+release+" "+several+" --jobs "+dump, "")
		require.Equal(t, want, out, said)
	}
}

// Each deletion has a reason, and so has its absence.
func TestWhyJobsAreDeleted(t *testing.T) {
	const paused = `, annotations: {autoscaling.keda.sh/paused: "true"}`
	const gradual = "  rollout: {strategy: gradual}\n"
	current, old := dumped{"x", "d", "m", "u", "3", ""}, dumped{"x", "d", "m", "u", "2", ""}
	done := dumped{"x", "d", "m", "u", "3", "Complete"}
	other := dumped{"x", "d", "n", "", "2", ""}
	for name, c := range map[string]struct {
		release, metadata, spec string
		jobs                    []dumped
		want                    string
	}{
		"2.13 deletes all":         {"2.13", "", "", []dumped{current}, "x  of any generation  background\n          rule: Every Job is deleted on each reconciliation, unless"},
		"2.21 deletes older":       {"2.21", "", "", []dumped{old}, "x  of generation 2, not 3"},
		"2.3 deletes none":         {"2.3", "", "", []dumped{old}, "rollout   0 Jobs: A rollout selects Jobs by a label that no Job has"},
		"empty":                    {"2.21", "", "", nil, "rollout   0 Jobs: there are no Jobs"},
		"others'":                  {"2.21", "", "", []dumped{other}, "rollout   0 Jobs: none of 1 Job belongs to m"},
		"current":                  {"2.21", "", "", []dumped{current}, "rollout   0 Jobs: all are of generation 3"},
		"paused":                   {"2.21", paused, "", []dumped{old}, "rollout   0 Jobs: the ScaledJob is paused"},
		"gradual":                  {"2.21", "", gradual, []dumped{old}, "rollout   0 Jobs: the rollout strategy is gradual"},
		"gradual, spec":            {"spec", "", gradual, []dumped{old}, "rollout   0 Jobs: the rollout strategy is gradual"},
		"current, spec":            {"spec", "", "", []dumped{current}, "rollout   0 Jobs: no unfinished Job is of another template and generation"},
		"no hash, spec":            {"spec", "", "", []dumped{old}, "rollout   0 Jobs: the template of 1 unfinished Job is not known: no annotation "},
		"paused, spec":             {"spec", paused, "", []dumped{old}, "rollout   0 Jobs: the ScaledJob is paused"},
		"others', spec":            {"spec", "", "", []dumped{other}, "rollout   0 Jobs: none of 1 Job belongs to m"},
		"prune, paused":            {"2.21", paused, "  successfulJobsHistoryLimit: 0\n", []dumped{done}, "prune     0 Jobs: the ScaledJob is paused"},
		"prune, paused, spec":      {"spec", paused, "  successfulJobsHistoryLimit: 0\n", []dumped{done}, "x  succeeded  finished 2026-01-01T00:00:00Z"},
		"prune, empty":             {"2.21", "", "", nil, "prune     0 Jobs: there are no Jobs"},
		"prune, others'":           {"2.21", "", "", []dumped{other}, "prune     0 Jobs: none of 1 Job belongs to m"},
		"prune, few":               {"2.21", "", "", []dumped{done}, "prune     0 Jobs: no more have finished than are kept"},
		"prune, panics at once":    {"2.19", "", "  successfulJobsHistoryLimit: -1\n", []dumped{done}, "prune     0 Jobs: KEDA panics: a negative history limit"},
		"prune, panics after some": {"2.19", "", "  successfulJobsHistoryLimit: 0\n  failedJobsHistoryLimit: -1\n", []dumped{done}, "x  succeeded  finished 2026-01-01T00:00:00Z\n          and then KEDA panics: a negative history limit"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, said := call(t, "explain --queue 1 --release "+c.release+" "+scaledJobFile(t, c.metadata, c.spec)+" --jobs "+dumpFile(t, label24, c.jobs...), "")
			require.Equal(t, success, status, said)
			require.Contains(t, out, c.want)
		})
	}
}

// Fields that a release ignores or rejects are noted.
func TestNotes(t *testing.T) {
	jobs := dumpFile(t, label24)
	file := scaledJobFile(t, "", "  rollout: {strategy: default}\n")
	_, out, said := call(t, "explain --release 2.20 "+file+" --jobs "+jobs, "")
	require.Contains(t, said, `:7: spec.rollout.strategy: found "default", which KEDA 2.20.2 rejects; use one of gradual, immediate`)
	require.NotContains(t, out, "note")
	_, out, _ = call(t, "explain --release 2.20 -o json "+file+" --jobs "+jobs, "")
	require.Contains(t, out, `:7: spec.rollout.strategy`)
	_, _, said = call(t, "explain --release spec "+scaledJobFile(t, "", "  scalingStrategy: {strategy: custom}\n")+" --jobs "+jobs, "")
	require.Contains(t, said, "note: spec.scalingStrategy.customScalingRunningJobPercentage")
	var stderr bytes.Buffer
	forged := written(t, "a\nnote: forged.yaml", strings.Replace(hostileManifest, "spec:\n", "spec:\n  maxReplicaCont: 5\n", 1))
	run(t.Context(), []string{"explain", "--queue", "5", forged}, nil, io.Discard, &stderr)
	require.Contains(t, stderr.String(), `\nnote: forged.yaml:5: spec.maxReplicaCont`)
}

// A trigger that leaves out the items in progress, under a strategy that subtracts the running
// Jobs, is a note, and its surplus is not known.
func TestExplainWaitingOnly(t *testing.T) {
	file := func(strategy string) string {
		return written(t, "m.yaml", `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: m}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: c, image: i}]}}}
  triggers: [{type: rabbitmq, metadata: {mode: QueueLength, value: "2"}}, {type: temporal, metadata: {targetQueueSize: "2"}}]
  scalingStrategy: {strategy: `+strategy+`}
`)
	}
	for strategy, want := range map[string]bool{"default": true, "accurate": false} {
		_, out, _ := call(t, "explain "+file(strategy)+" --queue 8,9 --release spec -o json", "")
		require.Equal(t, want, strings.Contains(out, "spec.triggers[1]: found temporal; use a metric that counts items in progress, or the strategy accurate"), out)
		require.Equal(t, want, strings.Contains(out, `"reason":"WaitingOnly"`), out)
		require.NotContains(t, out, "spec.triggers[0]: found")
	}
}

// A TriggerAuthentication beside the ScaledJob counts for the first line.
func TestNeverPolledByAuthentication(t *testing.T) {
	tree(t, map[string]string{"job.yaml": `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: agents, namespace: ci}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: agent, image: example.com/agent:1}]}}}
  triggers: [{type: azure-pipelines, metadata: {poolID: "1"}, authenticationRef: {name: azure}}]
`, "azure.yaml": `apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: azure, namespace: ci}
spec: {secretTargetRef: [{parameter: personalAccessToken, name: azure, key: token}]}
`})
	_, out, _ := call(t, "explain --queue 10 .", "")
	require.Contains(t, out, "agents: KEDA never polls this manifest. spec.triggers[0].metadata.organizationURL is missing")
	_, out, _ = call(t, "explain --queue 10 job.yaml", "")
	require.Contains(t, out, "KEDA 2.21.0 creates 10 Jobs")

	// Two directories may have ScaledJobs of one name, of which one is broken.
	good := `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: example.com/a:1}]}}}
  triggers: [{type: kafka, metadata: {bootstrapServers: "kafka.shop.svc:9092", consumerGroup: a, topic: b}}]
`
	tree(t, map[string]string{"dev/orders.yaml": good, "prod/orders.yaml": strings.Replace(good, "consumerGroup: a, ", "", 1)})
	_, out, _ = call(t, "explain --queue 10 --partitions 3 dev prod", "")
	require.Equal(t, 1, strings.Count(out, "KEDA never polls this manifest"), out)
}
