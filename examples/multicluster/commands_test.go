package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/examples/internal/apiserver"
	"github.com/scaledjob/scaledjob/examples/multicluster/api"
	"github.com/scaledjob/scaledjob/examples/multicluster/registry"
)

// hubWith returns the kubeconfigs of a hub, and of its member a. The
// member answers in the namespace shop only.
func hubWith(t *testing.T, registration string) (hub, member string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "not here"}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			answer = `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": "one"}}`
		case strings.HasPrefix(r.URL.Path, "/apis/batch/v1/namespaces/shop/"):
			answer = `{"kind": "JobList", "apiVersion": "batch/v1", "metadata": {"resourceVersion": "1"}, "items": []}`
		default:
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	member = apiserver.Kubeconfig(t, server.URL)
	kubeconfig, err := os.ReadFile(member)
	require.NoError(t, err)
	secret, err := json.Marshal(map[string]any{
		"kind": "Secret", "apiVersion": "v1", "metadata": map[string]any{"name": registry.Secret, "namespace": registry.Namespace},
		"data": map[string][]byte{"a.kubeconfig": kubeconfig, "a.registration": []byte(registration)},
	})
	require.NoError(t, err)
	kinds := []metav1.APIResource{{Group: api.Jobs.Group, Version: api.Jobs.Version, Name: api.Jobs.Resource, Kind: "DistributedScaledJob"}}
	return (&apiserver.Server{Custom: kinds}).Start(t, map[string]string{
		"/api/v1/namespaces/keda/secrets/" + registry.Secret: string(secret),
		"/api/v1/namespaces/kube-system":                     `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"uid": "hub"}}`,
	}), member
}

// Orphans are looked for where the member serves the hub, and only if it is the cluster that was
// registered.
func TestOrphansOfAServedNamespace(t *testing.T) {
	for registration, want := range map[string]string{
		`{"namespaces": ["shop"]}`:               "",
		`{"namespaces": ["shop"], "uid": "one"}`: "",
		`{"namespaces": ["shop"], "uid": "two"}`: "it is another cluster",
		`{}`:                                     "not here",
	} {
		hub, _ := hubWith(t, registration)
		for _, name := range []string{"list-orphans", "delete-orphans"} {
			status, said := execute(t, name, "a", "--keda-kubeconfig", hub)
			require.Equal(t, want != "", status == 1, said)
			require.Contains(t, said, want)
		}
	}
}
