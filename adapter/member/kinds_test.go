package member

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter/requests"
)

// A member that claims to have kinds without end is asked about the group and version of a workload only.
func TestEndlessKinds(t *testing.T) {
	const groups = 300
	var calls atomic.Int64
	api := httptest.NewServer(server{func(w http.ResponseWriter, r *http.Request) bool {
		kinds := large(`{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"deployments","kind":"Deployment","namespaced":true},{"name":"deployments/scale","kind":"Scale","group":"autoscaling","version":"v1","namespaced":true},`, `{"name":"a"}`, "]}", 10_000)
		switch {
		case r.URL.Path == "/api":
			say(w, 200, `{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			all := []string{`{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]}`}
			for i := range groups {
				all = append(all, fmt.Sprintf(`{"name":"g%[1]d","versions":[{"groupVersion":"g%[1]d/v1","version":"v1"}]}`, i))
			}
			say(w, 200, `{"kind":"APIGroupList","apiVersion":"v1","groups":[`+strings.Join(all, ",")+`]}`)
		case strings.HasSuffix(r.URL.Path, "/v1"):
			say(w, 200, kinds)
		case strings.HasSuffix(r.URL.Path, "/deployments/web/scale"):
			say(w, 200, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"},"spec":{"replicas":3}}`)
		default:
			return false
		}
		calls.Add(1)
		return true
	}})
	t.Cleanup(api.Close)
	t.Cleanup(api.CloseClientConnections)
	c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home", Interval: 50 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Probe(t.Context()))
	var all Clusters
	require.NoError(t, all.Add(t.Context(), c))
	for range 3 {
		seen, problems := all.ObserveReplicas(t.Context(), Workload{Namespace: "shop", Name: "web"}, ReplicasPoll{})
		require.Empty(t, problems)
		require.EqualValues(t, 3, seen[0].Replicas)
	}
	require.LessOrEqual(t, calls.Load(), int64(2+3), "two about the kind, and each scale")
	_, problems := all.ObserveReplicas(t.Context(), Workload{Kind: appsv1.SchemeGroupVersion.WithKind("Deployments"), Namespace: "shop", Name: "web"}, ReplicasPoll{})
	require.ErrorContains(t, problems["a"], `no matches for kind "Deployments" in version "apps/v1"`)
}

// A kind is read again until it has a scale, after its version is served no longer, and in another version.
func TestKindsChange(t *testing.T) {
	scaled, served := false, "v1"
	api := httptest.NewServer(server{func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case !strings.Contains(r.URL.Path, "/example.com/"):
			return false
		case !strings.Contains(r.URL.Path, "/"+served):
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("404 page not found"))
		case strings.HasSuffix(r.URL.Path, "/scale"):
			say(w, 200, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"},"spec":{"replicas":3}}`)
		case scaled:
			say(w, 200, `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"webs","kind":"Web","namespaced":true},{"name":"webs/scale","kind":"Scale","group":"autoscaling","version":"v1","namespaced":true}]}`)
		default:
			say(w, 200, `{"kind":"APIResourceList","apiVersion":"v1","resources":[{"name":"webs","kind":"Web","namespaced":true}]}`)
		}
		return true
	}})
	t.Cleanup(api.Close)
	t.Cleanup(api.CloseClientConnections)
	c, err := Dial("a", &rest.Config{Host: api.URL}, Options{Terms: requests.Alone(), Home: "home", Interval: 50 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, c.Probe(t.Context()))
	var all Clusters
	require.NoError(t, all.Add(t.Context(), c))
	observe := func(version string) error {
		_, problems := all.ObserveReplicas(t.Context(), Workload{Kind: schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Web"}, Namespace: "shop", Name: "web"}, ReplicasPoll{})
		return problems["a"]
	}
	require.ErrorContains(t, observe("v1"), "Web has no scale")
	scaled = true
	require.NoError(t, observe("v1"))
	served = "v2"
	require.Error(t, observe("v1"), "its version is known still")
	require.ErrorContains(t, observe("v1"), "find Web: ", "its version is asked for again")
	require.NoError(t, observe("v2"))
	served = "v1"
	require.NoError(t, observe("v1"), "the version that was asked for last counts")
}
