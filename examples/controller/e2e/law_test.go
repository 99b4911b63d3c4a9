package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/e2e/cluster"
	"github.com/scaledjob/scaledjob/e2e/manifest"
	"github.com/scaledjob/scaledjob/e2e/process"
)

var law = flag.Bool("law", false, "run TestLawOnCluster")

// lawFaults answer the creates of ScaledJobs in bad namespaces.
var lawFaults = []struct {
	name   string
	answer func(w http.ResponseWriter, r *http.Request)
}{
	{"429", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 429, "1") }},
	{"429 for 20 s", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 429, "20") }},
	{"500", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 500, "") }},
	{"403", func(w http.ResponseWriter, _ *http.Request) { refuse(w, 403, "") }},
	{"hanging", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	{"slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
		refuse(w, 503, "")
	}},
}

// refuse answers as a webhook does: with a Status.
func refuse(w http.ResponseWriter, code int, after string) {
	w.Header().Set("Content-Type", "application/json")
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"chaos","code":%d}`, code)
}

// The time until 20 ScaledJobs have 20 Jobs each, beside k whose creates fail, is shown for each
// fault. Package adapter/client asserts the law in virtual time.
func TestLawOnCluster(t *testing.T) {
	if !*law {
		t.Skip("takes minutes: make law")
	}
	binary := process.Build(t, "..")
	for _, fault := range lawFaults {
		for _, k := range []int{0, 1, 20, 70} {
			if k == 0 && fault.name != lawFaults[0].name {
				continue
			}
			t.Logf("%-14s k=%-3d %s", fault.name, k, lawRun(t, binary, fault.answer, k).Round(100*time.Millisecond))
		}
	}
}

const lawJob = `apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: consumer, namespace: %s}
spec:
  minReplicaCount: 20
  pollingInterval: 1
  jobTargetRef: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}
  triggers: [{type: redis, metadata: {address: '127.0.0.1:1', listName: a}}]
`

func lawRun(t *testing.T, binary string, fault func(http.ResponseWriter, *http.Request), k int) time.Duration {
	c := cluster.Start(t)
	manifest.Apply(t, c.Config(), manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml"))...)
	s := &stand{cluster: c, kubeconfig: c.Kubeconfig()}
	p := s.proxy(t, 0)
	p.fault = func(r *http.Request) func(http.ResponseWriter, *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") && strings.Contains(r.URL.Path, "/namespaces/bad-") {
			return fault
		}
		return nil
	}
	add := func(prefix string, n int) {
		for i := range n {
			name := fmt.Sprint(prefix, i)
			s.apply(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n---\n"+fmt.Sprintf(lawJob, name))
		}
	}
	add("bad-", k)
	run := process.Start(t, exec.Command(binary, "-kubeconfig", p.kubeconfig, "-leader-elect=false", "-metrics-bind-address", "",
		"-health-probe-bind-address", "127.0.0.1:0", "-trigger-worker=/bin/false", "-max-requests=64"))
	run.Said("acting")
	if k > 0 {
		time.Sleep(5 * time.Second) // the faults are known
	}
	begin := time.Now()
	add("good-", 20)
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	client := c.Client(t)
	for good := 0; good < 400 && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		l, err := client.BatchV1().Jobs("").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		good = 0
		for _, j := range l.Items {
			if strings.HasPrefix(j.Namespace, "good-") {
				good++
			}
		}
		require.LessOrEqual(t, good, 400)
	}
	took := time.Since(begin)
	require.NoError(t, ctx.Err(), "400 Jobs")
	run.Kill()
	return took
}
