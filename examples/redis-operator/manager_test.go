package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/scaledjob/scaledjob/examples/internal/process"
)

// soon is a limit for whatever happens at once on a machine without load.
const soon = time.Minute

// An apiServer is as much of an API server as the operator needs. It has the ScaledJob
// image-processor in the namespace production, unless it has no ScaledJobs at all.
type apiServer struct {
	address string // of Redis
	without bool   // ScaledJobs

	mu       sync.Mutex
	requests []string
	bodies   map[string][]string // of changes, by resource
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	body := jsonBody(r)
	if resource, namespaced := s.see(r, body); namespaced {
		switch {
		case query.Get("watch") != "" && query.Get("sendInitialEvents") != "":
			reply(w, 400, failure(400, metav1.StatusReasonBadRequest)) // the client lists instead
		case query.Get("watch") != "":
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.Method == http.MethodPost || r.Method == http.MethodPut:
			var object map[string]any
			_ = json.Unmarshal(body, &object)
			metadata := object["metadata"].(map[string]any)
			metadata["resourceVersion"] = "2"
			if metadata["uid"] == nil {
				metadata["uid"] = fmt.Sprint(resource, "-", metadata["name"])
			}
			reply(w, 201, object)
		case strings.HasSuffix(r.URL.Path, "/"+resource):
			reply(w, 200, s.list(resource))
		case resource == "leases" && len(s.changes(resource)) > 0:
			leases := s.changes(resource)
			reply(w, 200, json.RawMessage(leases[len(leases)-1]))
		default:
			reply(w, 404, failure(404, metav1.StatusReasonNotFound))
		}
		return
	}
	reply(w, 200, s.discovery(r.URL.Path))
}

// jsonBody returns the body as JSON: client-go sends its own types as protobuf.
func jsonBody(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(r.Header.Get("Content-Type"), "protobuf") {
		return body
	}
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	body, _ = json.Marshal(object)
	return body
}

// see notes a request, and reports whether it is for a resource, of a namespace or not.
func (s *apiServer) see(r *http.Request, body []byte) (resource string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{"scaledjobs", "jobs", "leases", "events"} {
		if strings.Contains(r.URL.Path+"/", "/"+name+"/") {
			s.requests = append(s.requests, r.Method+" "+r.URL.Path)
			if r.Method != http.MethodGet {
				s.bodies[name] = append(s.bodies[name], string(body))
			}
			return name, true
		}
	}
	return "", false
}

func (s *apiServer) changes(resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies[resource])
}

func (s *apiServer) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *apiServer) list(resource string) any {
	list := map[string]any{"kind": "JobList", "apiVersion": "batch/v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}
	if resource == "scaledjobs" {
		list["kind"], list["apiVersion"] = "ScaledJobList", "batch.miracle.dev/v1"
		list["items"] = []any{map[string]any{
			"apiVersion": "batch.miracle.dev/v1", "kind": "ScaledJob",
			"metadata": map[string]any{"namespace": "production", "name": "image-processor", "uid": "1", "resourceVersion": "1", "generation": 1},
			"spec": map[string]any{
				"queueName": "orders", "redisAddress": s.address, "threshold": 10, "minReplicas": 0, "maxReplicas": 20,
				"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
					"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "example.com/c:1"}},
				}}}},
			},
		}}
	}
	return list
}

func (s *apiServer) discovery(path string) any {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "batch.miracle.dev/v1", Version: "v1"}
	switch {
	case path == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}
	case path == "/apis" && s.without:
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	case path == "/apis":
		return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "batch.miracle.dev", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
		}}
	case path == "/apis/batch.miracle.dev/v1" && !s.without:
		return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
			APIResources: []metav1.APIResource{{Name: "scaledjobs", Kind: "ScaledJob", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}}, {Name: "scaledjobs/status", Kind: "ScaledJob", Namespaced: true}}}
	}
	return failure(404, metav1.StatusReasonNotFound)
}

func failure(code int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason}
}

func reply(w http.ResponseWriter, code int, object any) {
	if status, ok := object.(metav1.Status); ok {
		code = int(status.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func (s *apiServer) start(t *testing.T) (file string) {
	t.Helper()
	s.bodies = map[string][]string{}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	file = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(kubeconfig(server.URL)), 0o600))
	return file
}

func TestWithoutScaledJobs(t *testing.T) {
	file := (&apiServer{without: true}).start(t)
	status, said := execute(t, "-kubeconfig", file)
	require.Equal(t, 1, status)
	require.Contains(t, said, "the cluster has no ScaledJobs of batch.miracle.dev: kubectl apply -k examples/redis-operator/config/crd")
}

// free is an address where nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func get(url string) (int, string) {
	answer, err := http.Get("http://" + url)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

// An output may be read while it is written.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

// The whole process, for one namespace: it gets the lease, creates Jobs, reports, and
// stops. It asks for nothing outside the namespace, so that it needs no ClusterRole.
func TestRun(t *testing.T) {
	redis := miniredis.RunT(t)
	for range 47 {
		redis.RPush("orders", "item")
	}
	api := &apiServer{address: redis.Addr()}
	file := api.start(t)
	metrics, probes := free(t), free(t)
	ctx, stop := context.WithCancel(t.Context())
	var log output
	ended := make(chan int)
	go func() {
		ended <- process.Run(ctx, newOptions(), []string{
			"-kubeconfig", file, "-namespace=production", "-poll=50ms", "-log-level=debug",
			"-metrics-bind-address", metrics, "-health-probe-bind-address", probes,
		}, &log)
	}()
	eventually := func(what string, holds func() bool) {
		t.Helper()
		require.Eventually(t, holds, soon, 10*time.Millisecond, what)
	}
	eventually("Jobs", func() bool { return len(api.changes("jobs")) == 5 })
	eventually("status", func() bool {
		statuses := api.changes("scaledjobs")
		return len(statuses) > 0 && strings.Contains(statuses[0], `"queueDepth":47`)
	})
	eventually("events", func() bool {
		return strings.Contains(strings.Join(api.changes("events"), ""), `"reason":"CreatedJobs"`)
	})
	eventually("polls", func() bool {
		_, text := get(metrics + "/metrics")
		return strings.Contains(text, `scaledjob_queue_depth{namespace="production",queue="orders",scaledjob="image-processor"} 47`) &&
			!strings.Contains(text, `scaledjob_reconcile_total{namespace="production",queue="orders",scaledjob="image-processor"} 1`+"\n")
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		eventually(path, func() bool { code, _ := get(probes + path); return code == 200 })
	}
	require.Equal(t, 1, redis.CurrentConnectionCount())
	stop()
	require.Zero(t, <-ended)
	eventually("hung up", func() bool { return redis.CurrentConnectionCount() == 0 })
	require.Len(t, api.changes("jobs"), 5)
	leases := api.changes("leases")
	require.Regexp(t, `"holderIdentity":"[^"]`, leases[0])
	require.NotRegexp(t, `"holderIdentity":"[^"]`, leases[len(leases)-1], "released")
	for _, request := range api.all() {
		require.Contains(t, request, "/namespaces/production/")
	}
	require.Contains(t, log.String(), "level=DEBUG")
}
