package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// A ciQueue lists CI jobs until their Jobs have finished. Of three answers one is the list of two
// polls before with the revision of then, and one is half a list and an error.
type ciQueue struct {
	mu      sync.Mutex
	waiting []string
	before  [][]string
	polls   int
}

func (q *ciQueue) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.polls++
	q.before = append(q.before, append([]string(nil), q.waiting...))
	list := q.waiting
	switch q.polls % 3 {
	case 1:
		list = q.before[max(0, len(q.before)-3)] // stale: it has CI jobs that have ended
	case 2:
		w.WriteHeader(http.StatusBadGateway)
		list = list[:len(list)/2]
	}
	jobs := []map[string]any{}
	for _, id := range append(list[:len(list):len(list)], list[:min(2, len(list))]...) { // two are repeated
		jobs = append(jobs, map[string]any{"id": id, "image": "example.com/ci", "script": "true"})
	}
	_ = json.NewEncoder(w).Encode(jobs)
}

func (q *ciQueue) left() int { q.mu.Lock(); defer q.mu.Unlock(); return len(q.waiting) }

// ends takes the CI jobs of finished Jobs from the queue.
func (q *ciQueue) ends(jobs []batchv1.Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended := map[string]bool{}
	for _, j := range jobs {
		ended[j.Annotations[adapter.AnnotationKey]] = j.Status.CompletionTime != nil
	}
	var waiting []string
	for _, id := range q.waiting {
		if !ended[id] {
			waiting = append(waiting, id)
		}
	}
	q.waiting = waiting
}

// faulty returns a kubeconfig of an API server that loses every fifth answer to a create and to
// a delete, and rejects every seventh, before the request has its effect.
func faulty(t *testing.T, user *rest.Config) (kubeconfig string) {
	target, err := url.Parse(user.Host)
	require.NoError(t, err)
	p := httputil.NewSingleHostReverseProxy(target)
	p.FlushInterval = -1 // watches
	p.Transport, err = rest.TransportFor(user)
	require.NoError(t, err)
	var mu sync.Mutex
	n := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fails := strings.Contains(r.URL.Path, "/jobs") && (r.Method == http.MethodPost || r.Method == http.MethodDelete)
		if fails {
			n[r.Method]++
		}
		at := n[r.Method]
		mu.Unlock()
		switch {
		case fails && at%7 == 3:
			http.Error(w, "the webhook is down", http.StatusInternalServerError)
		case fails && at%5 == 2:
			p.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "the answer is lost", http.StatusGatewayTimeout)
		default:
			p.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c, namespace: default}}]}`, s.URL)
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	return kubeconfig
}

// TestDispatcher runs examples/dispatcher on a queue whose lists are stale, partial and repeat
// items, with faults of creates and deletes, and kills it. No CI job gets a second Job, and
// never do more than the maximum run.
func TestDispatcher(t *testing.T) {
	folder := process.Dir(t, "examples/dispatcher")
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: time.Second} })
	client := c.Client(t)
	watched := watchJobs(t, client, "default")
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, folder+"/rbac.yaml"))...)
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ci"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	queue := &ciQueue{}
	for i := range 12 {
		queue.waiting = append(queue.waiting, fmt.Sprint("job-", i))
	}
	source := httptest.NewServer(queue)
	defer source.Close()
	binary, kubeconfig := process.Build(t, folder), faulty(t, c.User("system:serviceaccount:default:dispatcher"))
	start := func() *process.Process {
		command := exec.Command(binary, "-queue", source.URL, "-max", "4", "-keep", "10s")
		command.Env = append(command.Environ(), "KUBECONFIG="+kubeconfig)
		return process.Start(t, command)
	}
	until := func(holds func() bool) {
		t.Helper()
		require.Eventually(t, func() bool {
			l, err := client.BatchV1().Jobs("default").List(t.Context(), metav1.ListOptions{})
			if err == nil {
				queue.ends(l.Items)
			}
			return err == nil && holds()
		}, 6*time.Minute, 100*time.Millisecond)
	}
	dispatcher := start()
	until(func() bool { return queue.left() <= 7 })
	dispatcher.Kill()
	dispatcher = start()
	until(func() bool { return queue.left() == 0 })
	until(func() bool { return watched.left() < 10 }) // deletes
	dispatcher.Stop()

	made := map[string]int{}
	c.Count(t, func(r cluster.Request) bool {
		is := r.Verb == "create" && r.Resource == "jobs" && r.Code == http.StatusCreated
		if is {
			made[r.Name]++
		}
		return is
	})
	require.Len(t, made, 12, "a Job for each CI job")
	for name, n := range made {
		require.Equal(t, 1, n, name)
	}
	require.LessOrEqual(t, watched.peak(), 4)
	require.NotContains(t, dispatcher.Output(), "forbidden")
}
