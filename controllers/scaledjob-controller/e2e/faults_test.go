package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// Each fault is counted at the API server: there are never more unfinished Jobs than the
// largest maximum with which one of them was decided.
func TestFaults(t *testing.T) {
	s := newFixture(t)
	s.install(t)
	for _, test := range []struct {
		name string
		run  func(*fixture, *testing.T)
	}{
		{"an edit in a burst", (*fixture).editedInBurst},
		{"a leader is stopped while another takes over", (*fixture).stoppedLeader},
		{"creates that arrive late", (*fixture).lateCreates},
		{"no API server for 40 s", (*fixture).noServer},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(s, t) })
	}
}

// number is the part of a spec with a queue in a ConfigMap, which never gets shorter.
const number = "  triggers: [{type: kubernetes-resource, metadata: {resourceKind: ConfigMap, resourceName: orders, key: waiting, targetValue: '1'}}]\n"

// long makes a namespace with such a queue, whose Jobs are watched, and the ScaledJob.
func (s *fixture) long(t *testing.T, namespace, spec string) (*queue, func() cluster.Jobs) {
	t.Helper()
	s.apply(t, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %[1]s}\n---\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: orders, namespace: %[1]s}\ndata: {waiting: '100000'}\n", namespace))
	jobs := cluster.WatchJobs(t, namespace, s.cluster)
	q := &queue{s, t, namespace}
	q.apply(spec + number)
	return q, jobs
}

// edit merges into the ScaledJob, and returns the revision of etcd.
func (q *queue) edit(text string) int64 {
	q.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(q.t, err)
	u, err := q.dynamic.Resource(scaledJobs).Namespace(q.namespace).Patch(q.t.Context(), "consumer", types.MergePatchType, data, metav1.PatchOptions{})
	require.NoError(q.t, err)
	revision, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	require.NoError(q.t, err)
	return revision
}

const second = "jobTargetRef: {template: {spec: {containers: [{name: c, image: 'example.com/c:2'}]}}}"

// A lower maximum, and another template, hold within a batch of requests, although a plan
// of more Jobs is being carried out.
func (s *fixture) editedInBurst(t *testing.T) {
	q, jobs := s.long(t, "edit", job(map[string]string{works: "1h"})+"  maxReplicaCount: 1000\n  rollout: {strategy: gradual}\n")
	s.start(t, "-namespace", "edit", "-leader-elect=false", "-max-requests=8")
	q.becomes(30*time.Second, func(t *assert.CollectT) { require.Greater(t, len(jobs().Created), 100) })
	revision := q.edit("spec: {maxReplicaCount: 400, " + second + "}")
	q.becomes(30*time.Second, func(t *assert.CollectT) { require.GreaterOrEqual(t, len(jobs().Unfinished), 400) })
	q.stays(5*time.Second, func(t require.TestingT) {
		var before, late int
		for _, j := range jobs().Created {
			created, err := strconv.ParseInt(j.ResourceVersion, 10, 64)
			require.NoError(t, err)
			switch {
			case created < revision:
				before++
			case j.Spec.Template.Spec.Containers[0].Image == "example.com/c:1":
				late++
			}
		}
		require.LessOrEqual(t, late, 2*64, "Jobs of the old spec after the edit")
		require.LessOrEqual(t, jobs().Peak, max(400, before+late))
	})
	t.Logf("%d Jobs, at most %d unfinished", len(jobs().Created), jobs().Peak)
}

