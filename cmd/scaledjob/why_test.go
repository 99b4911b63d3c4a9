package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/why"
)

const whyLog = `2026-01-02T10:00:00Z	INFO	scaleexecutor	Scaling Jobs	{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop", "Number of running Jobs": 5}
2026-01-02T10:00:00Z	INFO	scaleexecutor	Scaling Jobs	{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop", "Number of pending Jobs": 0}
2026-01-02T10:00:00Z	INFO	scaleexecutor	No need to create jobs - all requested jobs already exist	{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop", "jobs": 0}
`

const whyMetrics = `# TYPE keda_scaler_metrics_value gauge
keda_scaler_metrics_value{metric="s0-redis-a",namespace="shop",scaledObject="orders",scaler="redisScaler",triggerIndex="0",type="scaledjob"} 12
keda_scaler_active{metric="s0-redis-a",namespace="shop",scaledObject="orders",scaler="redisScaler",triggerIndex="0",type="scaledjob"} 1
keda_scaler_metrics_value{metric="s1-redis-b",namespace="shop",scaledObject="orders",scaler="redisScaler",triggerIndex="1",type="scaledjob"} 3
keda_scaler_metrics_value{metric="s0-redis-a",namespace="bank",scaledObject="orders",scaler="redisScaler",triggerIndex="0",type="scaledjob"} 99
`

const whyScaledJob = `{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "orders", "namespace": "shop"}, "spec": {"minReplicaCount": 5,
 "jobTargetRef": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
 "triggers": [{"type": "redis", "metadata": {"listLength": "1"}, "authenticationRef": {"name": "redis"}}, {"type": "redis", "metadata": {"listLength": "2"}, "authenticationRef": {"name": "secret"}}]},
 "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "TriggerError", "message": "Triggers defined in ScaledJob are not working correctly"}]}}`

