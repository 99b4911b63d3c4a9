package registry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// guardedClient returns the client of a member whose API server is the handler.
func guardedClient(t *testing.T, handler http.HandlerFunc) kubernetes.Interface {
	t.Helper()
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	m := Parse(map[string][]byte{"a.kubeconfig": []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], " +
		"users: [{name: a, user: {token: a-token-of-a-member}}], clusters: [{name: a, cluster: {server: '" + s.URL + "', insecure-skip-tls-verify: true}}]}")})[0]
	require.NoError(t, m.Err)
	client, err := kubernetes.NewForConfig(m.Config)
	require.NoError(t, err)
	return client
}

// A request that is not sent is closed.
func TestRefusedRequestIsClosed(t *testing.T) {
	body := &closing{}
	r := httptest.NewRequest("PUT", "https://b", nil)
	r.Body = body
	for _, g := range []guarded{{scheme: "https", host: "a"}, {scheme: "http", host: "b"}} { // without TLS the token would be in clear
		body.closed = false
		_, err := g.RoundTrip(r)
		require.ErrorContains(t, err, "the member redirects to another host")
		require.True(t, body.closed)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// A redirect to another host is not followed, because the token would be sent there.
func TestRedirectedMember(t *testing.T) {
	asked := false
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	client := guardedClient(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	_, err := client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "the member redirects to another host")
	require.False(t, asked)
	client = guardedClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/moved" {
			http.Redirect(w, r, "/moved", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"kind":"JobList","apiVersion":"batch/v1","items":[{"metadata":{"name":"work"}}]}`)
	})
	jobs, err := client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, jobs.Items, 1)
}
