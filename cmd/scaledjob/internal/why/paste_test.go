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

const describedOrders = `Name:         orders
Namespace:    shop
Kind:         ScaledJob
Status:
  Conditions:
    Message:  Triggers defined in ScaledJob are not working correctly
    Reason:   TriggerError
    Status:   False
    Type:     Ready
Events:
  Type     Reason            Age                From           Message
  ----     ------            ----               ----           -------
  Warning  KEDAScalerFailed  2m (x12 over 10m)  keda-operator  dial tcp: lookup redis on 10.0.0.10:53: no such host
`

// TestPastes reads what kubectl prints, and refuses what is about other objects.
func TestPastes(t *testing.T) {
	for text, says := range map[string]string{
		describedOrders: "does not exist for the operator's pod",
		"LAST SEEN   TYPE      REASON             OBJECT             MESSAGE\n2m          Warning   KEDAScalerFailed   scaledjob/orders   dial: connection refused\n": "nothing listens at the address",
	} {
		var q Question
		read, err := q.ReadPaste(text)
		require.NoError(t, err)
		require.True(t, read)
		a := Explain(Read(), q).Subjects[0]
		require.Equal(t, "unreadable", a.Causes[0].ID)
		require.Contains(t, a.Answer, says)
	}
	var q Question
	_, err := q.ReadPaste("Name: orders-1\nNamespace: shop\nControlled By:  Job/orders\nStart Time: x\n")
	require.ErrorIs(t, err, ErrOtherPaste)
	read, err := q.ReadPaste(strings.Join(pollLines(0, "orders", 1, 0, 0), "\n"))
	require.NoError(t, err)
	require.False(t, read)
	l := Read(`2026-01-02T10:00:36Z	INFO	scaleexecutor	Successfully set ScaleTarget replica count	{"scaledobject.Name": "web", "type": "ScaledObject"}`)
	require.Contains(t, strings.Join(Explain(l, Question{}).Notes, " "), "all lines are about ScaledObjects")
}

// TestWarned has events beside a ScaledJob that is ready: recent ones tell what KEDA warns of, each once.
func TestWarned(t *testing.T) {
	event := func(reason, age, message string) string {
		return age + " Warning " + reason + " scaledjob/orders " + message + "\n"
	}
	ofJob := func(name, reason string) string {
		return strings.Replace(event(reason, "1m", "failed quota: x"), "scaledjob/orders", "job/"+name, 1)
	}
	failed := event("KEDAScalerFailed", "9m", "dial: connection refused")
	for text, want := range map[string]string{
		failed: "unreadable", failed + event("KEDAScalerFailed", "10m", "x"): "unreadable", failed + event("KEDAJobCreateFailed", "2m (x3 over 9m)", "exceeded quota"): "unreadable create-failed",
		"shop " + event("ScalerFailed", "<unknown>", "x"): "unreadable", event("JobCreateFailed", "0s", "x"): "create-failed",
		failed + event("ScaledJobCheckFailed", "9m", "x"): "invalid", event("ScaledJobRolloutCleanupFailed", "1m", "x"): "warned",
		event("ScaledJobUpdateFailed", "1m", "forbidden"): "warned", event("ScaledJobUpdateFailed", "1m", "the object has been modified"): "",
		event("KEDAScalerFailed", "11m", "x"): "", event("KEDAScalerFailed", "1d", "x"): "", event("KEDAScalerFailed", "1m", "context canceled"): "",
		event("ScaledJobReady", "1m", "mended") + failed: "", event("KEDAScalersStarted", "1m", "x"): "", event("PolicyViolation", "1m", "x"): "",
		ofJob("orders-x7k2p", "FailedCreate") + failed: "unreadable stuck", ofJob("mails-x7k2p", "FailedCreate") + failed: "unreadable",
		ofJob("orders-29000123", "FailedCreate"): "", ofJob("orders-x7k2p", "BackoffLimitExceeded"): "",
	} {
		q := Question{Pasted: []*Paste{{Name: "orders", Live: Live{Conditions: []Condition{{Type: "Ready", Status: "True"}}}}}}
		_, err := q.ReadPaste(text)
		require.NoError(t, err)
		r := Explain(Read(), q)
		require.Len(t, r.Subjects, 1, text)
		require.Equal(t, want, strings.Join(ids(r.Subjects[0])[:len(r.Subjects[0].Causes)], " "), text)
		require.Equal(t, want == "", strings.Contains(r.Subjects[0].Answer, "show no problem"), text)
	}
}

