package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

var away = flag.Duration("away", 10*time.Second, "how long a queue's server is away in TestReadings")

// What KEDA reads decides, whatever is killed, away, edited or hostile meanwhile. No Job is deleted for it.
func TestReadings(t *testing.T) {
	s := newFixture(t)
	s.install(t)
	for _, test := range []struct {
		name string
		run  func(*fixture, *testing.T)
	}{
		{"cron", (*fixture).readsCron},
		{"KEDA killed", (*fixture).survivesKEDA},
		{"a server that is away", (*fixture).survivesServer},
		{"credentials rotated", (*fixture).rotates},
		{"triggers edited", (*fixture).editsTriggers},
		{"a hostile server", (*fixture).survivesHostile},
		{"without a permission", (*fixture).lacks},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(s, t) })
	}
}

// A source is a queue's server, for KEDA's trigger metrics-api.
type source struct {
	*httptest.Server
	mu       sync.Mutex
	answer   http.HandlerFunc
	requests []string
}

func newSource(t *testing.T) *source {
	q := &source{}
	q.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q.mu.Lock()
		answer := q.answer
		q.requests = append(q.requests, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header))
		q.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(q.Close)
	t.Cleanup(q.CloseClientConnections)
	q.be(items(0))
	return q
}

func (q *source) be(answer http.HandlerFunc) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answer = answer
}

// seen returns the requests so far.
func (q *source) seen() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return strings.Join(q.requests, "\n")
}

func items(n int) http.HandlerFunc { return says(fmt.Sprintf(`{"length": %d}`, n)) }

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func (q *source) trigger(more string) string {
	return fmt.Sprintf("  triggers: [{type: metrics-api, metadata: {url: %q, valueLocation: length, targetValue: '1'%s}]\n", q.URL, more)
}

// consumers starts a controller for a ScaledJob with Jobs that do not end.
func (s *fixture) consumers(t *testing.T, namespace, triggers string) *queue {
	q, _ := s.scaled(t, namespace, job(map[string]string{works: "24h"})+"  rollout: {strategy: gradual}\n"+triggers)
	return q
}

// has waits until the ScaledJob has n Jobs and Ready, and returns how long that took.
func (q *queue) has(n int, ready string) time.Duration {
	q.t.Helper()
	begin := time.Now()
	q.becomes(time.Minute, func(t *assert.CollectT) {
		require.Len(t, q.jobs(t), n)
		require.Equal(t, ready, q.condition(t, "Ready"))
	})
	return time.Since(begin).Round(10 * time.Millisecond)
}

const (
	isReady    = "True ScaledJobReady"
	unreadable = "False TriggerError"
)

func (s *fixture) readsCron(t *testing.T) {
	cron := func(start, end string) string {
		return "  triggers: [{type: cron, metadata: {timezone: UTC, start: " + start + ", end: " + end + ", desiredReplicas: '2'}}]\n"
	}
	q := s.consumers(t, "cron", cron("0 0 1 1 *", "59 23 31 12 *"))
	t.Log("Jobs after", q.has(2, isReady))
	q.becomes(10*time.Second, func(t *assert.CollectT) { require.Equal(t, "True ScalerActive", q.condition(t, "Active")) })
	other := time.Now().UTC().AddDate(0, 6, 0).Month()
	q.patch("spec: {" + strings.TrimSpace(cron(fmt.Sprintf("0 0 1 %d *", other), fmt.Sprintf("1 0 1 %d *", other))) + "}")
	q.becomes(time.Minute, func(t *assert.CollectT) { require.Equal(t, "False ScalerNotActive", q.condition(t, "Active")) })
	q.has(2, isReady)
}

