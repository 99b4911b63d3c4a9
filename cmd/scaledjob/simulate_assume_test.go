package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/results"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
)

// written writes a file of the test.
func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// findings runs simulate, and returns its results.
func findings(t *testing.T, command string) (r results.Findings) {
	t.Helper()
	status, out, said := call(t, command+" -o json", "")
	require.NotEqual(t, trouble, status, said)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return r
}

// trigger is a manifest with a trigger and a variable.
func trigger(kind, metadata, rest string) string {
	return `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders}
spec:
  jobTargetRef: {template: {spec: {containers: [{name: c, image: i, env: [{name: URL, value: "amqp://host"}, {name: HIDDEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}}
  triggers: [{type: ` + kind + `, metadata: {` + metadata + `}` + rest + `}]
`
}

const assumed = " --arrivals constant:1/m --duration 2m --seeds 1"

// What the metric counts and the items of a Job are those of the manifest, with their
// source, and a flag overrides each.
func TestAssumptions(t *testing.T) {
	for _, tt := range []struct{ manifest, flags, counts, items string }{
		{trigger("redis", `listName: a, listLength: "5"`, ""), "", "waiting items trigger of type redis", "5 target of redis"},
		{trigger("redis", `listName: a, listLength: "5"`, ""), "--metric all --items-per-job 2", "waiting and in-progress items given", "2 given"},
		{trigger("kafka", `lagThreshold: "10"`, ""), "--items-per-job 0", "waiting and in-progress items trigger of type kafka", "until the queue is empty given"},
		{trigger("aws-sqs-queue", `queueLength: "1", scaleOnInFlight: "false"`, ""), "", "waiting items trigger of type aws-sqs-queue", "1 target"},
		{trigger("rabbitmq", `host: "amqp://host", mode: QueueLength, value: "2"`, ""), "", "waiting items trigger of type rabbitmq", "2 target"},
		{trigger("rabbitmq", `host: "http://host", mode: QueueLength, value: "2"`, ""), "", "waiting and in-progress items trigger of type rabbitmq", "2 target"},
		{trigger("rabbitmq", `hostFromEnv: URL, mode: QueueLength, value: "2"`, ""), "", "waiting items trigger of type rabbitmq", "2 target"},
		{trigger("rabbitmq", `hostFromEnv: HIDDEN, mode: QueueLength, value: "2"`, ""), "", "waiting and in-progress items protocol not in the manifest", "2 target"},
		{trigger("rabbitmq", `mode: QueueLength, value: "2"`, ", authenticationRef: {name: a}"), "", "waiting and in-progress items protocol not in the manifest", "2 target"},
		{trigger("postgresql", `targetQueryValue: "0.5"`, ""), "", "waiting and in-progress items assumed for postgresql", "1 target"},
	} {
		file := written(t, "m.yaml", tt.manifest)
		status, out, said := call(t, "simulate "+file+assumed+" "+tt.flags, "")
		require.Equal(t, success, status, said)
		words := strings.Join(strings.Fields(out), " ")
		require.Contains(t, words, "counts "+tt.counts, tt.manifest)
		require.Contains(t, words, "items per Job "+tt.items, tt.manifest)
		require.Contains(t, words, "release KEDA 2.21.0 the newest --release")
		require.Contains(t, words, "polling interval 30s default of a ScaledJob --polling-interval")
		require.Contains(t, words, "service 30s default of this command --service")
	}
	file := written(t, "m.yaml", strings.Replace(trigger("redis", `listLength: "5"`, ""), "  triggers", "  pollingInterval: 7\n  triggers", 1))
	_, out, _ := call(t, "simulate "+file+assumed, "")
	require.Contains(t, strings.Join(strings.Fields(out), " "), "polling interval 7s the manifest")
	_, out, _ = call(t, "simulate "+file+assumed+" --polling-interval 10s --release spec", "")
	require.Contains(t, strings.Join(strings.Fields(out), " "), "polling interval 10s given")
	require.Contains(t, out, "default, every 10s")
	file = written(t, "m.yaml", trigger("azure-pipelines", `organizationURL: u, poolID: "1"`, ""))
	status, out, said := call(t, "simulate "+file+assumed+" --compare 2.20,2.21,eager@2.20 --service 5m --details", "")
	require.Equal(t, success, status, said)
	require.Equal(t, 1, strings.Count(strings.Join(strings.Fields(out), " "), "azure-pipelines counts waiting items KEDA 2.20.2 --metric"))
	require.Contains(t, out, "2.20 starts too few Jobs", "the same queue has another length")
	_, out, _ = call(t, "simulate "+file+assumed+" --compare 2.20,2.21 --service 5m --metric all", "")
	require.Contains(t, out, "2.20 and 2.21 do the same")
	_, _, said = call(t, "simulate "+file+assumed+" --polling-interval 1500ms", "")
	require.Contains(t, said, "--polling-interval 1.5s: use whole seconds")
}