// TestWhyCluster reads a cluster that refuses the log of one of two operators.
func TestWhyCluster(t *testing.T) {
	cluster := " -n shop --kubeconfig " + answering(t, map[string]string{
		"/apis/keda.sh/v1alpha1/namespaces/shop/scaledjobs/orders": whyScaledJob,
		"/apis/apps/v1/deployments": `{"items": [{"metadata": {"name": "keda-operator", "namespace": "keda"},
			"spec": {"template": {"spec": {"containers": [{"image": "ghcr.io/kedacore/keda:2.17.2"}]}}}}]}`,
		"/api/v1/namespaces/keda/pods":                                        `{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`,
		"/api/v1/namespaces/keda/pods/a:8080/proxy/metrics":                   whyMetrics,
		"/apis/keda.sh/v1alpha1/namespaces/shop/triggerauthentications/redis": `{"apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": {"name": "redis", "namespace": "shop"}, "spec": {"secretTargetRef": [{"parameter": "passwrd", "name": "redis", "key": "p"}]}}`,
		"/api/v1/namespaces/keda/pods/a/log":                                  whyLog + strings.ReplaceAll(whyLog, "shop", "bank") + strings.ReplaceAll(whyLog, "orders", "mails"),
		"/apis/batch/v1/namespaces/shop/jobs":                                 `{"items": []}`,
		"/api/v1/namespaces/shop/pods":                                        `{"items": []}`,
		"/api/v1/namespaces/shop/events":                                      `{"items": [{"involvedObject": {"name": "orders"}, "reason": "KEDAScalerFailed", "message": "dial tcp: lookup redis: no such host, password=hunter2secret"}]}`,
	})
	status, out, said := call(t, "why orders"+cluster, "")
	require.Equal(t, success, status, said)
	for _, text := range []string{
		"KEDA 2.17.", "no trigger asks for a Job (T=0)", "not read: the log of b",
		"does not exist for the operator's pod", "in the cluster now: R=0, P=0", "lint      warning: spec.minReplicaCount is 5",
		"not read: TriggerAuthentication secret in namespace shop", "the operator's metrics now: s0-redis-a 12 (target 1), s1-redis-b 3 (target 2)", "passwrd",
	} {
		require.Contains(t, out, text)
	}
	require.NotContains(t, out, "hunter2secret")
	status, out, said = call(t, "explain orders"+cluster, "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, "orders: one poll of KEDA 2.17")
	require.Contains(t, out, "create    5 Jobs: KEDA can read no trigger of this ScaledJob, whose status is not ready: Triggers defined")
	require.Contains(t, said, "queue length 12,3 of the operator's metrics")
	require.Contains(t, said, "not read: the metrics of b")
}

// TestWhyStarting has a Job whose only pod is starting, and has been for a while.
func TestWhyStarting(t *testing.T) {
	for age, want := range map[time.Duration]int{why.StuckAfter / 2: success, 2 * why.StuckAfter: found} {
		created := time.Now().Add(-age).UTC().Format(time.RFC3339)
		cluster := " -n shop --kubeconfig " + answering(t, map[string]string{
			"/scaledjobs":        `{"items": [` + strings.Replace(whyScaledJob, `"False"`, `"True"`, 1) + `]}`,
			"/scaledjobs/orders": strings.Replace(whyScaledJob, `"False"`, `"True"`, 1),
			"/jobs":              `{"items": [{"metadata": {"name": "j", "namespace": "shop", "creationTimestamp": "` + created + `", "labels": {"scaledjob.keda.sh/name": "orders"}}}]}`,
			"/pods": `{"items": [{"metadata": {"name": "p", "namespace": "shop", "creationTimestamp": "` + created + `", "labels": {"scaledjob.keda.sh/name": "orders", "job-name": "j"}},
				"status": {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]}}]}`,
		})
		status, out, said := call(t, "why --all"+cluster, "")
		require.Equal(t, want, status, out+said)
		require.Equal(t, want == found, strings.Contains(out, "1 pod: ContainerCreating"), out)
		require.Contains(t, out, "use --release and --log")
		status, _, said = call(t, "explain orders"+cluster, "")
		require.Equal(t, success, status, said)
		require.Contains(t, said, "use --release and --queue")
		_, _, said = call(t, "explain orders --release 2.17"+cluster, "")
		require.Contains(t, said, "use --queue")
	}
}

// TestWhyWarned has the event of a trigger that fails, in each of the forms of an event's time, beside Ready=True.
func TestWhyWarned(t *testing.T) {
	now, before := time.Now().UTC().Format(time.RFC3339), "2026-01-02T10:00:00.123456Z"
	for times, warned := range map[string]bool{
		`"lastTimestamp": "` + now + `"`: true, `"lastTimestamp": "` + before + `"`: false, `"lastTimestamp": null, "eventTime": "` + before + `"`: false,
		`"eventTime": "` + before + `", "series": {"count": 9, "lastObservedTime": "` + now + `"}`: true,
	} {
		cluster := " -n shop --kubeconfig " + answering(t, map[string]string{
			"/scaledjobs/orders": strings.Replace(whyScaledJob, `"False"`, `"True"`, 1),
			"/events":            `{"items": [{"involvedObject": {"name": "orders"}, "reason": "KEDAScalerFailed", "message": "dial: connection refused", ` + times + `}]}`,
		})
		_, out, said := call(t, "why orders"+cluster, "")
		require.Equal(t, warned, strings.Contains(out, "lthough Ready is True, a trigger cannot be read (event "), times+out+said)
	}
}

// TestWhyAll reads what the ScaledJobs of a namespace share once, and prints them in order.
func TestWhyAll(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	var items []json.RawMessage
	for _, name := range names {
		items = append(items, json.RawMessage(strings.NewReplacer(`"orders"`, `"`+name+`"`, `"False"`, `"True"`).Replace(whyScaledJob)))
	}
	server := &apiServer{answer: func(path, _ string) (int, any) {
		if strings.HasSuffix(path, "/scaledjobs") {
			return http.StatusOK, map[string]any{"items": items}
		}
		return http.StatusOK, map[string]any{"items": []any{}}
	}}
	_, out, said := call(t, "why --all -n shop --kubeconfig "+server.start(t), "")
	var found []string
	for _, m := range regexp.MustCompile(`shop/(\w+)`).FindAllStringSubmatch(out, -1) {
		found = append(found, m[1])
	}
	require.Equal(t, names, found, out+said)
	requests := slices.DeleteFunc(server.requests, func(r string) bool { return strings.Contains(r, "triggerauthentications") })
	require.Len(t, requests, 5, "the ScaledJobs, the operator, the Jobs, the pods and the events: %s", requests)
}

// TestWhyPrometheus explains a log of level info with the values of Prometheus.
func TestWhyPrometheus(t *testing.T) {
	const series = `{"status": "success", "data": {"resultType": "matrix", "result": [
		{"metric": {"__name__": "keda_scaler_metrics_value", "exported_namespace": "shop", "namespace": "keda", "scaledObject": "orders", "metric": "s0-redis-a", "triggerIndex": "0", "type": "scaledjob"},
		 "values": [[1767347985, "0"], [1767348005, "9"], [1767348035, "9"]]},
		{"metric": {"__name__": "keda_scaler_detail_errors_total", "namespace": "shop", "scaledObject": "orders", "triggerIndex": "0"}, "values": [[1767347985, "1"], [1767348035, "4"]]}]}}`
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+" "+r.FormValue("query")+" "+r.FormValue("time"))
		_, _ = io.WriteString(w, series)
	}))
	defer server.Close()
	command := "why --log - --release 2.21 " + written(t, "orders.yaml", `{apiVersion: keda.sh/v1alpha1, kind: ScaledJob, metadata: {name: orders, namespace: shop},
spec: {maxReplicaCount: 5, jobTargetRef: {template: {}}, triggers: [{type: redis, metadata: {listLength: "1"}}]}}`) + " --prometheus "
	status, out, said := callWith(t, command+server.URL, []byte(whyLog))
	require.Equal(t, success, status, said)
	require.Equal(t, []string{`GET /api/v1/query {__name__=~"keda_scaler_(metrics_value|active|errors|detail_errors_total)",scaledObject="orders"}[3600s] 2026-01-02T10:01:00Z`}, asked)
	for _, text := range []string{
		"09:59:45           Prometheus: s0-redis-a 0 (target 1, inactive)", "s0-redis-a 9 (target 1) R=5 P=0", "(value of Prometheus)",
		"errors of these triggers increase: trigger 0", "the maximum is reached",
	} {
		require.Contains(t, out, text)
	}
	status, out, said = callWith(t, command+strings.Replace(server.URL, "http://", "http://user:hunter2secret@", 1)+"1/", []byte(whyLog))
	require.Equal(t, success, status, said)
	require.Contains(t, out, "not read: Prometheus: ")
	require.NotContains(t, out, "hunter2secret")
}

