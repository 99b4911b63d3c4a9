package cluster_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/controllers/internal/cluster"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

// none is a machine that knows no cluster: whoever runs the test may have one.
func none(t *testing.T) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

func TestConfig(t *testing.T) {
	file := processtest.Kubeconfig(t, "http://127.0.0.1:1")
	none(t)
	check := func(a cluster.Access) {
		t.Helper()
		config, err := a.Config()
		require.NoError(t, err)
		require.Equal(t, "http://127.0.0.1:1", config.Host)
		require.Negative(t, config.QPS, "no limit")
		require.True(t, strings.HasSuffix(config.UserAgent, "/example"), config.UserAgent)
	}
	check(cluster.Access{Program: "example", Kubeconfig: file})
	t.Setenv("KUBECONFIG", file)
	check(cluster.Access{Program: "example"})
}

// Whoever has no cluster is told how to get one, but not whoever has mistyped a name.
func TestNoCluster(t *testing.T) {
	none(t)
	guided := cluster.Access{Guide: cluster.Guide("./examples/a")}
	_, err := guided.Config()
	require.ErrorContains(t, err, "make cluster")
	require.ErrorContains(t, err, "go run ./examples/a -install")
	require.ErrorContains(t, err, "no configuration has been provided")
	_, err = cluster.Access{}.Config()
	require.ErrorContains(t, err, "no configuration has been provided")
	require.NotContains(t, err.Error(), "make cluster")

	guided.Kubeconfig = filepath.Join(t.TempDir(), "gone")
	_, err = guided.Config()
	require.ErrorContains(t, err, "gone: no such file")
	require.NotContains(t, err.Error(), "make cluster")
}

// The lists of informers have no timeout, and a process without the lease changes nothing.
func TestWatches(t *testing.T) {
	timeouts := map[string]bool{} // by resource
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timeouts[filepath.Base(r.URL.Path)] = r.URL.Query().Has("timeout")
		http.NotFound(w, r)
	}))
	defer s.Close()
	config := &rest.Config{Host: s.URL}
	clients, err := cluster.Connect(config, cluster.Limits{InFlight: 1})
	require.NoError(t, err)
	_, err = clients.Requests.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	_, err = clients.Dynamic.Resource(things).List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.Equal(t, map[string]bool{"jobs": true, "things": true}, timeouts)

	_, err = clients.Watches.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	_, err = clients.DynamicWatches.Resource(things).List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.Equal(t, map[string]bool{"jobs": false, "things": false}, timeouts)

	clear(timeouts)
	ctx := requests.WithTerm(t.Context(), &requests.Terms{})
	_, err = clients.Requests.BatchV1().Jobs("n").Create(ctx, &batchv1.Job{}, metav1.CreateOptions{})
	require.ErrorIs(t, err, adapter.ErrNotSent)
	_, err = clients.Dynamic.Resource(things).Namespace("n").Patch(ctx, "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	require.ErrorIs(t, err, adapter.ErrNotSent)
	require.Empty(t, timeouts)
}