// lint and simulate agree about a queue read over AMQP under default.
func TestSimulateAgreesWithLint(t *testing.T) {
	file := written(t, "m.yaml", trigger("rabbitmq", `host: "amqp://host", queueName: q, mode: QueueLength, value: "1"`, ""))
	_, linted, _ := call(t, "lint "+file, "")
	require.Contains(t, linted, "Use the strategy accurate")
	_, out, _ := call(t, "simulate "+file+" --arrivals poisson:1/s --service 1m --compare default,accurate --details", "")
	require.Contains(t, out, "default starts too few Jobs")
	require.NotContains(t, out, "accurate creates")
}

// dumpOf is a list of Jobs of orders with a pod each, which waited and worked for so many
// seconds.
func dumpOf(times ...[2]int) string {
	begin := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) string { return begin.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339) }
	var items []string
	for i, d := range times {
		start := i * 100
		items = append(items, fmt.Sprintf(`{"kind":"Job","metadata":{"name":"orders-%d","labels":{"scaledjob.keda.sh/name":"orders"}}}`, i),
			fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"orders-%d-x","creationTimestamp":%q,"labels":{"batch.kubernetes.io/job-name":"orders-%d"}},
			"status":{"phase":"Succeeded","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":%q}],
			"containerStatuses":[{"state":{"terminated":{"startedAt":%q,"finishedAt":%q}}}]}}`,
				i, at(start), i, at(start+5), at(start+5+d[0]), at(start+5+d[0]+d[1])))
	}
	items = append(items, `{"kind":"Pod","metadata":{"name":"other","labels":{"batch.kubernetes.io/job-name":"other"}},"status":{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"startedAt":"2026-01-31T12:00:00Z","finishedAt":"2026-01-31T13:00:00Z"}}}]}}`)
	return `{"kind":"List","items":[` + strings.Join(items, ",") + `]}`
}

// Service and start times are those of the ScaledJob's pods; the time in which a pod was not
// scheduled is not part of its start.
func TestTimesOfRealJobs(t *testing.T) {
	manifest := written(t, "m.yaml", trigger("redis", `listLength: "2"`, ""))
	dump := written(t, "jobs.json", dumpOf([2]int{3, 40}, [2]int{7, 60}, [2]int{1, 20}))
	read := func(flags string) results.Findings {
		return findings(t, "simulate "+manifest+assumed+" --jobs "+dump+flags)
	}
	r := read("")
	require.Equal(t, "recorded:20s,30s,10s", r.Scenario.Queues[0].Service.String(), "two items a Job")
	require.Equal(t, "recorded:3s,7s,1s", r.Scenario.Jobs.Startup.String())
	require.Contains(t, r.Assumptions, scenario.Assumption{Name: "service", Value: "recorded:20s,30s,10s", Source: "3 pods of --jobs", Flag: "--service"})
	r = read(" --service 9s")
	require.Equal(t, "9s", r.Scenario.Queues[0].Service.String())
	require.Equal(t, "recorded:3s,7s,1s", r.Scenario.Jobs.Startup.String())
	_, _, said := call(t, "simulate "+manifest+assumed+" --items-per-job 0 --jobs "+dump, "")
	require.Contains(t, said, "--jobs with --items-per-job 0: the number of items of a Job is not known; use --service")
	_, _, said = call(t, "simulate "+manifest+assumed+" --jobs "+written(t, "none.json", dumpOf()), "")
	require.Contains(t, said, "found no succeeded pod or Job of orders; use the output of kubectl get jobs,pods -o json, with finished Jobs")

	alone := written(t, "alone.json", `{"kind":"List","items":[{"kind":"Job","metadata":{"name":"orders-1","labels":{"scaledjob.keda.sh/name":"orders"}},
		"status":{"startTime":"2026-01-31T12:00:00Z","completionTime":"2026-01-31T12:01:00Z","succeeded":1}}]}`)
	r = findings(t, "simulate "+manifest+assumed+" --jobs "+alone)
	require.Equal(t, "recorded:30s", r.Scenario.Queues[0].Service.String())
	require.Contains(t, r.Assumptions, scenario.Assumption{Name: "service", Value: "recorded:30s", Source: "1 Job of --jobs without pods; service has the startup", Flag: "--service"})
}

// Every command prints lines of at most the columns of the terminal, and simulate of 100 if they are
// not known. Lines of a single word may be longer, and below 80 columns the YAML and JSON of a help.
func TestColumns(t *testing.T) {
	long := strings.Repeat("long-name-", 9)
	manifest := written(t, "long.yaml", strings.Replace(trigger("rabbitmq", `queueName: q, host: "amqp://h", value: "5", mode: QueueLength`, ""),
		"type: rabbitmq,", "type: rabbitmq, name: "+long+",", 1))
	scenario := written(t, "scenario.yaml", "duration: 10m\npolicy: {name: "+long+"}\nqueues: [{name: "+long+", arrivals: constant:1/s, service: 30s}]\n")
	simulations := []string{
		workload + "--compare default,accurate,eager@2.18",
		workload + "--compare default,accurate,eager@2.18 --search --objective p95<1s",
		workload + "--search --objective p95<1h",
		"simulate " + manifest + " --arrivals poisson:2/s --duration 10m --service recorded:" + strings.Repeat("30s,", 40) + "1s",
		"simulate --scenario " + scenario,
	}
	others := []string{
		"explain testdata/accurate.yaml --jobs testdata/jobs.json --queue 8 --release 2.17,spec", "explain testdata/two.yaml --name both --queue rabbitmq=12,cache=unread",
		"diff testdata/accurate.yaml --from 2.4 --to 2.21 --all", "diff testdata/two.yaml --name both --from spec", "test testdata/tests",
		"next R/2026-10-25T00:30:00+02:00/PT1H --zone Europe/Berlin -n 3 --from 2026-10-25T00:00:00Z", "lint --rules", "lint --explain min-above-max",
		"--help",
	}
	root := newRoot()
	root.InitDefaultCompletionCmd()
	var helps []string
	for _, c := range root.Commands() {
		helps = append(helps, "help "+c.Name())
		for _, sub := range c.Commands() {
			helps = append(helps, "help "+c.Name()+" "+sub.Name())
		}
	}
	require.Greater(t, len(helps), 14)
	for _, columns := range []int{0, 40, 60, 80} {
		t.Setenv("COLUMNS", strconv.Itoa(columns))
		commands, most := slices.Concat(simulations, helps), report.Columns
		if columns > 0 {
			commands, most = slices.Concat(others, helps, simulations[:1], simulations[4:]), columns
		}
		for _, command := range commands {
			status, out, said := call(t, command, "")
			require.NotEqual(t, trouble, status, said)
			require.Greater(t, strings.Count(out, "\n"), 1)
			for line := range strings.SplitSeq(out, "\n") {
				if literal := strings.HasPrefix(command, "help ") && strings.Contains(line, ": "); utf8.RuneCountInString(line) > most && (most >= 80 || !literal) {
					assert.NotContains(t, strings.TrimSpace(strings.TrimSuffix(line, ` \`)), " ", "%s: %d columns", command, most)
				}
			}
		}
	}
	_, out, _ := call(t, "explain testdata/accurate.yaml --queue 8 -o json", "")
	require.Equal(t, 1, strings.Count(out, "\n"))
	_, out, _ = call(t, "lint testdata/manifest.yaml", "")
	require.Regexp(t, `(?m)^testdata/manifest.yaml:5:29: warning: .*\. \[restart-policy-missing\]$`, out)
}

// The charts have the same scale for all policies, and means instead of maxima: a queue that is
// long for a quarter of the time is not a black bar.
func TestTerminalCharts(t *testing.T) {
	_, out, _ := call(t, "simulate -f testdata/manifest.yaml --arrivals bursts:10/20m --service 5m --startup 0s --duration 2h", "")
	_, jobs, found := strings.Cut(out, "Jobs (maximum")
	require.True(t, found)
	row := strings.Split(jobs, "\n")[1]
	require.Less(t, strings.Count(row, "█"), 45, row)
	require.Contains(t, jobs, "Highest in any run: ")
}
