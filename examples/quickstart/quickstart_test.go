package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
)

const manifestText = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: consumer}
spec:
  jobTargetRef:
    template:
      spec:
        containers: [{name: c, image: example.com/c:1}]
  triggers:
    - type: rabbitmq
      metadata: {value: "1"}
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func quickstart(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// The story of the strategy default: 3 messages get 3 Jobs, the same 3 get none
// more, 3 more get 3, and once the first have finished 3 messages get none.
func TestStory(t *testing.T) {
	status, out, errs := quickstart("-f", write(t, "s.yaml", manifestText), "-queue", "3,3,6,6,3")
	require.Zero(t, status, errs)
	var created []string
	for line := range strings.Lines(out) {
		if n, ok := strings.CutPrefix(line, "  create    "); ok {
			created = append(created, strings.TrimSpace(n))
		}
	}
	require.Equal(t, []string{"3: the strategy's proposal", "0: the strategy's proposal", "3: the strategy's proposal",
		"0: the strategy's proposal", "0: the strategy's proposal"}, created, out)
	require.Contains(t, out, "5 polls, longest queue 6: 6 Jobs created, 0 rolled out, 0 pruned; at most 6 unfinished at once, of 100 allowed")
	require.Contains(t, out, "Jobs: 3 running, 0 pending, 3 succeeded, 0 failed\n")
}

func TestHistoryIsPruned(t *testing.T) {
	limited := strings.Replace(manifestText, "spec:\n", "spec:\n  successfulJobsHistoryLimit: 1\n", 1)
	status, out, errs := quickstart("-f", write(t, "s.yaml", limited), "-queue", "4,0,0,0,0,0")
	require.Zero(t, status, errs)
	require.Contains(t, out, "4 Jobs created, 0 rolled out, 3 pruned")
	require.Contains(t, out, "Jobs: 0 running, 0 pending, 1 succeeded, 0 failed\n")
}

func TestCSV(t *testing.T) {
	two := strings.Replace(manifestText, "  triggers:\n", "  triggers:\n    - {type: aws-sqs-queue, name: orders, metadata: {queueLength: \"2\"}}\n", 1)
	file := write(t, "s.yaml", two)
	status, out, errs := quickstart("-f", file, "-queue", write(t, "q.csv", "time,rabbitmq,orders\n0,1,0\n45,1,40\n1m15s,0,0\n"), "-poll", "15s")
	require.Zero(t, status, errs)
	require.Contains(t, out, "poll 4 at 45s: orders has 40 items; rabbitmq has 1 items;")
	require.Contains(t, out, "max is orders: queue length 40 asks for 20 Jobs, rounded up to 20")
	require.Contains(t, out, "6 polls, longest queue 40: 21 Jobs created")
}

func TestUnknownTrigger(t *testing.T) {
	file := write(t, "s.yaml", strings.Replace(manifestText, "rabbitmq", "our-own", 1))
	status, _, errs := quickstart("-f", file)
	require.Equal(t, 1, status)
	require.Contains(t, errs, `or a target average value given by the caller for "our-own"`)
	for _, target := range []string{"5", "our-own=5"} {
		status, out, errs := quickstart("-f", file, "-queue", "11", "-target", target)
		require.Zero(t, status, errs)
		require.Contains(t, out, "created   3: ")
	}
}

func TestBadInput(t *testing.T) {
	good := write(t, "s.yaml", manifestText)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no such file", []string{"-f", "nowhere.yaml"}, 1, "nowhere.yaml: no such file"},
		{"not a ScaledJob", []string{"-f", write(t, "d.yaml", "apiVersion: apps/v1\nkind: Deployment\n")}, 1, "no ScaledJob: found a Deployment"},
		{"unknown field", []string{"-f", write(t, "u.yaml", manifestText+"  maxReplicas: 3\n")}, 1, "spec.maxReplicas: found an unknown field"},
		{"negative queue", []string{"-f", good, "-queue", "0,-3"}, 1, `poll 2: queue length "-3": want a number of 0 or more`},
		{"unreadable queue", []string{"-f", good, "-queue", "0,x"}, 1, `poll 2: queue length "x"`},
		{"no such queue", []string{"-f", good, "-queue", "nowhere.csv"}, 1, "neither queue lengths such as 0,3,6,3 nor a CSV file"},
		{"bad header", []string{"-f", good, "-queue", write(t, "q.csv", "t,n\n0,1\n")}, 1, "the header is t,n: want time,rabbitmq"},
		{"bad time", []string{"-f", good, "-queue", write(t, "q.csv", "time,rabbitmq\nnoon,1\n")}, 1, `line 2: time "noon"`},
		{"time goes back", []string{"-f", good, "-queue", write(t, "q.csv", "time,rabbitmq\n5,1\n5,1\n")}, 1, "line 3: want a later time"},
		{"bad target", []string{"-f", good, "-target", "many"}, 1, `-target "many": want a number`},
		{"bad kubeconfig", []string{"-f", good, "-kubeconfig", "nowhere"}, 1, "-kubeconfig: "},
		{"negative poll", []string{"-f", good, "-poll", "-1s"}, 1, "-poll -1s: want a time"},
		{"unknown flag", []string{"-x"}, 2, "flag provided but not defined: -x"},
		{"argument", []string{"s.yaml"}, 2, `unexpected argument "s.yaml"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := quickstart(tt.args...)
			require.Equal(t, tt.status, status)
			require.Contains(t, errs, tt.want)
			require.Empty(t, out)
		})
	}
}

func TestMinAboveMaxIsAWarning(t *testing.T) {
	file := write(t, "s.yaml", strings.Replace(manifestText, "spec:\n", "spec:\n  minReplicaCount: 5\n  maxReplicaCount: 2\n", 1))
	status, out, errs := quickstart("-f", file, "-queue", "0")
	require.Zero(t, status, errs)
	require.Contains(t, out, "warning: spec.minReplicaCount: found 5; use maxReplicaCount or less; it is taken as 2")
	require.Contains(t, out, "create    2: ")
}

// The Jobs belong to the ConfigMap, and KEDA does not count them.
func TestJobsBelongToTheConfigMap(t *testing.T) {
	o := options{manifest: write(t, "s.yaml", manifestText)}
	s, err := o.scaledJob()
	require.NoError(t, err)
	config, err := scaledjob.Configure(s, nil)
	require.NoError(t, err)
	local := newCluster(time.Now())
	p := player{
		out: io.Discard, s: s, config: config, queue: queue{{lengths: []float64{2}}},
		client: local.client, now: local.time, wait: local.advance,
	}
	require.NoError(t, p.play(t.Context()))
	jobs, err := local.client.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, jobs.Items, 2)
	for _, j := range jobs.Items {
		require.NotContains(t, j.Labels, manifest.LabelName)
		require.Equal(t, "ConfigMap", j.OwnerReferences[0].Kind)
		require.Equal(t, "1", j.Annotations[adapter.AnnotationGeneration])
	}
}
