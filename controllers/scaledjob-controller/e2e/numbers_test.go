package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// A failing owner is a ScaledJob with k Jobs whose creates fail in one way for ever.
type failing struct {
	kind  string
	k     int
	mu    sync.Mutex
	names map[string]bool // of these Jobs
}

// hits reports whether the create of a Job fails: the first k names do.
func (f *failing) hits(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.names) < f.k {
		f.names[name] = true
	}
	return f.names[name]
}

func (f *failing) fails(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names[name]
}

var (
	jobName  = regexp.MustCompile(`consumer-[0-9a-z-]+`)
	jobsPath = regexp.MustCompile("/namespaces/([^/]+)/jobs$")
)

// answers returns the fault of a proxy for failing owners, by namespace.
func (a *tenants) answers(owners map[string]*failing) func(*http.Request) func(http.ResponseWriter, *http.Request) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	return func(r *http.Request) func(http.ResponseWriter, *http.Request) {
		found := jobsPath.FindStringSubmatch(r.URL.Path)
		if found == nil || r.Method != http.MethodPost || owners[found[1]] == nil {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return hang
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f := owners[found[1]]
		if !f.hits(string(jobName.Find(body))) {
			return nil
		}
		switch f.kind {
		case "refused":
			return refuses(403, "", 0)
		case "without-effect":
			return refuses(429, "1", 0)
		case "admitted-late":
			late := r.Clone(context.Background())
			late.Body = io.NopCloser(bytes.NewReader(body))
			return func(w http.ResponseWriter, r *http.Request) {
				hang(w, r)
				time.Sleep(requestTimeout / 2)
				a.next.ServeHTTP(httptest.NewRecorder(), late)
			}
		}
		return hang
	}
}

// TestFailingNumbers is the law of package slots on a control plane: a ScaledJob has 20 Jobs beside k whose
// creates fail in one way for ever, and another ScaledJob as soon as without these.
func TestFailingNumbers(t *testing.T) {
	if !*law {
		t.Skip("takes minutes: make law")
	}
	c := cluster.Start(t)
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml"))...)
	dynamic, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	a := (&fixture{cluster: c, client: c.Client(t), dynamic: dynamic, kubeconfig: c.Kubeconfig()}).tenants(t)
	owners := map[string]*failing{}
	var alone, beside []string
	for _, kind := range []string{"refused", "without-effect", "unanswered", "admitted-late"} {
		for _, k := range []int{1, 8, 64} {
			name := fmt.Sprintf("%s-%d", kind, k)
			owners[name] = &failing{kind: kind, k: k, names: map[string]bool{}}
			alone, beside = append(alone, "none-"+name), append(beside, name, "other-"+name)
		}
	}
	a.fault = a.answers(owners)
	run := process.Start(t, exec.Command(process.Build(t, ".."), "-kubeconfig", a.proxy.kubeconfig, "-lease-namespace", "default", "-metrics-bind-address", "",
		"-health-probe-bind-address", "127.0.0.1:0", "-request-timeout", requestTimeout.String()))
	run.Said("acting")
	none := time.Duration(0)
	for _, d := range a.full(t, owners, alone) {
		none = max(none, d)
	}
	t.Logf("| none | | %s | %[1]s |", none)
	took := a.full(t, owners, beside)
	for _, name := range beside {
		if f := owners[name]; f != nil {
			own, other := took[name], took["other-"+name]
			t.Logf("| %s | %d | %s | %s |", f.kind, f.k, own, other)
			assert.LessOrEqual(t, own, time.Duration(2*f.k+8)*10*time.Second+2*requestTimeout, "the law, with a poll each 10 s")
			assert.LessOrEqual(t, other, 2*none)
		}
	}
}

// full creates ScaledJobs, and returns how long each took to have 20 Jobs beside those that fail.
func (a *tenants) full(t *testing.T, owners map[string]*failing, names []string) map[string]time.Duration {
	for _, name := range names {
		a.namespace(t, name)
	}
	begin := time.Now()
	for _, name := range names {
		text, n := fmt.Sprintf(lawJob, name), 20
		if f := owners[name]; f != nil {
			n += f.k
		}
		text = strings.Replace(text, "minReplicaCount: 20", fmt.Sprintf("minReplicaCount: %d\n  maxReplicaCount: %[1]d", n), 1)
		_, err := a.dynamic.Resource(scaledJobs).Namespace(name).Create(t.Context(), manifest.Objects(t, text)[0], metav1.CreateOptions{})
		require.NoError(t, err)
	}
	took := map[string]time.Duration{}
	for len(took) < len(names) {
		time.Sleep(500 * time.Millisecond)
		l, err := a.client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		require.NoError(t, err)
		count := map[string]int{}
		for _, j := range l.Items {
			if f := owners[j.Namespace]; f == nil || !f.fails(j.Name) {
				count[j.Namespace]++
			}
		}
		since := time.Since(begin).Round(100 * time.Millisecond)
		require.Less(t, since, 23*time.Minute, "%v", took)
		for _, name := range names {
			if took[name] == 0 && count[name] >= 20 {
				took[name] = since
			}
		}
	}
	return took
}
