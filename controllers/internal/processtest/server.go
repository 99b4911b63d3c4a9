package processtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
)

// RunHostile runs the program against a hostile API server for a while, and fails if it logs the server's words as they
// are. The server keeps leases, and answers each list once. To everything after, it says what [Hostile] says: as a
// status, as a page, and within a watch; and in a warning of each answer.
func RunHostile(t testing.TB, p process.Program, args ...string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	var log record
	klog.SetSlogLogger(process.Log{}.To(&log))
	defer klog.ClearLogger()
	args = append([]string{"-kubeconfig", HostileServer(t), "-health-probe-bind-address", "127.0.0.1:0", "-metrics-bind-address", ""}, args...)
	process.Run(ctx, p, args, &log)
	RequireHarmless(t, log.String())
	require.Contains(t, log.String(), "the API server warns")
}

// HostileServer returns a kubeconfig file for the server of [RunHostile].
func HostileServer(t testing.TB) string {
	s := &hostile{said: Hostile().(*apierrors.StatusError).ErrStatus, answered: map[string]bool{}}
	s.said.Kind, s.said.APIVersion = "Status", "v1"
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return Kubeconfig(t, server.URL)
}

// A record is what several loggers have written.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// kinds are those that the programs ask for.
var kinds = []string{
	"v1 Namespace", "v1 Secret", "v1 Pod", "v1 PodTemplate", "batch/v1 Job", "keda.sh/v1alpha1 ScaledJob", "keda.sh/v1alpha1 ScaledObject",
	"scaledjob.github.io/v1alpha1 ReadingTarget", "scaledjob.github.io/v1alpha1 ScheduledJob", "scaledjob.github.io/v1alpha1 RunRequest",
	"keda.kedify.io/v1alpha1 DistributedScaledJob", "keda.kedify.io/v1alpha1 DistributedScaledObject", "batch.miracle.dev/v1 ScaledJob",
	"autoscaling/v2 HorizontalPodAutoscaler",
}

type hostile struct {
	said metav1.Status

	mu       sync.Mutex
	lease    []byte
	answered map[string]bool // by path
	refused  int
}

func (s *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Warning", `299 - "`+strings.ReplaceAll(strings.Join(planted, " "), `"`, "'")+strings.Repeat(" no", 1<<10)+`"`)
	w.Header().Set("Content-Type", "application/json")
	if answer := s.answer(r); answer != nil {
		_, _ = w.Write(answer)
		return
	}
	s.refused++
	switch {
	case r.URL.Query().Has("watch") && s.refused%2 == 0:
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": s.said})
	case s.refused%3 == 0:
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, s.said.Message[:10<<10])
	default:
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(s.said)
	}
}

// answer returns leases, discovery and first lists, or nil.
func (s *hostile) answer(r *http.Request) []byte {
	if strings.Contains(r.URL.Path, "/leases") {
		if r.Method != http.MethodGet {
			s.lease, _ = io.ReadAll(r.Body)
		}
		return s.lease
	}
	if r.URL.Query().Has("watch") || r.Method != http.MethodGet || s.answered[r.URL.Path] {
		return nil
	}
	groups, served := metav1.APIGroupList{}, metav1.APIResourceList{}
	for _, kind := range kinds {
		groupVersion, kind, _ := strings.Cut(kind, " ")
		group, _, named := strings.Cut(groupVersion, "/")
		prefix, plural := "/apis/"+groupVersion, strings.ToLower(kind)+"s"
		if !named {
			prefix = "/api/v1"
		} else {
			version := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: path.Base(groupVersion)}
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
		switch {
		case r.URL.Path == prefix:
			served.GroupVersion = groupVersion
			served.APIResources = append(served.APIResources, metav1.APIResource{Name: plural, Kind: kind, Namespaced: true, Verbs: []string{"list"}})
		case strings.HasPrefix(r.URL.Path, prefix) && path.Base(r.URL.Path) == plural:
			s.answered[r.URL.Path] = true
			return encode(map[string]any{"apiVersion": groupVersion, "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
		}
	}
	switch {
	case r.URL.Path == "/api":
		return encode(metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		return encode(groups)
	case len(served.APIResources) > 0:
		return encode(served)
	case path.Base(r.URL.Path) == metav1.NamespaceSystem:
		return encode(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": metav1.NamespaceSystem, "uid": "u"}})
	}
	return nil
}

func encode(answer any) []byte {
	data, _ := json.Marshal(answer)
	return data
}
