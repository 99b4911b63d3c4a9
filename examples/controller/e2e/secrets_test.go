package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/e2e/manifest"
	"github.com/scaledjob/scaledjob/e2e/permissions"
	"github.com/scaledjob/scaledjob/e2e/secret"
)

// The controller needs each of its permissions, and no others.
func (s *stand) permissions(t *testing.T) {
	permissions.Exact(t, s.cluster.Requests(t), account, manifest.Read(t, "../manifests/rbac.yaml"))
}

// No event, status or other object has a secret of the other tests.
func (s *stand) tellsNoSecret(t *testing.T) { secret.AbsentFromObjects(t, s.cluster.Config()) }

// An echo is a server that answers with an error, which repeats all that it is sent.
type echo struct {
	http, redis string // addresses

	mu   sync.Mutex
	sent strings.Builder
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	e := &echo{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		http.Error(w, e.note(fmt.Sprint(r.URL, r.Header, password)), http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go e.serve(c)
		}
	}()
	e.http, e.redis = strings.TrimPrefix(web.URL, "http://"), server.Addr().String()
	return e
}

// serve answers as a Redis.
func (e *echo) serve(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 4<<10)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		said := e.note(strings.Join(strings.Fields(string(buffer[:n])), " "))
		if _, err := io.WriteString(c, strings.Repeat("-ERR unknown command, with args beginning with: "+said+"\r\n", strings.Count(said, "*"))); err != nil {
			return
		}
	}
}

func (e *echo) note(text string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent.WriteString(text)
	return text
}

func (e *echo) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent.String()
}

// Servers are sent a password, a token and a URL with a password, and repeat them in their
// errors. Neither the output nor the metrics have them; tellsNoSecret looks at the objects.
func (s *stand) keepsSecrets(t *testing.T) {
	password, token, login := secret.New("password"), secret.New("token"), secret.New("login")
	e := newEcho(t)
	s.apply(t, fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: secrets}
---
apiVersion: v1
kind: Secret
metadata: {name: brokers, namespace: secrets}
stringData: {password: %s, token: %s, host: "http://guest:%s@%s/"}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: redis, namespace: secrets}
spec: {secretTargetRef: [{parameter: password, name: brokers, key: password}]}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: http, namespace: secrets}
spec: {secretTargetRef: [{parameter: token, name: brokers, key: token}]}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: rabbitmq, namespace: secrets}
spec: {secretTargetRef: [{parameter: host, name: brokers, key: host}]}
`, password, token, login, e.http))
	q := &queue{s, t, "secrets"}
	q.apply(job(nil) + fmt.Sprintf(`  triggers:
  - {type: redis, metadata: {address: %q, listName: a, listLength: '1'}, authenticationRef: {name: redis}}
  - {type: metrics-api, metadata: {url: 'http://%s/queue', valueLocation: n, targetValue: '1', authMode: bearer}, authenticationRef: {name: http}}
  - {type: rabbitmq, metadata: {protocol: http, queueName: a, queueLength: '1'}, authenticationRef: {name: rabbitmq}}
`, e.redis, e.http))
	p := s.start(t, "-namespace", q.namespace, "-leader-elect=false", "-log-level=debug")
	q.becomes(30*time.Second, func(t *assert.CollectT) {
		require.Equal(t, "False TriggerError", q.condition(t, "Ready"))
		require.Contains(t, q.events(t), "KEDAScalerFailed")
		require.ElementsMatch(t, []string{password, token, login}, secret.In(e.heard()))
	})
	_, metrics := get(t, p, "/metrics")
	require.Contains(t, metrics, `namespace="secrets"`)
	secret.Absent(t, "metrics", metrics)
	p.Stop()
}