// A leader that is stopped in a burst, for so long that another takes over, Jobs end and
// are deleted, and the spec is edited, does not go on with what it was doing.
func (s *fixture) stoppedLeader(t *testing.T) {
	q, jobs := s.long(t, "stopped", job(map[string]string{works: "3s"})+"  maxReplicaCount: 300\n  successfulJobsHistoryLimit: 1\n  rollout: {strategy: gradual}\n")
	first := s.start(t, "-namespace", "stopped", "-lease-duration=10s", "-lease-namespace=scaledjob", "-max-requests=4") // the rest of a batch waits
	first.Said("acting")
	other := s.start(t, "-namespace", "stopped", "-lease-duration=10s", "-lease-namespace=scaledjob")
	q.becomes(time.Minute, func(t *assert.CollectT) { require.Greater(t, len(jobs().Unfinished), 100) })
	require.NoError(t, first.Command.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()
	other.Said("acting")
	time.Sleep(time.Until(stopped.Add(35 * time.Second)))
	q.edit("spec: {maxReplicaCount: 50, " + second + "}")
	time.Sleep(time.Until(stopped.Add(70 * time.Second)))
	q.becomes(time.Minute, func(t *assert.CollectT) {
		require.LessOrEqual(t, len(jobs().Unfinished), 50)
		require.Greater(t, jobs().Deleted, 300, "Jobs have ended")
	})
	before := jobs()
	require.LessOrEqual(t, before.Peak, 300)
	after := cluster.WatchJobs(t, q.namespace, s.cluster)
	require.NoError(t, first.Command.Process.Signal(syscall.SIGCONT))
	first.Said("the lease is lost")
	q.stays(15*time.Second, func(t require.TestingT) { require.LessOrEqual(t, after().Peak, 50) })
	created := len(jobs().Created)
	t.Logf("at most %d unfinished Jobs at maximum 300, then %d at 50; %d were created, %d of them after the first leader went on, %d deleted", before.Peak, after().Peak, created, created-len(before.Created), jobs().Deleted)
	require.Greater(t, created, len(before.Created), "the other leader goes on")
	require.NotContains(t, first.Output(), "panic")
}

// Creates that arrive much later than two timeouts, which nothing is built for, do not
// exceed the maximum, as long as no finished Job is deleted.
func (s *fixture) lateCreates(t *testing.T) {
	p := s.proxy(t, 8*requestTimeout) // the maximum is reached again until then
	q, jobs := s.long(t, "late", job(map[string]string{works: "25s"})+"  maxReplicaCount: 10\n  successfulJobsHistoryLimit: 10000\n")
	s.start(t, "-namespace", "late", "-leader-elect=false", "-kubeconfig", p.kubeconfig)
	end := time.Now().Add(90 * time.Second)
	q.becomes(time.Until(end), func(t *assert.CollectT) {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Len(t, p.answers, lateOnes)
	})
	time.Sleep(time.Until(end))
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Logf("late creates were answered %v; %d Jobs, at most %d unfinished", p.answers, len(jobs().Created), jobs().Peak)
	require.Zero(t, jobs().Deleted)
	require.Equal(t, 10, jobs().Peak)
	require.Greater(t, len(jobs().Created), 20)
}

// lateOnes is how many creates a proxy keeps: every second of the first.
const lateOnes = 4

// A proxy on the way to the API server keeps some creates of Jobs, for longer than their
// client waits.
type proxy struct {
	kubeconfig string
	late       time.Duration
	next       *httputil.ReverseProxy
	fault      func(*http.Request) func(http.ResponseWriter, *http.Request) // unless nil, answers requests in place of late

	mu      sync.Mutex
	creates int
	answers []int // to late creates
}

func (s *fixture) proxy(t *testing.T, late time.Duration) *proxy {
	t.Helper()
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	require.NoError(t, err)
	target, err := url.Parse(config.Clusters["e2e"].Server)
	require.NoError(t, err)
	p := &proxy{late: late, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), next: httputil.NewSingleHostReverseProxy(target)}
	p.next.FlushInterval = -1
	p.next.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 50}
	server := httptest.NewUnstartedServer(p)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	config.Clusters["e2e"].Server = server.URL
	require.NoError(t, clientcmd.WriteToFile(*config, p.kubeconfig))
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.fault != nil {
		answer := p.fault(r)
		if answer == nil {
			answer = p.next.ServeHTTP
		}
		answer(w, r)
		return
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/jobs") {
		p.next.ServeHTTP(w, r)
		return
	}
	p.mu.Lock()
	p.creates++
	keep := p.creates%2 == 0 && p.creates <= 2*lateOnes
	p.mu.Unlock()
	if !keep {
		p.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	kept := r.Clone(context.Background())
	kept.Body = io.NopCloser(bytes.NewReader(body))
	time.AfterFunc(p.late, func() {
		answer := httptest.NewRecorder()
		p.next.ServeHTTP(answer, kept)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answers = append(p.answers, answer.Code)
	})
	<-r.Context().Done() // the client does not wait any longer
}

// After a time without API server, in a burst, exactly one controller acts, which
// finishes the burst.
func (s *fixture) noServer(t *testing.T) {
	q, jobs := s.long(t, "away", job(map[string]string{works: "1h"})+"  maxReplicaCount: 500\n")
	var all []*process.Process
	for range 2 {
		all = append(all, s.start(t, "-namespace", "away", "-lease-namespace=scaledjob", "-max-requests=8"))
	}
	q.becomes(time.Minute, func(t *assert.CollectT) { require.Greater(t, len(jobs().Created), 50) })
	s.cluster.KillAPIServer()
	time.Sleep(40 * time.Second)
	require.NoError(t, s.cluster.StartAPIServer(t.Context()))
	back := time.Now()
	q.becomes(2*time.Minute, func(t *assert.CollectT) { require.Len(t, q.jobs(t), 500) })
	t.Logf("all Jobs %s after the API server is back", time.Since(back).Round(time.Second))
	q.stays(5*time.Second, func(t require.TestingT) { require.Len(t, q.jobs(t), 500) })
	acting, lost := 0, 0
	for _, p := range all {
		acting += strings.Count(p.Output(), "msg=acting") - strings.Count(p.Output(), "msg=stopped")
		lost += strings.Count(p.Output(), "the lease is lost")
	}
	require.Equal(t, 1, acting)
	require.Equal(t, 1, lost)
	require.LessOrEqual(t, jobs().Peak, 500)
	for _, p := range all {
		p.Stop()
	}
}
