package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A gate stands between a controller and the API server, and lets some requests
// wait for ever: a controller that is killed then has not made them.
type gate struct {
	t    *testing.T
	shut func(r *http.Request, created bool) bool
	// after lets a request that is shut reach the API server, and holds its answer.
	after bool
	// answer answers a request instead of the API server, or returns false.
	answer func(http.ResponseWriter, *http.Request) bool
	proxy  *httputil.ReverseProxy

	mu      sync.Mutex
	created bool // a Job
	held    chan struct{}
	once    sync.Once
}

// gated is a kubeconfig of the controller's account behind a gate, which is shut for
// some requests; created says whether a Job has been.
func (s *fixture) gated(t *testing.T, shut func(r *http.Request, created bool) bool) (*gate, string) {
	t.Helper()
	g := &gate{t: t, shut: shut, held: make(chan struct{})}
	tls, err := rest.TLSConfigFor(s.cluster.Config())
	require.NoError(t, err)
	target, err := url.Parse(s.cluster.Config().Host)
	require.NoError(t, err)
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      &http.Transport{TLSClientConfig: tls},
		FlushInterval:  -1,
		ModifyResponse: g.see,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.answer != nil && g.answer(w, r) {
			return
		}
		if g.isShut(r) {
			if g.after {
				g.forward(r)
			}
			g.once.Do(func() { close(g.held) })
			_, _ = io.Copy(io.Discard, r.Body) // without which the server does not see the controller go
			<-r.Context().Done()
			return
		}
		g.proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	require.NoError(t, err)
	for _, c := range config.Clusters {
		c.Server = server.URL
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return g, kubeconfig
}

// forward sends a request to the API server, whose answer is lost.
func (g *gate) forward(r *http.Request) { g.proxy.ServeHTTP(httptest.NewRecorder(), r) }

func (g *gate) isShut(r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut(r, g.created)
}

func (g *gate) see(r *http.Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.created = g.created || isJob(r.Request, http.MethodPost) && r.StatusCode == http.StatusCreated
	return nil
}

// waits waits until a request is held.
func (g *gate) waits() {
	g.t.Helper()
	select {
	case <-g.held:
	case <-time.After(60 * time.Second):
		require.Fail(g.t, "no request came to the gate")
	}
}