// TestWhyMetrics explains a ScaledJob without a log, by the operator's metrics.
func TestWhyMetrics(t *testing.T) {
	for text, want := range map[string]string{
		"active{%s} 0":              "s0-redis-a is 12 and the trigger is inactive",
		"active{%s} 1":              "creates 12 Jobs: the queue asks for 12 Jobs (T), R=0 run, P=0",
		"detail_errors_total{%s} 1": "creates 12 Jobs",
	} {
		labels := `metric="s0-redis-a",namespace="shop",scaledObject="orders",triggerIndex="0"`
		log := "keda_scaler_metrics_value{" + labels + "} 12\nkeda_scaler_" + strings.ReplaceAll(text, "%s", labels) + "\n"
		found, _, err := input.Source{Name: "f", Data: []byte(`{apiVersion: keda.sh/v1alpha1, kind: ScaledJob, metadata: {name: orders, namespace: shop},
spec: {jobTargetRef: {template: {}}, triggers: [{type: redis, metadata: {listLength: "1"}}]}}`)}.Manifests()
		require.NoError(t, err)
		r := why.Explain(why.Read(), why.Question{Manifests: []*manifest.ScaledJob{found[0].Spec}, Release: "2.21", Namespace: "shop",
			Live: map[string]*why.Live{"orders": {Counted: true, Metrics: why.ReadMetrics(log, time.Now())}}})
		require.Contains(t, r.Subjects[0].Answer, want, text)
	}
}