// While a part of KEDA is away no Job is created.
func (s *fixture) survivesKEDA(t *testing.T) {
	server := newSource(t)
	server.be(items(2))
	q := s.consumers(t, "killed", server.trigger("}"))
	t.Log("first Jobs after", q.has(2, isReady))
	server.be(items(4))
	t.Log("Jobs for a longer queue after", q.has(4, isReady))
	n := 4
	for _, part := range []struct {
		name    string
		stop    func()
		restart func(testing.TB)
	}{{"operator", s.keda.Stop, s.keda.Restart}, {"metrics server", s.metrics.Stop, s.metrics.Restart}} {
		part.stop()
		server.be(items(n + 2))
		t.Log("without the ", part.name, ": unready after ", q.has(n, unreadable))
		q.stays(3*time.Second, func(t require.TestingT) { require.Len(t, q.jobs(t), n) })
		part.restart(t)
		n += 2
		t.Log("Jobs after the start of the ", part.name, ": ", q.has(n, isReady))
	}
}

func (s *fixture) survivesServer(t *testing.T) {
	server := newSource(t)
	server.be(items(2))
	q := s.consumers(t, "server", server.trigger("}"))
	q.has(2, isReady)
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	gone := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for i, fault := range []http.HandlerFunc{gone, hangs} {
		server.be(fault)
		t.Log("unready after", q.has(2+i, unreadable))
		q.stays(*away, func(t require.TestingT) { require.Len(t, q.jobs(t), 2+i) })
		server.be(items(3 + i))
		t.Log("Jobs after its return:", q.has(3+i, isReady))
	}
}

// A server and a Secret get another token, in turn.
func (s *fixture) rotates(t *testing.T) {
	server, tokens := newSource(t), []string{secret.New("first"), secret.New("second")}
	wants := func(token string, n int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			items(n)(w, r)
		}
	}
	store := func(token string) {
		s.apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: rotated}\nstringData: {token: %s}\n", token))
	}
	s.apply(t, `apiVersion: v1
kind: Namespace
metadata: {name: rotated}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {name: token, namespace: rotated}
spec: {secretTargetRef: [{parameter: token, name: token, key: token}]}`)
	store(tokens[0])
	server.be(wants(tokens[0], 2))
	q := s.consumers(t, "rotated", server.trigger(", authMode: bearer}, authenticationRef: {name: token}"))
	q.has(2, isReady)
	server.be(wants(tokens[1], 3))
	q.has(2, unreadable)
	store(tokens[1])
	t.Log("Jobs after the Secret:", q.has(3, isReady))
	store(tokens[0]) // KEDA keeps what works
	server.be(wants(tokens[1], 4))
	q.has(4, isReady)
	server.be(wants(tokens[0], 5))
	t.Log("Jobs after the server:", q.has(5, isReady))
}

// Each edit is followed by the right number of Jobs, and Jobs that run stay.
func (s *fixture) editsTriggers(t *testing.T) {
	first, second := miniredis.RunT(t), miniredis.RunT(t)
	fill := func(server *miniredis.Miniredis, list string, n int) {
		for range n {
			_, err := server.Push(list, "x")
			require.NoError(t, err)
		}
	}
	fill(first, "a", 2)
	fill(first, "b", 8)
	fill(second, "b", 10)
	spec := func(address, list, length string) string {
		database := ""
		if length == "" {
			length, database = "1", ", databaseIndex: none"
		}
		return strings.Replace(job(map[string]string{works: "1h"}), "env: [", fmt.Sprintf("env: [{name: ADDRESS, value: %q}, ", address), 1) +
			"  rollout: {strategy: gradual}\n" + fmt.Sprintf("  triggers: [{type: redis, metadata: {addressFromEnv: ADDRESS, listName: %s, listLength: %q%s}}]\n", list, length, database)
	}
	q, _ := s.scaled(t, "edited", spec(first.Addr(), "a", "2"))
	q.has(1, isReady)
	kept := map[types.UID]bool{}
	for _, edit := range []struct {
		name, spec string
		jobs       int
		ready      string
	}{
		{"query", spec(first.Addr(), "b", "2"), 4, isReady},
		{"target", spec(first.Addr(), "b", "1"), 8, isReady},
		{"variable", spec(second.Addr(), "b", "1"), 10, isReady},
		{"one that KEDA cannot build", spec(second.Addr(), "b", ""), 10, unreadable},
		{"corrected", spec(second.Addr(), "b", "1"), 10, isReady},
	} {
		for _, j := range q.jobs(t) {
			kept[j.UID] = true
		}
		q.apply(edit.spec)
		t.Logf("%s: %d Jobs after %s", edit.name, edit.jobs, q.has(edit.jobs, edit.ready))
		for _, j := range q.jobs(t) {
			delete(kept, j.UID)
		}
		require.Empty(t, kept, "deleted Jobs")
	}
	objects, err := q.dynamic.Resource(scaledObjects).Namespace(q.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, objects.Items, 1, "those of the edits before are gone")
}

