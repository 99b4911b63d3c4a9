package member

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/placement/jobs"
)

// dialServer returns a member whose API server has no objects, except in the answers of the handler.
func dialServer(t *testing.T, o Options, handle func(w http.ResponseWriter, r *http.Request) bool) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case handle(w, r):
		case q.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case q.Get("watch") != "":
			respond(w, http.StatusOK, "")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/jobs"):
			respond(w, http.StatusOK, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		default:
			respond(w, http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound","status":"Failure"}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	o.Terms, o.Home, o.Interval = requests.OneShot(), "home", 50*time.Millisecond
	c, err := Dial("a", &rest.Config{Host: server.URL}, o)
	require.NoError(t, err)
	return c
}

func respond(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// A Job or a pod with a text that no API server accepts is nobody's, nor is it an
// answer.
func TestLongTexts(t *testing.T) {
	c := &Cluster{}
	long := strings.Repeat("a", 300)
	for field, change := range map[string]func(*metav1.ObjectMeta){
		"namespace": func(o *metav1.ObjectMeta) { o.Namespace = long },
		"name":      func(o *metav1.ObjectMeta) { o.Name = long },
		"UID":       func(o *metav1.ObjectMeta) { o.UID = types.UID(long) },
		"version":   func(o *metav1.ObjectMeta) { o.ResourceVersion = long },
		"label":     func(o *metav1.ObjectMeta) { o.Labels[LabelOwnerNamespace] = long },
	} {
		j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "1", Labels: map[string]string{adapter.LabelOwner: "o"}}}
		_, err := checkLength(&j, nil)
		require.NoError(t, err)
		require.True(t, c.ours(&j))
		change(&j.ObjectMeta)
		require.False(t, c.ours(&j), field)
		require.False(t, c.ours(&corev1.Pod{ObjectMeta: j.ObjectMeta}), field)
		_, err = checkLength(&j, nil)
		require.ErrorContains(t, err, "too long", field)
	}
}

// A member whose answer is longer than the bound is unreachable, with the reason.
func TestLargeAnswer(t *testing.T) {
	c := dialServer(t, Options{MaxBytes: 1 << 20}, func(w http.ResponseWriter, r *http.Request) bool {
		large := strings.HasSuffix(r.URL.Path, "/jobs")
		if large {
			respond(w, http.StatusOK, `{"kind":"JobList","apiVersion":"batch/v1","items":[{"metadata":{"name":"`+strings.Repeat("x", 2<<20)+`"}}]}`)
		}
		return large
	})
	require.ErrorContains(t, c.Probe(t.Context()), "the answer of the member is too large: it has more than 1048576 bytes; if the member has so many Jobs, raise maxBytes of its registration")
}

// A page has a limit, also where client-go asks for none, and fewer objects while these are large: a tenant of
// a member may create any.
func TestPages(t *testing.T) {
	object := `{"metadata":{"name":"a","annotations":{"a":"` + strings.Repeat("x", 100<<10) + `"}}}`
	var limits []int
	c := dialServer(t, Options{MaxBytes: 1 << 20}, func(w http.ResponseWriter, r *http.Request) bool {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		objects := limit
		if !strings.Contains(r.URL.Path, "/large/") {
			objects = 1
		}
		limits = append(limits, limit)
		respond(w, http.StatusOK, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"continue":"more"},"items":[`+strings.TrimSuffix(strings.Repeat(object+",", objects), ",")+`]}`)
		return true
	})
	for _, namespace := range []string{"small", "large"} {
		for _, limit := range []int64{0, 50, 500} {
			list, err := c.sender(t.Context(), time.Now()).client().BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{Limit: limit})
			require.NoError(t, err)
			require.Equal(t, "more", list.Continue)
		}
	}
	require.Equal(t, []int{100, 50, 100, 100, 10, 50, 5, 100, 10}, limits)
}

// Large objects of a tenant of a member disturb nobody.
func TestLargeObjectOfATenant(t *testing.T) {
	object := `{"metadata":{"namespace":"mail","name":"job-%d","annotations":{"a":"` + strings.Repeat("x", 64<<10) + `"}}}`
	c := dialServer(t, Options{MaxBytes: 1 << 20, Namespaces: []string{"mail", "shop"}}, func(w http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		large := strings.Contains(r.URL.Path, "/mail/jobs") && q.Get("watch") == ""
		if !large {
			return false
		}
		first, _ := strconv.Atoi(q.Get("continue"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		end, next := min(first+limit, 60), ""
		if end < 60 {
			next = strconv.Itoa(end)
		}
		var objects []string
		for i := first; i < end; i++ {
			objects = append(objects, fmt.Sprintf(object, i))
		}
		respond(w, http.StatusOK, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1","continue":"`+next+`"},"items":[`+strings.Join(objects, ",")+`]}`)
		return true
	})
	var all Clusters
	require.NoError(t, all.Add(t.Context(), c))
	for _, namespace := range []string{"mail", "shop"} {
		require.NoError(t, all.Track(adapter.Target{
			Owner: adapter.Owner{APIVersion: "example.com/v1", Kind: "Queue", Namespace: namespace, Name: "processor", UID: types.UID(namespace)},
			Job:   &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}}},
		}, nil))
	}
	require.Eventually(t, func() bool {
		return all.Observe("mail").Clusters[0].Reach == jobs.Reachable && all.Observe("shop").Clusters[0].Reach == jobs.Reachable
	}, 20*time.Second, 10*time.Millisecond)
	require.Empty(t, all.Problems())
}

// A kind is found once it has a scale, and again after its version is served no longer.
func TestKindsChange(t *testing.T) {
	served := ""
	c := dialServer(t, Options{}, func(w http.ResponseWriter, r *http.Request) bool {
		version := `{"groupVersion":"example.com/` + served + `","version":"` + served + `"}`
		switch {
		case r.URL.Path == "/api":
			respond(w, http.StatusOK, `{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/api/v1":
			respond(w, http.StatusOK, `{"kind":"APIResourceList","groupVersion":"v1","resources":[]}`)
		case r.URL.Path == "/apis" && served == "":
			respond(w, http.StatusOK, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		case r.URL.Path == "/apis":
			respond(w, http.StatusOK, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"example.com","versions":[`+version+`],"preferredVersion":`+version+`}]}`)
		case !strings.Contains(r.URL.Path, "/example.com/"):
			return false
		case served == "" || !strings.Contains(r.URL.Path, "/"+served):
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("404 page not found"))
		case strings.HasSuffix(r.URL.Path, "/scale"):
			respond(w, http.StatusOK, `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web"},"spec":{"replicas":3}}`)
		default:
			respond(w, http.StatusOK, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/`+served+`","resources":[{"name":"webs","kind":"Web","namespaced":true},{"name":"webs/scale","kind":"Scale","group":"autoscaling","version":"v1","namespaced":true}]}`)
		}
		return true
	})
	require.NoError(t, c.Probe(t.Context()))
	var all Clusters
	require.NoError(t, all.Add(t.Context(), c))
	observe := func(version string) error {
		_, problems := all.ObserveReplicas(t.Context(), Workload{Kind: schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Web"}, Namespace: "shop", Name: "web"}, ReplicasPoll{})
		return problems["a"]
	}
	require.ErrorContains(t, observe("v1"), `no matches for kind "Web" in version "example.com/v1"`)
	served = "v1"
	require.NoError(t, observe("v1"))
	served = "v2"
	require.Error(t, observe("v1"), "its version is known still")
	require.ErrorContains(t, observe("v1"), `no matches for kind "Web" in version "example.com/v1"`, "its version is asked for again")
	require.NoError(t, observe("v2"))
}
