//go:build unix

package lint_test

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

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

// Files in which each of n parts has to be found among n others. With a search from the start for each part, no
// check keeps the bound.
var largeFiles = []struct {
	name     string
	findings int
	text     string
}{
	{"unknown fields", 90_000, fmt.Sprintf(head, "", "", "{type: sqs, metadata: {a: b}}") + many(90_000, "", "  unknown#: 1\n")},
	{"unknown fields in a line", 8_000, `{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "orders"}, "spec": {` + many(8_000, ",", `"unknown#":1`) + "}}"},
	{"missing Secrets", 3_000, fmt.Sprintf(head, ", env: ["+many(3_000, ", ", "{name: E#, valueFrom: {secretKeyRef: {name: s#, key: k}}}")+"]", "", "{type: cpu}") +
		many(3_000, "", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: t#, namespace: shop}\n")},
	{"one authentication", 1_500, fmt.Sprintf(head, "", "", many(1_500, ", ", "{type: rabbitmq, authenticationRef: {name: a}, metadata: {queueName: q, mode: QueueLength, value: '1'}}")) +
		"---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a, namespace: shop}\nspec: {secretTargetRef: [" + many(1_500, ", ", "{parameter: host#, name: s, key: h}") + "]}\n"},
	{"ScaledJobs of one authentication", 5_000, many(300, "---\n", fmt.Sprintf(head, "", "", "{type: rabbitmq, authenticationRef: {name: a}, metadata: {queueName: q, mode: QueueLength, value: '1'}}")) +
		"---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a, namespace: shop}\nspec: {secretTargetRef: [" + many(5_000, ", ", "{parameter: host#, name: s, key: h}") + "]}\n"},
	{"keys of a trigger", 30_000, fmt.Sprintf(head, "", "", "{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: '1', "+many(30_000, ", ", "k#: a")+"}}")},
	{"variables of a trigger", 30_000, fmt.Sprintf(head, "", "", "{type: rabbitmq, metadata: {queueName: q, mode: QueueLength, value: '1', "+many(30_000, ", ", "k#FromEnv: a")+"}}")},
	{"sources of variables", 0, fmt.Sprintf(head, ", envFrom: ["+many(3_000, ", ", "{configMapRef: {name: c#}}")+"]", "",
		many(3_000, ", ", "{type: rabbitmq, metadata: {hostFromEnv: E#, queueName: q, mode: QueueLength, value: '1'}}")) +
		many(3_000, "", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c#, namespace: shop}\ndata: {E#: amqp://a}\n")},
	{"namespaces of a name", 3_000, many(2_000, "", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n#}\n") + "---\n" +
		many(3_000, "---\n", strings.ReplaceAll(fmt.Sprintf(head, ", env: [{name: E, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "", "{type: cpu}"), "shop", "m#"))},
	{"names beside similar names", 1, fmt.Sprintf(head, "", ", imagePullSecrets: ["+many(3_000, ", ", "{name: s#"+long+"}")+"]", "{type: cpu}") +
		many(900, "", "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-"+long+"-#, namespace: shop}\n")},
	{"pending conditions", 10_000, strings.ReplaceAll(fmt.Sprintf(head, "", "", "{type: cpu}"), "  maxReplicaCount", "  scalingStrategy: {strategy: accurate, pendingPodConditions: ["+many(10_000, ", ", "c#, c#")+"]}\n  maxReplicaCount")},
	{"lists beside lists", 0, strings.ReplaceAll(fmt.Sprintf(head, "", "", many(20_000, ", ", "{type: redis, metadata: {address: 'a:1', listName: 'q#:wait'}}")), "  maxReplicaCount", "  scalingStrategy: {multipleScalersCalculation: sum, strategy: accurate}\n  maxReplicaCount")},
	{"files without a ScaledJob", 0, many(60_000, nextFile, "kind: Deployment\n")},
	{"containers of one authentication", 3_000, many(3_000, "---\n", strings.ReplaceAll(fmt.Sprintf(head, "", "", "{type: cpu, authenticationRef: {name: a}}"), "orders", "orders#")) +
		"---\napiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: a, namespace: shop}\nspec: {env: [" + many(3_000, ", ", "{parameter: p#, name: E#, containerName: c#}") + "]}\n"},
	{"comments", 1_000, "# scaledjob:ignore min-above-max\n" + strings.Repeat("# scaledjob:ignore max-below-1\n", 50_000) + fmt.Sprintf("{apiVersion: keda.sh/v1alpha1, kind: ScaledJob, spec: {%s}}", many(1_000, ", ", "u#: 1"))},
}

// The cost of a check grows with the size of the files.
func TestCost(t *testing.T) {
	for _, tt := range largeFiles {
		t.Run(tt.name, func(t *testing.T) {
			began := processorTime(t)
			var files []lint.File
			for i, text := range strings.Split(tt.text, nextFile) {
				files = append(files, lint.File{Name: fmt.Sprintf("%d.yaml", i), Data: []byte(text)})
			}
			r := lint.Check(files)
			require.NoError(t, r.WriteText(io.Discard))
			require.Less(t, processorTime(t)-began, 10*time.Second)
			require.GreaterOrEqual(t, len(r.Findings), min(tt.findings, 5_000)) // the bound of a file
		})
	}
}

// The cost of other commands' errors grows with the size of a file, too.
func TestCostOfProblems(t *testing.T) {
	const n = 20_000
	began := processorTime(t)
	_, _, err := input.Source{Name: "a.yaml", Data: []byte(many(n, "", "---\nkind: ScaledJob\nmetadata: {name: [}\n"))}.Manifests()
	require.Len(t, input.Problems(err), n)
	var into struct {
		Tests []struct {
			Name *string `json:"name"`
		} `json:"tests"`
	}
	err = input.Decode(input.Source{Name: "a.yaml", Data: []byte("tests:\n" + many(n, "", "  - {name: , u#: 1}\n"))}, &into, func() error { return nil }, "test")
	require.Len(t, input.Problems(err), 2*n)
	require.Less(t, processorTime(t)-began, 8*time.Second)
}

func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