// A tenant's server sees his own credentials and nothing else. What it answers reaches no condition, event or log of ours,
// and no number of it exceeds the maximum.
func (s *fixture) survivesHostile(t *testing.T) {
	const words = "hostile-words"
	server := newSource(t)
	q := s.consumers(t, "hostile", "  maxReplicaCount: 5\n"+server.trigger("}"))
	q.has(0, isReady)
	for _, answer := range []string{
		`{"length": -5}`, `{"length": "NaN"}`, `{"length": "` + words + `"}`, `{"` + words + `": 1}`, words + "\x1b[2J\r\nlevel=error", strings.Repeat("9", 400),
		`{"length": ` + strings.Repeat("[", 100_000), `{"length": 1e308}`, `{"length": 9223372036854775808}`,
	} {
		server.be(says(answer))
		time.Sleep(3 * time.Second)
		t.Logf("%.40q: %d Jobs, Ready %s", answer, len(q.jobs(t)), q.condition(t, "Ready"))
		require.LessOrEqual(t, len(q.jobs(t)), 5)
	}
	for _, refuse := range []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, words+fmt.Sprint(r.Header), http.StatusTeapot)
		},
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.cluster.Config().Host+"/"+words, http.StatusFound)
		},
	} {
		server.be(refuse)
		q.has(len(q.jobs(t)), unreadable)
	}
	t.Logf("the server saw %q", server.requests[len(server.requests)-1])
	require.NotContains(t, server.seen(), "eyJ", "a token of a ServiceAccount")
	u, err := q.dynamic.Resource(scaledJobs).Namespace(q.namespace).Get(t.Context(), "consumer", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(u.Object["status"]), words)
	events, err := q.client.EventsV1().Events(q.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	kedas := 0
	for _, e := range events.Items {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		if strings.Contains(string(text), words) {
			kedas++
			require.Equal(t, "keda-operator", e.ReportingController, e.Note)
		}
	}
	t.Logf("KEDA's own events with the server's words: %d", kedas)
	server.be(items(3))
	q.has(max(3, len(q.jobs(t))), isReady)
}

// A namespace is deleted although KEDA was uninstalled, whose finalizer is on the ScaledObject. It takes more than ten
// minutes.
func TestDeletionWithoutKEDA(t *testing.T) {
	s := newFixture(t)
	s.install(t)
	server := newSource(t)
	server.be(items(1))
	q := s.consumers(t, "without", server.trigger("}"))
	q.has(1, isReady)
	namespace, stays := s.keeps(t)
	s.keda.Stop()
	s.metrics.Stop()
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	require.NoError(t, q.dynamic.Resource(services).Delete(t.Context(), "v1beta1.external.metrics.k8s.io", metav1.DeleteOptions{}))
	begin, namespaces := time.Now(), s.client.CoreV1().Namespaces()
	require.NoError(t, namespaces.Delete(t.Context(), q.namespace, metav1.DeleteOptions{}))
	require.NoError(t, s.dynamic.Resource(scaledJobs).Namespace(namespace).Delete(t.Context(), "consumer", metav1.DeleteOptions{}))
	gone := func() bool {
		_, err := namespaces.Get(t.Context(), q.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}
	time.Sleep(time.Minute)
	objects, err := q.dynamic.Resource(scaledObjects).Namespace(q.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, objects.Items, 1)
	require.Equal(t, []string{"finalizer.keda.sh"}, objects.Items[0].GetFinalizers())
	require.Eventually(t, gone, 12*time.Minute, time.Second)
	t.Log("the namespace was gone after", time.Since(begin).Round(time.Second))
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Contains(c, stays(), `cannot patch resource "scaledobjects"`) }, 2*time.Minute, time.Second)
}