// TestUnknownErrors shows errors that no rule knows, once with their number, without credentials.
func TestUnknownErrors(t *testing.T) {
	odd := "2026-01-02T10:00:05Z\tERROR\tx\tSomething odd\t{\"scaledJob.Name\": \"orders\", \"scaledJob.Namespace\": \"shop\", \"error\": \"no idea, password=hunter2\"}"
	operator := "2026-01-02T10:00:06Z\tERROR\tsetup\tno space\t{\"error\": \"disk full\"}"
	other := "2026-01-02T10:00:06Z\tERROR\tx\tbad\t{\"name\": \"web\", \"error\": \"of a ScaledObject\"}"
	lines := append(pollLines(0, "orders", 1, 0, 0), odd, odd, operator, other)
	r := Explain(Read(strings.Join(lines, "\n")), Question{})
	var b strings.Builder
	r.Print(&b)
	require.Contains(t, b.String(), `2 times: error: "Something odd: no idea, password=***"`)
	require.Contains(t, b.String(), `error of the operator: "no space: disk full"`)
	require.NotContains(t, b.String(), "of a ScaledObject")
	require.NotContains(t, b.String(), "hunter2")
}

// TestNoDemand has polls that a minimum keeps active: at T=0 no strategy is at fault.
func TestNoDemand(t *testing.T) {
	for _, strategy := range []string{"default", "accurate", "eager"} {
		spec := manifest.Objects([]byte(strings.Replace(strings.Replace(pastScaledJob, "spec: {", "spec: {minReplicaCount: 2, scalingStrategy: {strategy: "+strategy+"}, ", 1), "spec:\n", "spec:\n  minReplicaCount: 2\n  scalingStrategy: {strategy: "+strategy+"}\n", 1)))[0].ScaledJob
		require.NotNil(t, spec.Spec.MinReplicaCount)
		lines := each(pollLines(0, "orders", 2, 0, 1), func(_ int, l string) string { return strings.ReplaceAll(l, `obs": 1`, `obs": 0`) })
		a := Explain(Read(strings.Join(lines, "\n")), Question{Manifests: []*manifest.ScaledJob{spec}, Release: "2.13"}).Subjects[0]
		require.Equal(t, "no-demand", a.Causes[0].ID, "%s: %s", strategy, a.Answer)
		require.Contains(t, a.Answer, "at its activation value, or unreadable")
		require.NotContains(t, a.Answer, "maxReplicaCount")
	}
}

// TestReleaseRange has lines of several releases, of which some write no line about a failed trigger.
func TestReleaseRange(t *testing.T) {
	text := strings.Join(pollLines(0, "orders", 1, 0, 0)[:2], "\n") + "\n" + strings.Join(pollLines(30, "orders", 1, 0, 0)[:2], "\n") + "\n" + strings.Join(pollLines(60, "orders", 1, 0, 0)[:2], "\n")
	r := Explain(Read(text), Question{})
	require.Contains(t, r.Release, " to ")
	known := Explain(Read(text), Question{Release: "2.21"}).Subjects[0]
	var last *Cause
	for _, g := range known.Groups {
		if g.Cause != nil {
			last = g.Cause
		}
	}
	require.Equal(t, &known.Causes[0], last, "the timeline and the answer")
}

// TestCausesOfTriggers has a trigger without a queue, and a deduction that leaves nothing of any queue.
func TestCausesOfTriggers(t *testing.T) {
	idle := append(pollLines(0, "orders", 1, 0, 0)[:2], pollLines(30, "orders", 1, 0, 0)[:2]...)
	idle = append(idle, pollLines(60, "b", 0, 0, 0)...)
	for spec, c := range map[string]struct {
		lines []string
		says  string
	}{
		"triggers: [{type: cron, metadata: {timezone: UTC, start: 0 1 * * *, end: 0 2 * * *, desiredReplicas: '4'}}]": {idle, "because the trigger cron is outside of its window"},
		"scalingStrategy: {strategy: custom, customScalingQueueLengthDeduction: 5, customScalingRunningJobPercentage: '0.5'}, triggers: [{type: redis, metadata: {listLength: '1'}}]": {
			pollLines(0, "orders", 1, 0, 0), "customScalingQueueLengthDeduction is 5, and the queue may have 5 Jobs at most"},
	} {
		spec := manifest.Objects([]byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: orders, namespace: shop}\nspec: {maxReplicaCount: 5, jobTargetRef: {template: {}}, " + spec + "}\n"))[0].ScaledJob
		a := Explain(Read(strings.Join(c.lines, "\n")), Question{Name: "orders", Manifests: []*manifest.ScaledJob{spec}, Release: "2.21"}).Subjects[0]
		require.Contains(t, a.Answer, c.says)
		require.NotContains(t, a.Answer, "queue length")
	}
}

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

func TestAges(t *testing.T) {
	for text, want := range map[string]time.Duration{"45s": 45 * time.Second, "3m20s": 200 * time.Second, "2d3h": 51 * time.Hour, "5d": 120 * time.Hour, "<unknown>": 0} {
		require.Equal(t, want, ageOf(text), text)
	}
}
