package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// An apiServer is a fake API server that keeps the requests.
type apiServer struct {
	mu       sync.Mutex
	requests []string
	answer   func(path, next string) (status int, body any)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	status, body := s.answer(r.URL.Path, r.URL.Query().Get("continue"))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// start starts the server and writes a kubeconfig with the contexts prod, whose namespace
// is mail, and other.
func (s *apiServer) start(t *testing.T) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return written(t, "kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: prod
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: t}}]
contexts:
  - {name: prod, context: {cluster: c, user: u, namespace: mail}}
  - {name: other, context: {cluster: c, user: u}}
`, server.URL))
}

func status(code int, reason, message string) (int, any) {
	return code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code}
}

// cluster answers as an API server that has one ScaledJob with the Jobs and pods of
// testdata, each Job on a page of its own.
func fakeCluster(t *testing.T) *apiServer {
	t.Helper()
	read := func(file string) (object map[string]any) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(data, &object))
		return object
	}
	scaledJob := read("testdata/accurate.yaml")
	metadata := scaledJob["metadata"].(map[string]any)
	metadata["namespace"], metadata["uid"] = "default", "u1"
	jobs := read("testdata/jobs.json")["items"].([]any)
	for _, j := range jobs { // the items of a list have no kind
		delete(j.(map[string]any), "kind")
	}
	return &apiServer{answer: func(path, next string) (int, any) {
		switch path {
		case "/apis/keda.sh/v1alpha1/namespaces/default/scaledjobs", "/apis/keda.sh/v1alpha1/scaledjobs":
			return http.StatusOK, map[string]any{"kind": "ScaledJobList", "items": []any{scaledJob}}
		case "/apis/keda.sh/v1alpha1/namespaces/default/scaledjobs/a":
			return http.StatusOK, scaledJob
		case "/apis/batch/v1/namespaces/default/jobs":
			at := 0
			_, _ = fmt.Sscan(next, &at)
			list := map[string]any{}
			if at+1 < len(jobs) {
				list["continue"] = fmt.Sprint(at + 1)
			}
			return http.StatusOK, map[string]any{"kind": "JobList", "metadata": list, "items": jobs[at : at+1]}
		case "/api/v1/namespaces/default/pods":
			return http.StatusOK, map[string]any{"kind": "PodList", "items": read("testdata/pods.json")["items"]}
		}
		return status(http.StatusNotFound, "NotFound", `scaledjobs.keda.sh "`+path[strings.LastIndexByte(path, '/')+1:]+`" not found`)
	}}
}

// The cluster and a dump of it have the same answer, and reading sends GET requests only.
func TestCluster(t *testing.T) {
	s := fakeCluster(t)
	kubeconfig := s.start(t)
	for _, release := range []string{"2.21", "spec"} {
		_, want, _ := call(t, "explain testdata/accurate.yaml --queue 8 --jobs testdata/jobs.json --jobs testdata/pods.json --release "+release, "")
		for _, name := range []string{"a", "scaledjob/a"} {
			status, got, said := call(t, "explain "+name+" -n default --queue 8 --kubeconfig "+kubeconfig+" --release "+release, "")
			require.Equal(t, success, status, said)
			require.Equal(t, want, got)
		}
	}
	require.NotEmpty(t, s.requests)
	for _, r := range s.requests {
		require.True(t, strings.HasPrefix(r, "GET "), r)
	}
}

// The ScaledJobs of a cluster are compared like files.
func TestDiffCluster(t *testing.T) {
	kubeconfig := fakeCluster(t).start(t)
	_, want, _ := call(t, "diff testdata/accurate.yaml --from 2.18 --to 2.19", "")
	require.Contains(t, want, "accurate")
	for _, which := range []string{"a -n default", "-n default", "-A"} {
		status, got, said := call(t, "diff "+which+" --kubeconfig "+kubeconfig+" --from 2.18 --to 2.19", "")
		require.Equal(t, 1, status, "%s: %s", which, said)
		require.Equal(t, want, got, which)
	}
	for args, want := range map[string]string{
		"testdata/accurate.yaml -n default": "use one of them",
		"a -A":                              "use one of them",
		"-n mail":                           "scaledjobs.keda.sh",
	} {
		_, _, said := call(t, "diff "+args+" --kubeconfig "+kubeconfig+" --from 2.18 --to 2.19", "")
		require.Contains(t, said, want, args)
	}
}

// Without -n and --context, an argument that is no file is a name, and the namespace is the context's.
func TestClusterDefaults(t *testing.T) {
	s := fakeCluster(t)
	kubeconfig := s.start(t)
	t.Setenv("KUBECONFIG", kubeconfig)
	status, _, said := call(t, "explain orders --queue 8", "")
	require.Equal(t, trouble, status)
	require.Equal(t, "scaledjob: ScaledJob orders in namespace mail: scaledjobs.keda.sh \"orders\" not found\n", said)
	require.Equal(t, []string{"GET /apis/keda.sh/v1alpha1/namespaces/mail/scaledjobs/orders"}, s.requests)

	_, out, said := call(t, "explain a gone -n default --queue 8 --release 2.21 --context other -o json", "")
	require.Contains(t, out, `"name":"a"`)
	require.Equal(t, "scaledjob: ScaledJob gone in namespace default: scaledjobs.keda.sh \"gone\" not found\n", said)
}

// Names complete from the files, and with a flag of the cluster from there.
func TestCompletionOfNames(t *testing.T) {
	kubeconfig := fakeCluster(t).start(t)
	for command, want := range map[string]string{
		"__complete explain testdata/two.yaml --name ":                                  "both\nwrong\n:4\n",
		"__complete diff testdata/two.yaml --name ":                                     "both\nwrong\n:4\n",
		"__complete explain -n default --kubeconfig " + kubeconfig + " ":                "a\n:4\n",
		"__complete explain -n default --context none --kubeconfig " + kubeconfig + " ": ":4\n",
		"__complete explain ": "yaml\nyml\njson\n:8\n",
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, success, run(t.Context(), append(strings.Fields(command), ""), nil, &stdout, &stderr))
		require.Equal(t, want, stdout.String(), command)
	}
}

// Failures of a cluster are errors, never an empty set of Jobs.
func TestClusterFails(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(path string) (int, any)
		want   string
	}{
		"forbidden": {func(string) (int, any) {
			return status(http.StatusForbidden, "Forbidden", `jobs.batch is forbidden: User "u" cannot list`)
		}, "list Jobs in namespace default: jobs.batch is forbidden: User \"u\" cannot list"},
		"wrong type": {func(string) (int, any) {
			return http.StatusOK, map[string]any{"items": []any{map[string]any{"status": map[string]any{"active": "x"}}}}
		}, "list Jobs in namespace default: status.active: found a string"},
		"no list": {func(string) (int, any) { return http.StatusOK, []int{} }, "list Jobs in namespace default: found an array"},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakeCluster(t)
			healthy := s.answer
			s.answer = func(path, next string) (int, any) {
				if strings.HasSuffix(path, "/jobs") {
					return c.answer(path)
				}
				return healthy(path, next)
			}
			status, out, said := call(t, "explain a -n default --queue 8 --kubeconfig "+s.start(t), "")
			require.Equal(t, trouble, status)
			require.Empty(t, out)
			require.Contains(t, said, c.want)
		})
	}
	kubeconfig := fakeCluster(t).start(t)
	for flags, want := range map[string]string{
		"a -n default --context none --kubeconfig " + kubeconfig: `context "none" does not exist`,
		"a -n default --kubeconfig testdata/gone":                "testdata/gone: no such file",
		"a.yaml -n default":                                   "\"a.yaml\": a file; leave out --namespace",
		"-f a.yaml --context none":                            "\"a.yaml\": a file; leave out --namespace",
		"a - --kubeconfig k":                                  "\"-\": a file; leave out --namespace",
		"a -n default --running 3 --kubeconfig " + kubeconfig: "a is read from the cluster; use a file with --jobs and counts of Jobs",
	} {
		status, out, said := call(t, "explain --queue 8 "+flags, "")
		require.Equal(t, trouble, status)
		require.Empty(t, out)
		require.Contains(t, said, want)
	}
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	_, _, said := call(t, "explain orders --queue 8", "")
	require.Equal(t, "scaledjob: orders: no kubeconfig; use --kubeconfig, or the file of a manifest\n", said)
	_, out, said := call(t, "explain orders testdata/accurate.yaml --queue 8", "")
	require.Contains(t, out, "a: KEDA")
	require.Equal(t, "scaledjob: orders: no kubeconfig; use --kubeconfig, or the file of a manifest\n", said)
	for _, text := range []string{"garbage", "[]", "{", "kind: Foo", "a: b: c", "clusters: 5"} {
		status, out, said := call(t, "explain orders --queue 8 --kubeconfig "+written(t, "config", text), "")
		require.Equal(t, trouble, status)
		require.Empty(t, out)
		require.NotRegexp(t, goWords, said)
		require.NotRegexp(t, `\.go:|json:`, said)
	}
}

// A kubeconfig of a server, without its certificate.
func kubeconfigOf(t *testing.T, server *httptest.Server) string {
	t.Helper()
	t.Cleanup(server.Close)
	return written(t, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
clusters: [{name: c, cluster: {server: %q}}]}`, server.URL))
}

