package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const whyLog = `2026-01-02T10:00:00Z	INFO	scaleexecutor	Scaling Jobs	{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop", "Number of running Jobs": 5}
2026-01-02T10:00:00Z	INFO	scaleexecutor	Scaling Jobs	{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop", "Number of pending Jobs": 0}
2026-01-02T10:00:00Z	INFO	scaleexecutor	No need to create jobs - all requested jobs already exist	{"scaledJob.Name": "orders", "scaledJob.Namespace": "shop", "jobs": 0}
`

const whyScaledJob = `{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "orders", "namespace": "shop"}, "spec": {"minReplicaCount": 5,
 "jobTargetRef": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}},
 "triggers": [{"type": "redis", "metadata": {"listLength": "1"}}]},
 "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "TriggerError", "message": "Triggers defined in ScaledJob are not working correctly"}]}}`

// TestWhyCluster reads a cluster that refuses the log of one of two operators.
func TestWhyCluster(t *testing.T) {
	answers := map[string]string{
		"/apis/keda.sh/v1alpha1/namespaces/shop/scaledjobs/orders": whyScaledJob,
		"/apis/apps/v1/deployments": `{"items": [{"metadata": {"name": "keda-operator", "namespace": "keda"},
			"spec": {"template": {"spec": {"containers": [{"image": "ghcr.io/kedacore/keda:2.17.2"}]}}}}]}`,
		"/api/v1/namespaces/keda/pods":        `{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`,
		"/api/v1/namespaces/keda/pods/a/log":  whyLog + strings.ReplaceAll(whyLog, "shop", "bank") + strings.ReplaceAll(whyLog, "orders", "mails"),
		"/apis/batch/v1/namespaces/shop/jobs": `{"items": []}`,
		"/api/v1/namespaces/shop/pods":        `{"items": []}`,
		"/api/v1/namespaces/shop/events":      `{"items": [{"reason": "KEDAScalerFailed", "message": "dial tcp: lookup redis: no such host, password=hunter2secret"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, found := answers[r.URL.Path]
		if r.Method != http.MethodGet || strings.Contains(r.URL.Path, "secrets") {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		if !found {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	config := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(config, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": "`+server.URL+`"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`), 0o600))
	var out, problems strings.Builder
	status := run(t.Context(), []string{"why", "orders", "-n", "shop", "--kubeconfig", config}, strings.NewReader(""), &out, &problems)
	require.Equal(t, success, status, problems.String())
	for _, text := range []string{
		"KEDA 2.17.", "5 Jobs run and min is 5: KEDA creates for the queue only above min (R - min = 0, T = 0)", "not read: the log of b",
		"does not exist for the operator's pod", "in the cluster now: R=0, P=0", "lint      warning: spec.minReplicaCount is 5",
	} {
		require.Contains(t, out.String(), text)
	}
	require.NotContains(t, out.String(), "hunter2secret")
	out.Reset()
	bundle := filepath.Join(t.TempDir(), "orders.tgz")
	require.Equal(t, success, run(t.Context(), []string{"why", "orders", "-n", "shop", "--kubeconfig", config, "--bundle", bundle}, strings.NewReader(""), &out, &problems), problems.String())
	require.Contains(t, out.String(), `"scaledJob.Name":"orders"`)
	require.NotRegexp(t, "bank|mails", out.String(), "the content of the bundle is printed")
	out.Reset()
	require.Equal(t, success, run(t.Context(), []string{"why", bundle}, strings.NewReader(""), &out, &problems), problems.String())
	require.Contains(t, out.String(), "5 Jobs run and min is 5")
}

// TestWhyArguments has wrong arguments.
func TestWhyArguments(t *testing.T) {
	for _, args := range []string{"why", "why --log - --at today", "why --log - --release 9.9", "why --log - --release spec", "why orders.yaml"} {
		var out, problems strings.Builder
		require.Equal(t, trouble, run(t.Context(), strings.Fields(args), strings.NewReader(whyLog), &out, &problems), args)
		require.NotEmpty(t, problems.String())
	}
}

// TestExplainBlocked explains a ScaledJob that KEDA has rejected.
func TestExplainBlocked(t *testing.T) {
	text := strings.ReplaceAll(strings.ReplaceAll(whyScaledJob, `"TriggerError"`, `"ScaledJobCheckFailed"`), "Triggers defined", "No listName, triggers")
	var out, problems strings.Builder
	require.Equal(t, success, run(t.Context(), []string{"explain", "-", "--queue", "12"}, strings.NewReader(text), &out, &problems), problems.String())
	require.Contains(t, out.String(), "create    0 Jobs: KEDA does not poll this ScaledJob, whose status is not ready: No listName")
}
