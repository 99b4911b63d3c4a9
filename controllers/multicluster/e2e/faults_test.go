package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scaledjob/scaledjob/controllers/multicluster/registry"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
)

// prefer gives the second member nearly all Jobs.
const prefer = "  memberClusters: [{name: " + one + ", weight: 1}, {name: " + two + ", weight: 1000}]"

// A replacement that runs and succeeds between two polls removes its source, of which no
// pod ever starts.
func (s *fixture) finishesBetweenPolls(t *testing.T) {
	q := s.space(t, "between")
	q.waiting("queue", 1)
	q.interval = 8
	q.job("work", prefer+fmt.Sprintf(failoverPolicy, "60s", "5m", "preferFailover"), two+`: "-1s", work: "0s"`)
	s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{0, 1}, q.counts(t, "work", one, two)) })
	q.becomes(func(t *assert.CollectT) {
		all := q.jobs(t, one, "work")
		require.Len(t, all, 1)
		require.NotEmpty(t, all[0].Labels["scaledjob.github.io/source"])
		require.NotNil(t, all[0].Status.CompletionTime)
	})
	q.waiting("queue", 0)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{1, 0}, q.counts(t, "work", one, two)) })
}

// A stuck Job counts once: after a restart, with an unknown member in the first plans, the
// soft taint of its cluster does not become hard. It holds for its owner: another owner's
// Job goes there.
func (s *fixture) countsOnce(t *testing.T) {
	q := s.space(t, "once")
	q.waiting("queue", 1)
	third := strings.TrimSuffix(prefer, "]") + ", {name: " + three + ", weight: 1}]"
	q.job("work", third+fmt.Sprintf(failoverPolicy, "5m", "5m", "keepAll"), two+`: "-1s"`, "maxReplicaCount: 1")
	p := s.start(t, "-namespace", q.namespace)
	q.becomes(func(t *assert.CollectT) { q.told(t, "work", "Warning MemberSoftTainted", two) })
	p.Kill()
	q.away(three)
	s.start(t, "-namespace", q.namespace).Said("acting")
	q.becomes(func(t *assert.CollectT) { require.Equal(t, true, q.member(t, dsj, "work", three)["hardTainted"]) })
	q.back(three)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, "Ready", q.member(t, dsj, "work", three)["state"]) })
	q.stays(3*time.Second, func(t require.TestingT) {
		m := q.member(t, dsj, "work", two)
		require.EqualValues(t, 1, m["stuckJobs"])
		require.Equal(t, false, m["hardTainted"], "counted once")
	})

	q.waiting("queue", 2)
	q.job("other", prefer, "")
	q.becomes(func(t *assert.CollectT) {
		require.Equal(t, []int{0, 2}, q.counts(t, "other", one, two))
		require.Equal(t, false, q.member(t, dsj, "other", two)["softTainted"])
	})
}

// A create that is carried out long after the client gave it up has no second Job beside
// it, and is deleted with its owner.
func (s *fixture) arrivesLate(t *testing.T) {
	q := s.space(t, "late")
	held, release := make(chan struct{}), make(chan struct{})
	s.register(t, "late", delay(t, s.members[two].config, func(r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+q.namespace+"/jobs") {
			close(held)
			<-release
		}
	}))
	q.waiting("queue", 1)
	q.job("work", "  memberClusters: [{name: "+one+", weight: 1}, {name: late, weight: 1000}]", "", "maxReplicaCount: 1")
	s.start(t, "-namespace", q.namespace)
	select {
	case <-held:
	case <-time.After(time.Minute):
		require.Fail(t, "no create")
	}
	q.stays(4*time.Second, func(t require.TestingT) { require.Equal(t, []int{0, 0}, q.counts(t, "work", one, two)) }) // longer than -member-timeout
	objects := q.dynamic.Resource(dsj).Namespace(q.namespace)
	require.NoError(t, objects.Delete(t.Context(), "work", metav1.DeleteOptions{}))
	q.stays(2*time.Second, func(t require.TestingT) {
		_, err := objects.Get(q.t.Context(), "work", metav1.GetOptions{})
		require.NoError(t, err, "the finalizer is kept while the create may arrive")
	})
	close(release)
	q.becomes(func(t *assert.CollectT) { require.Equal(t, []int{0, 1}, q.created(t, one, two)) })
	q.becomes(func(t *assert.CollectT) {
		_, err := objects.Get(q.t.Context(), "work", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), err)
	})
	require.Equal(t, []int{0, 0}, q.counts(t, "work", one, two))
}

// register registers the second member with another name and URL, until the test ends.
func (s *fixture) register(t *testing.T, name string, server *httptest.Server) {
	r := registry.Registry{Client: s.home.client, Namespace: registry.Namespace}
	members, err := r.List(t.Context())
	require.NoError(t, err)
	is := members[slices.IndexFunc(members, func(m registry.Member) bool { return m.Name == two })]
	file, err := clientcmd.Load([]byte(is.Kubeconfig))
	require.NoError(t, err)
	for _, c := range file.Clusters {
		c.Server, c.CertificateAuthorityData, c.InsecureSkipTLSVerify = server.URL, nil, true
	}
	data, err := clientcmd.Write(*file)
	require.NoError(t, err)
	require.NoError(t, r.Remove(t.Context(), two)) // a cluster is one member
	require.NoError(t, r.Add(t.Context(), name, data, registry.Registration{}))
	t.Cleanup(func() {
		require.NoError(t, r.Remove(context.Background(), name))
		require.NoError(t, r.Add(context.Background(), two, []byte(is.Kubeconfig), is.Registration))
	})
}

// created returns how many Jobs members have ever created in the namespace.
func (q *space) created(t require.TestingT, members ...string) (all []int) {
	for _, name := range members {
		all = append(all, q.members[name].Count(q.t, func(r cluster.Request) bool {
			return r.Namespace == q.namespace && r.Verb == "create" && r.Resource == "jobs"
		}))
	}
	return all
}

// delay returns a proxy of an API server. It calls before with each request, and sends a
// POST also if its client has gone meanwhile.
func delay(t *testing.T, config *rest.Config, before func(*http.Request)) *httptest.Server {
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r = r.WithContext(context.WithoutCancel(r.Context()))
			w = struct{ http.ResponseWriter }{w} // or else the proxy asks it whether the client has gone
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		before(r)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	return server
}