// TestWhyOddBytes has a log with bytes that no text has, and one that is no text.
func TestWhyOddBytes(t *testing.T) {
	status, out, said := callWith(t, "why --log -", []byte(whyLog+"worker \xff\n"))
	require.Equal(t, success, status, said)
	require.Contains(t, out, "shop/orders: 1 poll, 1 complete")
	status, _, said = callWith(t, "why --log -", []byte("\xff\x00"))
	require.Equal(t, trouble, status)
	require.Contains(t, said, "not text")
}

// TestWhyArguments has wrong arguments.
func TestWhyArguments(t *testing.T) {
	for _, args := range []string{"why", "why --log - --at today", "why --log - --release 9.9", "why --log - --release spec", "why orders.yaml"} {
		status, _, said := callWith(t, args, []byte(whyLog))
		require.Equal(t, trouble, status, args)
		require.NotEmpty(t, said)
	}
}

// TestExplainBlocked explains a ScaledJob that KEDA has rejected.
func TestExplainBlocked(t *testing.T) {
	text := strings.ReplaceAll(strings.ReplaceAll(whyScaledJob, `"TriggerError"`, `"ScaledJobCheckFailed"`), "Triggers defined", "No listName, triggers")
	status, out, said := callWith(t, "explain - --queue 12,3", []byte(text))
	require.Equal(t, success, status, said)
	require.Contains(t, out, "create    0 Jobs: KEDA does not poll this ScaledJob, whose status is not ready: No listName")
	for reason, create := range map[string]int64{"ScaledJobCheckFailed": 0, "TriggerError": 4} {
		status, out, said := callWith(t, "explain - --queue 12,3 --running 1 -o json", []byte(strings.ReplaceAll(whyScaledJob, `"TriggerError"`, `"`+reason+`"`)))
		require.Equal(t, success, status, said)
		var p struct{ Create, Corrected struct{ Jobs int64 } }
		require.NoError(t, json.Unmarshal([]byte(out), &p))
		require.Equal(t, create, p.Create.Jobs, reason)
		require.EqualValues(t, 4, p.Corrected.Jobs, reason)
	}
}

// TestExplainOperator takes the queue length from Prometheus or the operator's log, without its metrics.
func TestExplainOperator(t *testing.T) {
	const value = `{"level":"debug","ts":"2026-01-02T10:00:00Z","logger":"scale_handler","msg":"Scaler Metric value","scaledJob.Name":"orders","isTriggerActive":true,"s0-redis-a":7,"targetAverageValue":1}`
	const series = `{"status": "success", "data": {"result": [{"metric": {"__name__": "keda_scaler_metrics_value", "namespace": "shop", "scaledObject": "orders", "triggerIndex": "0", "type": "scaledjob"}, "values": [[1, "9"]]}]}}`
	past := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, series) }))
	defer past.Close()
	for flags, want := range map[string]string{"": "queue length 7 of the operator's log", "--prometheus " + past.URL: "queue length 9 of Prometheus", "--queue 3": ""} {
		status, out, said := call(t, "explain orders -n shop "+flags+" --kubeconfig "+answering(t, map[string]string{
			"/scaledjobs/orders": `{"metadata": {"name": "orders", "namespace": "shop", "generation": 1}, "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob",
				"spec": {"jobTargetRef": {"template": {}}, "triggers": [{"type": "redis", "metadata": {"listLength": "1"}}]}}`,
			"/deployments": `{"items": [{"metadata": {"name": "keda-operator", "namespace": "keda"}, "spec": {"template": {"spec": {"containers": [{"image": "registry/keda:main"}]}}}}]}`,
			"/keda/pods":   `{"items": [{"metadata": {"name": "a"}}]}`,
			"/pods/a/log":  value + "\n" + strings.ReplaceAll(whyLog, "5}", "1}"),
			"/jobs":        `{"items": []}`, "/shop/pods": `{"items": []}`,
		}), "")
		require.Equal(t, success, status, said)
		require.Contains(t, said, want)
		require.Contains(t, said, "not read: the operator's release: its image has no tag")
		create := map[string]string{"": "7", "--queue 3": "3"}[flags]
		require.Contains(t, out, "create    "+cmp.Or(create, "9"), flags)
	}
}