// answering starts an API server with answers by the end of their path, and refuses all others.
func answering(t *testing.T, answers map[string]string) (kubeconfig string) {
	t.Helper()
	return kubeconfigOf(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || strings.Contains(r.URL.Path, "secrets") {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		for end, answer := range answers {
			if strings.HasSuffix(r.URL.Path, end) {
				_, _ = io.WriteString(w, answer)
				return
			}
		}
		w.WriteHeader(http.StatusForbidden)
	})))
}

// Problems of a connection are named, in every command that reads a cluster.
func TestConnections(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	ends := make(chan struct{})
	defer close(ends)
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ends }))
	stops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "{")
		w.(http.Flusher).Flush()
		<-ends
	}))
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = quiet
	untrusted.StartTLS()
	private := httptest.NewUnstartedServer(http.NotFoundHandler())
	private.Config.ErrorLog, private.TLS = quiet, &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	private.StartTLS()
	gone := httptest.NewServer(http.NotFoundHandler())
	for want, flags := range map[string]string{
		"sent no answer within 100ms; check the server, or use a longer --request-timeout\n":                                  "--request-timeout 100ms --kubeconfig " + kubeconfigOf(t, silent),
		"sent no answer within 150ms; check the server, or use a longer --request-timeout\n":                                  "--request-timeout 150ms --kubeconfig " + kubeconfigOf(t, stops),
		"is not trusted: certificate signed by unknown authority; check certificate-authority and server in the kubeconfig\n": "--kubeconfig " + kubeconfigOf(t, untrusted),
		"refuses the TLS connection: certificate required; check the client certificate in the kubeconfig\n":                  "--kubeconfig " + kubeconfigOf(t, private),
		"is unreachable: ":                 "--kubeconfig " + kubeconfigOf(t, gone),
		"--request-timeout -1s: less than": "--request-timeout -1s --kubeconfig " + kubeconfigOf(t, silent),
	} {
		if strings.HasPrefix(want, "refuses") {
			data, err := os.ReadFile(strings.Fields(flags)[1])
			require.NoError(t, err)
			flags = "--kubeconfig " + written(t, "kubeconfig", strings.Replace(string(data), "server:", "insecure-skip-tls-verify: true, server:", 1))
		}
		if strings.HasPrefix(want, "is unreachable") {
			gone.Close()
		}
		for _, command := range []string{"explain a --queue 8 ", "explain scheduledjob/a ", "next a "} {
			status, out, said := call(t, command+flags, "")
			require.Equal(t, trouble, status)
			require.Empty(t, out)
			require.Contains(t, said, want)
			require.NotRegexp(t, goWords, said)
			require.NotContains(t, said, "x509")
		}
	}
}

