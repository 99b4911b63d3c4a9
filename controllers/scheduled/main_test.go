package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/apiserver"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-lease-duration", "1s"}:  "-lease-duration: found 1s; use 2s or more",
		{"-resync", "0s"}:          "-resync: found 0s; use a time above 0",
		{"-request-ttl", "-1ns"}:   "-request-ttl: found -1ns; use 0s or more",
		{"-request-timeout", "0s"}: "-request-timeout: found 0s; use 1s or more",
	} {
		status, said := processtest.Run(t, newOptions(), args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	_, said := processtest.Run(t, newOptions(), "-log-format=xml", "-request-timeout=-1s", "-resync=-1s")
	for _, want := range []string{"-log-format", "-request-timeout", "-resync"} {
		require.Contains(t, said, want, "all at once")
	}
	processtest.Parse(t, newOptions(), "-request-ttl=0s", "-resync=1ns")
	status, said := processtest.Run(t, newOptions(), "-help")
	require.Zero(t, status)
	require.Contains(t, said, "-install")
}

// The resync of the proposal is 5 seconds; the README names the others.
func TestDefaults(t *testing.T) {
	o := processtest.Parse(t, newOptions())
	o.Options = process.Options{}
	require.Equal(t, &options{resync: 5 * time.Second, requestTTL: 10 * time.Minute, requestTimeout: 15 * time.Second}, o)
}

// A user without a cluster reads how to get one.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // a user who runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := processtest.Run(t, newOptions())
	require.Equal(t, 1, status)
	require.Contains(t, said, "go run ./controllers/scheduled -install")
}

// resources are the custom resources.
var resources = []metav1.APIResource{
	{Group: scheduledJobs.Group, Version: scheduledJobs.Version, Name: "scheduledjobs", Kind: "ScheduledJob"},
	{Group: runRequests.Group, Version: runRequests.Version, Name: "runrequests", Kind: "RunRequest"},
}

// The whole process, for one namespace: it gets the lease, starts a run, serves probes and
// metrics, and stops. Its watches ask for nothing outside the namespace, and for no Jobs
// but those of runs.
func TestProcess(t *testing.T) {
	api := &apiserver.Server{Custom: resources}
	file := api.Start(t, map[string]string{
		"/apis/scaledjob.github.io/v1alpha1/namespaces/n/scheduledjobs/job": `{"apiVersion": "scaledjob.github.io/v1alpha1", "kind": "ScheduledJob",
			"metadata": {"name": "job", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
			"spec": {"schedule": {"timeSpec": "R1//PT1S"}, "after": [{"job": "typo"}], "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}`,
	})
	address := processtest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	var log bytes.Buffer // read when the process has ended
	go func() {
		ended <- process.Run(ctx, newOptions(), []string{
			"-kubeconfig", file, "-namespace=n", "-metrics-bind-address", address, "-health-probe-bind-address", address,
		}, &log)
	}()
	eventually := func(what string, holds func() bool) {
		t.Helper()
		require.Eventually(t, holds, time.Minute, 10*time.Millisecond, what)
	}
	eventually("a Job", func() bool { return len(api.Requests("POST", "jobs")) == 1 })
	eventually("an event", func() bool {
		return slices.ContainsFunc(api.Requests("POST", "events"), func(r apiserver.Request) bool {
			return strings.Contains(r.Body, `"reason":"JobNotFound"`)
		})
	})
	eventually("readiness", func() bool { code, _ := processtest.Get(address + "/readyz"); return code == 200 })
	eventually("metrics", func() bool {
		_, text := processtest.Get(address + "/metrics")
		return strings.Contains(text, `scheduledjob_occurrences_due_total{namespace="n",scheduledjob="job"} 1`)
	})
	stop()
	require.Zero(t, <-ended)
	code, _ := processtest.Get(address + "/healthz")
	require.Zero(t, code, "it listens no more")
	held, kept := api.Requests("POST", "leases"), api.Requests("PUT", "leases")
	require.Regexp(t, `"holderIdentity":"[^"]`, held[0].Body)
	require.NotRegexp(t, `"holderIdentity":"[^"]`, kept[len(kept)-1].Body, "released")
	for _, request := range api.Requests("", "") {
		require.Contains(t, request.Path+"/", "/namespaces/n/")
		if request.Method == http.MethodGet && strings.HasSuffix(request.Path, "/jobs") {
			require.Contains(t, request.Query, "labelSelector=jobTag")
		}
	}
	require.Contains(t, log.String(), "msg=acting")
}

// A process without the lease reads, and changes nothing: after it was stopped between two
// requests, it could create the Job of a run that has been dropped since.
func TestChangesNeedTheLease(t *testing.T) {
	api := &apiserver.Server{Custom: resources}
	file := api.Start(t, nil)
	job, patch := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"}}, []byte("{}")
	for elect, want := range map[string]error{"-leader-elect": adapter.ErrNotSent, "-leader-elect=false": nil} {
		o := processtest.Parse(t, newOptions(), "-kubeconfig", file, elect)
		config, err := o.Connect(t.Context(), slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		c, err := o.connect(config, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		ctx := requests.WithTerm(t.Context(), c.lease.Holder) // as the lease gives it
		_, err = c.client.BatchV1().Jobs("n").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		_, err = c.client.BatchV1().Jobs("n").Create(ctx, job, metav1.CreateOptions{})
		require.ErrorIs(t, err, want)
		_, err = c.dynamic.Resource(runRequests).Namespace("n").Patch(ctx, "none", types.MergePatchType, patch, metav1.PatchOptions{})
		require.Equal(t, want == nil, apierrors.IsNotFound(err), err)
	}
	require.Len(t, api.Requests("POST", "jobs"), 1)
	require.Len(t, api.Requests("PATCH", "runrequests"), 1)
}