// TestWhySpan asks Prometheus for the span of a log, to the first minute of it.
func TestWhySpan(t *testing.T) {
	now := time.Now()
	recent := now.Add(-10 * time.Minute)
	for name, c := range map[string]struct {
		from, to, at, end time.Time
		span              time.Duration
	}{
		"recent":        {now.Add(-3 * time.Hour), recent, time.Time{}, now, 3 * time.Hour},
		"old":           {recent.AddDate(0, -1, 0).Add(-3 * time.Hour), recent.AddDate(0, -1, 0), time.Time{}, recent.AddDate(0, -1, 0).Add(time.Minute), 3*time.Hour + time.Minute},
		"moment":        {now.Add(-3 * time.Hour), now, recent, recent.Add(time.Minute), 3*time.Hour - 9*time.Minute},
		"without years": {time.Date(0, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 5, 2, 0, 0, 0, 0, time.UTC), time.Time{}, now, time.Hour},
		"no times":      {time.Time{}, time.Time{}, time.Time{}, now, time.Hour},
	} {
		var query string
		var end time.Time
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query = r.FormValue("query")
			end, _ = time.Parse(time.RFC3339, r.FormValue("time"))
			_, _ = io.WriteString(w, `{"status": "success"}`)
		}))
		_, err := prometheus(t.Context(), server.URL, "shop", "orders", time.Hour, &why.Log{From: c.from, End: c.to}, c.at)
		server.Close()
		require.NoError(t, err, name)
		require.WithinDuration(t, c.end, end, 10*time.Minute-time.Second, name)
		_, text, _ := strings.Cut(query, "[")
		span, err := time.ParseDuration(strings.TrimSuffix(text, "]"))
		require.NoError(t, err, name)
		require.GreaterOrEqual(t, span, c.span-time.Second, name)
		require.Less(t, span, c.span+10*time.Minute, name)
	}
}

// TestWhyHostile has names of a manifest and of arguments that lead to other paths.
func TestWhyHostile(t *testing.T) {
	const secret = "../../../../../../api/v1/namespaces/kube-system/secrets/admin"
	for _, name := range []string{secret, "..", "x/../y", "a%2Fb", "a?b"} {
		server := &apiServer{answer: func(path, _ string) (int, any) {
			if path == "/apis/keda.sh/v1alpha1/namespaces/shop/scaledjobs/orders" {
				return http.StatusOK, json.RawMessage(strings.Replace(whyScaledJob, `{"name": "secret"}`, `{"name": "`+name+`"}`, 1))
			}
			return http.StatusForbidden, nil
		}}
		config := server.start(t)
		var out, problems strings.Builder
		require.Equal(t, success, run(t.Context(), []string{"why", "orders", "-n", "shop", "--kubeconfig", config, "--output", "json"}, strings.NewReader(""), &out, &problems), problems.String())
		require.Contains(t, out.String(), name+`\" does not exist, and a trigger refers to it`)
		require.Equal(t, trouble, run(t.Context(), []string{"why", "scaledjob/" + name + "%", "-n", "shop", "--kubeconfig", config}, strings.NewReader(""), &out, &problems))
		require.Equal(t, trouble, run(t.Context(), []string{"why", "orders", "-n", secret, "--kubeconfig", config}, strings.NewReader(""), &out, &problems))
		asked := strings.Join(server.requests, "\n")
		require.NotContains(t, asked, "secrets")
		require.Equal(t, 1, strings.Count(asked, "triggerauthentications"), asked)
	}
}
