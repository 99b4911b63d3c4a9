//go:build unix

package lint_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint"
)

// head begins a ScaledJob. %s is in its container, and its triggers follow.
const head = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop}
spec:
  jobTargetRef: {template: {spec: {restartPolicy: Never, containers: [{name: worker, image: registry.example.com/orders:1%s}]%s}}}
  maxReplicaCount: 5
  triggers: [%s]
`

const (
	oneAuthentication = "{type: rabbitmq, authenticationRef: {name: a}, metadata: {queueName: q, mode: QueueLength, value: '1'}}"
	authentication    = "---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a, namespace: shop}\nspec: {"
)

// many returns a text for each number, joined.
func many(n int, separator, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
	}
	return strings.Join(all, separator)
}

// nextFile separates files.
const nextFile = "\x00"

// long is the rest of a name.
var long = strings.Repeat("x", 200)

// Files in which each of n parts has to be found among n others.
var largeFiles = []struct {
	name string
	n    int
	text func(n int) string
}{
	{"unknown fields", 40_000, func(n int) string {
		return fmt.Sprintf(head, "", "", "{type: sqs, metadata: {a: b}}") + many(n, "", "  unknown#: 1\n")
	}},
	{"unknown fields in a line", 8_000, func(n int) string {
		return `{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "orders"}, "spec": {` + many(n, ",", `"unknown#":1`) + "}}"
	}},
	{"missing Secrets", 3_000, func(n int) string {
		return fmt.Sprintf(head, ", env: ["+many(n, ", ", "{name: E#, valueFrom: {secretKeyRef: {name: s#, key: k}}}")+"]", "", "{type: cpu}") +
			many(n, "", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: t#, namespace: shop}\n")
	}},
	{"one authentication", 1_500, func(n int) string {
		return fmt.Sprintf(head, "", "", many(n, ", ", oneAuthentication)) + authentication + "secretTargetRef: [" + many(n, ", ", "{parameter: host#, name: s, key: h}") + "]}\n"
	}},
	{"ScaledJobs of one authentication", 5_000, func(n int) string {
		return many(n/16, "---\n", fmt.Sprintf(head, "", "", oneAuthentication)) + authentication + "secretTargetRef: [" + many(n, ", ", "{parameter: host#, name: s, key: h}") + "]}\n"
	}},
	{"keys of a trigger", 12_000, func(n int) string {
		return fmt.Sprintf(head, "", "", "{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: '1', "+many(n, ", ", "k#: a")+"}}")
	}},
	{"variables of a trigger", 12_000, func(n int) string {
		return fmt.Sprintf(head, "", "", "{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: '1', "+many(n, ", ", "k#FromEnv: a")+"}}")
	}},
	{"sources of variables", 2_000, func(n int) string {
		return fmt.Sprintf(head, ", envFrom: ["+many(n, ", ", "{configMapRef: {name: c#}}")+"]", "",
			many(n, ", ", "{type: rabbitmq, metadata: {hostFromEnv: E#, queueName: q, mode: QueueLength, value: '1'}}")) +
			many(n, "", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c#, namespace: shop}\ndata: {E#: amqp://a}\n")
	}},
	{"namespaces of a name", 2_000, func(n int) string {
		return many(n, "", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n#}\n") + "---\n" +
			many(n, "---\n", strings.ReplaceAll(fmt.Sprintf(head, ", env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "", "{type: cpu}"), "shop", "m#"))
	}},
	{"names beside similar names", 3_000, func(n int) string {
		return fmt.Sprintf(head, "", ", imagePullSecrets: ["+many(n, ", ", "{name: s#"+long+"}")+"]", "{type: cpu}") +
			many(n/3, "", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-"+long+"-#, namespace: shop}\n")
	}},
	{"pending conditions", 10_000, func(n int) string {
		return strings.ReplaceAll(fmt.Sprintf(head, "", "", "{type: cpu}"), "  maxReplicaCount", "  scalingStrategy: {strategy: accurate, pendingPodConditions: ["+many(n, ", ", "c#, c#")+"]}\n  maxReplicaCount")
	}},
	{"lists beside lists", 8_000, func(n int) string {
		return strings.ReplaceAll(fmt.Sprintf(head, "", "", many(n, ", ", "{type: redis, metadata: {address: 'a:1', listName: 'q#:wait'}}")),
			"  maxReplicaCount", "  scalingStrategy: {multipleScalersCalculation: sum, strategy: accurate}\n  maxReplicaCount")
	}},
	{"files without a ScaledJob", 30_000, func(n int) string { return many(n, nextFile, "kind: Deployment\n") }},
	{"containers of one authentication", 3_000, func(n int) string {
		return many(n, "---\n", strings.ReplaceAll(fmt.Sprintf(head, "", "", "{type: cpu, authenticationRef: {name: a}}"), "orders", "orders#")) +
			authentication + "env: [" + many(n, ", ", "{parameter: p#, name: E#, containerName: c#}") + "]}\n"
	}},
	{"comments", 50_000, func(n int) string {
		return "# scaledjob:ignore min-above-max\n" + strings.Repeat("# scaledjob:ignore max-below-1\n", n) +
			fmt.Sprintf("{apiVersion: keda.sh/v1alpha1, kind: ScaledJob, spec: {%s}}", many(n/50, ", ", "u#: 1"))
	}},
}

// The cost of a check grows with the size of the files.
func TestCost(t *testing.T) {
	for _, tt := range largeFiles {
		t.Run(tt.name, func(t *testing.T) {
			requireLinear(t, tt.n, func(n int) {
				var files []lint.File
				for i, text := range strings.Split(tt.text(n), nextFile) {
					files = append(files, lint.File{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
				}
				r := lint.Check(files)
				require.NoError(t, r.WriteText(io.Discard))
			})
		})
	}
}

// The cost of other commands' errors grows with the size of a file, too.
func TestCostOfProblems(t *testing.T) {
	requireLinear(t, 20_000, func(n int) {
		_, _, err := input.Source{Name: "a.yaml", Data: []byte(many(n, "", "---\nkind: ScaledJob\nmetadata: {name: [}\n"))}.Manifests()
		require.Len(t, input.Problems(err), n)
		var into struct {
			Tests []struct {
				Name *string `json:"name"`
			} `json:"tests"`
		}
		err = input.Decode(input.Source{Name: "a.yaml", Data: []byte("tests:\n" + many(n, "", "  - {name: , u#: 1}\n"))}, &into, func() error { return nil }, "test")
		require.Len(t, input.Problems(err), 2*n)
	})
}

// requireLinear compares the processor time of n parts with that of a quarter of them: where each part is searched
// for from the start, it is sixteen times as much.
func requireLinear(t *testing.T, n int, check func(n int)) {
	var growth float64
	for range 3 { // other programs make single times longer
		if growth = processorTime(t, check, n) / processorTime(t, check, n/4); growth < 6 {
			return
		}
	}
	require.Less(t, growth, 6.0)
}

// processorTime is that of check, in seconds.
func processorTime(t *testing.T, check func(n int), n int) float64 {
	runtime.GC()
	var before, after syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &before))
	check(n)
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	return float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / 1e9
}
