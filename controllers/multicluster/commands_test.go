package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kube "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
)

// serve answers requests by their paths, and refuses others. It returns a kubeconfig.
func serve(t *testing.T, answers map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, found := answers[r.URL.Path]
		if !found {
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "not here"}`
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return processtest.Kubeconfig(t, server.URL)
}

// hubWith returns the kubeconfigs of a hub, and of its member a. The
// member answers in the namespace shop only.
func hubWith(t *testing.T, registration string) (hub, member string) {
	t.Helper()
	system := func(uid string) string {
		return `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "kube-system", "uid": "` + uid + `"}}`
	}
	const path = "/api/v1/namespaces/kube-system"
	member = serve(t, map[string]string{path: system("one"), "/apis/batch/v1/namespaces/shop/jobs": `{"kind": "JobList", "apiVersion": "batch/v1", "items": []}`})
	kubeconfig, err := os.ReadFile(member)
	require.NoError(t, err)
	secret, err := json.Marshal(map[string]any{
		"kind": "Secret", "apiVersion": "v1", "metadata": map[string]any{"name": registry.Secret, "namespace": registry.Namespace},
		"data": map[string][]byte{"a.kubeconfig": kubeconfig, "a.registration": []byte(registration)},
	})
	require.NoError(t, err)
	return serve(t, map[string]string{path: system("hub"), "/api/v1/namespaces/keda/secrets/" + registry.Secret: string(secret),
		"/apis/keda.kedify.io/v1alpha1/distributedscaledjobs": `{"kind": "DistributedScaledJobList", "apiVersion": "keda.kedify.io/v1alpha1", "items": []}`}), member
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

// A member that is set up again keeps its registration but for what the flags change. A narrowing of
// the namespaces and a wrong -allow are rejected before anything is granted.
func TestServe(t *testing.T) {
	for _, c := range []struct {
		was, serve string
		want       []string
		problem    string
	}{
		{"", "", []string{"default"}, ""},
		{"", " a, b,a", []string{"a", "b"}, ""},
		{"", "*", nil, ""},
		{`{"namespaces": ["a", "b"]}`, "", []string{"a", "b"}, ""},
		{`{"namespaces": ["a", "b"]}`, "b,c,a", []string{"b", "c", "a"}, ""},
		{`{"namespaces": ["a", "b"]}`, "*", nil, ""},
		{`{"namespaces": ["a", "b"]}`, "b", nil, "it serves its namespaces a,b; to take some away, run delete-member"},
		{"{}", "", nil, ""},
		{"{}", "a", nil, "it serves all its namespaces; to take some away"},
		{`{"namespaces": []}`, "a", nil, "its registration cannot be read"},
	} {
		cmd := &command{member: "a"}
		if c.serve != "" {
			require.NoError(t, cmd.setServe(c.serve))
		}
		data := map[string][]byte{}
		if c.was != "" {
			data = map[string][]byte{"a.kubeconfig": nil, "a.registration": []byte(c.was)}
		}
		found, err := cmd.registration(registry.Parse(data))
		if c.problem != "" {
			require.ErrorContains(t, err, c.problem)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, found.Namespaces, "%s %s", c.was, c.serve)
	}
	was := registry.Parse(map[string][]byte{"a.kubeconfig": nil, "a.registration": []byte(`{"maxBytes": 5, "allow": [{"from": "x", "to": "y"}]}`)})
	kept := registry.Registration{MaxBytes: 5, Allow: []registry.Allowance{{From: "x", To: "y"}}}
	found, err := (&command{member: "a"}).registration(was)
	require.NoError(t, err)
	require.Equal(t, kept, found)
	kept.Allow = []registry.Allowance{{From: "v", To: "w"}}
	found, err = (&command{member: "a", allow: kept.Allow}).registration(was)
	require.NoError(t, err)
	require.Equal(t, kept, found)
	for _, allow := range []string{"a", "a=", "a=*", "=b", "a=b=c"} {
		status, said := execute(t, "setup-member", "a", "--allow", allow)
		require.Equal(t, 2, status, allow)
		require.Contains(t, said, "use from=to, the names of two namespaces")
	}
	for _, serve := range []string{"", "a,,b", "a,*", "A"} {
		status, said := execute(t, "setup-member", "a", "--serve", serve)
		require.Equal(t, 2, status, serve)
		require.Contains(t, said, "use names of namespaces, or * alone")
	}
	hub, member := hubWith(t, `{"namespaces": ["a", "b"]}`)
	status, said := execute(t, "setup-member", "a", "--serve", "b", "--keda-kubeconfig", hub, "--member-kubeconfig", member)
	require.Equal(t, 1, status)
	require.Contains(t, said, "it serves its namespaces a,b", "before anything is granted")
}

// The UIDs of members that meet the hub at the same time are all stored, and the first of each counts.
func TestContacts(t *testing.T) {
	client := kube.NewClientset()
	which, resource, left := "create", corev1.Resource("configmaps"), 3
	client.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetVerb() != which || left == 0 {
			return false, nil, nil
		}
		if left--; which == "create" {
			return true, nil, apierrors.NewAlreadyExists(resource, contactsName)
		}
		return true, nil, apierrors.NewConflict(resource, contactsName, nil)
	})
	store := func(member, uid string) string {
		was, err := contact{client, "keda", member}.store(t.Context(), uid)
		require.NoError(t, err)
		require.Zero(t, left)
		return was
	}
	left = 0
	require.Empty(t, store("a", ""), "which creates nothing")
	left = 3
	require.Equal(t, "1", store("a", "1"))
	which, left = "update", 3
	require.Equal(t, "2", store("b", "2"))
	require.Equal(t, "1", store("a", "3"))
	require.Equal(t, "1", store("a", ""))
	require.Empty(t, store("c", ""))
	all, err := client.CoreV1().ConfigMaps("keda").Get(t.Context(), contactsName, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, all.Data)
	which, left = "get", 0
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(resource, contactsName, nil)
	})
	_, err = contact{client, "keda", "c"}.store(t.Context(), "4")
	require.True(t, apierrors.IsForbidden(err), err)
}
