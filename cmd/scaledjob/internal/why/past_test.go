package why

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
)

const pastScaledJob = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: orders, namespace: shop}
spec: {maxReplicaCount: 5, jobTargetRef: {template: {}}, triggers: [{type: redis, metadata: {listLength: "1"}}]}
`

// withPast explains a log with samples of the past, by the second after 10:00.
func withPast(t *testing.T, lines []string, q Question, samples map[int]string) *Account {
	t.Helper()
	q.Release = "2.21"
	q.Manifests = []*manifest.ScaledJob{manifest.Objects([]byte(pastScaledJob))[0].ScaledJob}
	for _, second := range slices.Sorted(maps.Keys(samples)) {
		q.Past = append(q.Past, ReadMetrics(samples[second], time.Date(2026, 1, 2, 10, 0, second, 0, time.UTC))...)
	}
	r := Explain(Read(strings.Join(lines, "\n")), q)
	require.NotEmpty(t, r.Subjects)
	return r.Subjects[0]
}

// series is a line of the operator's endpoint.
func series(name, namespace string, labels string, value float64) string {
	return fmt.Sprintf("keda_scaler_%s{metric=\"s0-redis-a\",namespace=%q,scaledObject=\"orders\",triggerIndex=\"0\",type=\"scaledjob\"%s} %v\n", name, namespace, labels, value)
}

// TestPastNamespace has samples of two ScaledJobs of a name, and a log that tells the namespace.
func TestPastNamespace(t *testing.T) {
	a := withPast(t, pollLines(0, "orders", 5, 0, 0), Question{}, map[int]string{
		1: series("metrics_value", "shop", "", 9) + series("metrics_value", "bank", "", 0),
		2: series("metrics_value", "shop", "", 9) + series("metrics_value", "bank", "", 99)})
	require.Contains(t, a.Groups[0].Text, "s0-redis-a 9 (target 1)")
}

// TestPastRuns has samples after the last poll of the second run.
func TestPastRuns(t *testing.T) {
	lines := append(pollLines(0, "orders", 1, 0, 0), "2026-01-02T10:00:10Z\tINFO\tsetup\tKEDA Version: 2.21.0")
	a := withPast(t, append(lines, pollLines(30, "orders", 1, 0, 0)...), Question{}, map[int]string{45: series("metrics_value", "shop", "", 9)})
	last := a.Groups[len(a.Groups)-1]
	require.Contains(t, last.Text, "Prometheus")
	require.Equal(t, 1, last.Run)
}

// maximumReached are the lines of an active poll with 5 running Jobs at level info.
func maximumReached(second int) []string {
	return append(pollLines(second, "orders", 5, 0, 0)[:2], each(pollLines(second, "orders", 5, 0, 1)[2:], func(_ int, l string) string {
		return strings.ReplaceAll(l, `obs": 1`, `obs": 0`)
	})...)
}

// TestFailing has counters of two pods of the operator, one of which starts again.
func TestFailing(t *testing.T) {
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	past := func(pairs ...float64) (all Metrics) {
		for i, value := range pairs {
			all = append(all, ReadMetrics(series("detail_errors_total", "shop", fmt.Sprintf(",pod=\"%d\"", i%2), value), at)...)
		}
		return all
	}
	require.Empty(t, past(1, 9, 1, 9, 0, 9, 0, 9).failing())
	require.Equal(t, []string{"trigger 0"}, past(9, 2, 0, 2, 3, 2).failing())
}
