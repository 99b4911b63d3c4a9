// Package apiserver is a fake API server for tests of a whole program: it serves HTTP,
// keeps objects, notes the requests, and reports what is created and changed to watches. It
// has no schemas, defaults, selectors or permissions, and nothing is deleted.
package apiserver

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// A Server serves Custom, and objects of all other kinds.
type Server struct {
	// Custom are the custom resources, with Group, Version, Name and Kind.
	Custom []metav1.APIResource

	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	requests []Request
	changes  []change
	changed  chan struct{} // closed at the next change
}

// A change is a created or changed object. The resource version is its place among the
// changes, from 1.
type change struct {
	list  string // path of the object without its name
	event []byte // as a watch reports it
}

// A Request is one for an object or a list of objects.
type Request struct {
	Method, Path, Query string
	Body                string // JSON
}

// Start starts the server, with the objects by their paths, for the time of the test. It
// returns a kubeconfig file.
func (s *Server) Start(t testing.TB, objects map[string]string) (kubeconfig string) {
	t.Helper()
	s.objects, s.changed = map[string]map[string]any{}, make(chan struct{})
	for path, text := range objects {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &object))
		s.objects[path] = object
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return Kubeconfig(t, server.URL)
}

// Kubeconfig writes a kubeconfig file for a server.
func Kubeconfig(t testing.TB, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, "+
		"contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: '"+server+"'}}]}"), 0o600))
	return file
}

// Requests returns the requests with the method for a resource, such as jobs; empty means
// any.
func (s *Server) Requests(method, resource string) (found []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if (method == "" || method == r.Method) && (resource == "" || strings.Contains(r.Path+"/", "/"+resource+"/")) {
			found = append(found, r)
		}
	}
	return found
}

// ServeHTTP answers discovery and requests for objects.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if discovered := s.discovery(r.URL.Path); discovered != nil {
		reply(w, http.StatusOK, discovered)
		return
	}
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r)
		return
	}
	code, object := s.do(r)
	reply(w, code, object)
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		reply(w, http.StatusBadRequest, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest)) // the client lists instead
		return
	}
	after, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		reply(w, http.StatusBadRequest, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for {
		w.(http.Flusher).Flush()
		s.mu.Lock()
		changes, changed := s.changes[min(after, len(s.changes)):], s.changed
		s.mu.Unlock()
		for _, c := range changes {
			if selects(r.URL.Path, c.list) {
				_, _ = w.Write(c.event) // an error shows at the end of the context
			}
		}
		if after += len(changes); len(changes) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// selects reports whether the list at a path, of all namespaces or of one, has the objects
// of a list.
func selects(at, list string) bool { return list == at || namespace.ReplaceAllString(list, "") == at }

// do carries out a request. The answer shares nothing with the objects.
func (s *Server) do(r *http.Request) (int, json.RawMessage) {
	at, body := r.URL.Path, jsonBody(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	code, object := s.doLocked(r.Method, at, r.URL.RawQuery, body)
	answer, _ := json.Marshal(object) // it was JSON
	return code, answer
}

func (s *Server) doLocked(method, at, query string, body []byte) (code int, answer any) {
	s.requests = append(s.requests, Request{method, at, query, string(body)})
	posted := map[string]any{}
	_ = json.Unmarshal(body, &posted) // stays empty without a body
	object, isStatus := strings.CutSuffix(at, "/status")
	found, kind := s.objects[object], "MODIFIED"
	switch {
	case method == http.MethodPost:
		metadata := posted["metadata"].(map[string]any)
		object, kind = path.Join(at, metadata["name"].(string)), "ADDED"
		if s.objects[object] != nil {
			return http.StatusConflict, failure(http.StatusConflict, metav1.StatusReasonAlreadyExists)
		}
		metadata["uid"] = object
	case method == http.MethodGet && found != nil:
		return http.StatusOK, found
	case method == http.MethodGet && listPath.MatchString(at):
		return http.StatusOK, s.list(at)
	case found == nil:
		return http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound)
	case isStatus:
		found["status"] = posted["status"]
		posted = found
	case method == http.MethodPatch:
		maps.Copy(found, posted)
		posted = found
	}
	posted["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(len(s.changes) + 1)
	s.objects[object] = posted
	event, _ := json.Marshal(map[string]any{"type": kind, "object": posted}) // it was JSON
	s.changes = append(s.changes, change{path.Dir(object), append(event, '\n')})
	close(s.changed)
	s.changed = make(chan struct{})
	return http.StatusOK, posted
}

var (
	listPath  = regexp.MustCompile(`^/(api/[^/]+|apis/[^/]+/[^/]+)(/namespaces/[^/]+)?/[^/]+$`)
	namespace = regexp.MustCompile(`/namespaces/[^/]+`)
)

func (s *Server) list(at string) any {
	items := []any{}
	for name, object := range s.objects {
		if selects(at, path.Dir(name)) {
			items = append(items, object)
		}
	}
	list := map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(len(s.changes))}, "items": items}
	for _, c := range s.Custom {
		if path.Base(at) == c.Name {
			list["kind"], list["apiVersion"] = c.Kind+"List", c.Group+"/"+c.Version
		}
	}
	return list
}

// discovery returns nil if the path is none of discovery.
func (s *Server) discovery(at string) any {
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	resources := map[string]*metav1.APIResourceList{}
	for _, c := range s.Custom {
		version := metav1.GroupVersionForDiscovery{GroupVersion: c.Group + "/" + c.Version, Version: c.Version}
		list := resources["/apis/"+version.GroupVersion]
		if list == nil {
			list = &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion}
			resources["/apis/"+version.GroupVersion] = list
			groups.Groups = append(groups.Groups, metav1.APIGroup{Name: c.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		}
		c.Namespaced = true
		list.APIResources = append(list.APIResources, c)
	}
	switch list := resources[at]; {
	case at == "/api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}
	case at == "/apis":
		return groups
	case list != nil:
		return list
	}
	return nil
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

func failure(code int32, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason}
}

func reply(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}