// A command says that it waits for a cluster, once.
func TestSlowCluster(t *testing.T) {
	s := fakeCluster(t)
	healthy, said := s.answer, &waitedFor{seen: make(chan struct{})}
	s.answer = func(path, next string) (int, any) {
		<-said.seen
		return healthy(path, next)
	}
	var out bytes.Buffer
	command := "explain a -n default --queue 8 --release 2.21 --kubeconfig " + s.start(t)
	require.Equal(t, success, run(t.Context(), strings.Fields(command), nil, &out, said))
	require.Contains(t, out.String(), "a: KEDA")
	require.Regexp(t, `^scaledjob: waiting for 127\.0\.0\.1:\d+, for at most 30s a request \(--request-timeout\)\n$`, said.String())
}

// waitedFor is an output that tells when something was written.
type waitedFor struct {
	bytes.Buffer
	once sync.Once
	seen chan struct{}
}

func (w *waitedFor) Write(p []byte) (int, error) {
	defer w.once.Do(func() { close(w.seen) })
	return w.Buffer.Write(p)
}

// The time of requests chooses no cluster: a file stays a file.
func TestRequestTimeoutOfFiles(t *testing.T) {
	status, out, said := call(t, "explain testdata/accurate.yaml --queue 8 --request-timeout 1s", "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, "a: KEDA")
}
