package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/test/e2e/manifest"
)

// Three of 20 ScaledJobs fail, each in another way. Who reads only metrics, log and conditions
// names them and the causes, as docs/controllers.md describes.
func TestCulprit(t *testing.T) {
	if !*law {
		t.Skip("takes a minute: make law")
	}
	s := newFixture(t)
	manifest.Apply(t, s.cluster.Config(), manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml"))...)
	a := s.tenants(t)
	all := numbered("tenant-", 20)
	for _, name := range all {
		s.long(t, name, "  maxReplicaCount: 2\n"+job(map[string]string{works: "1h"}))
	}
	p := s.start(t, "-leader-elect=false", "-kubeconfig", a.proxy.kubeconfig)
	a.have(t, "tenant-", 40)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	truth := map[string]fault{}
	for i, which := range random.Perm(len(faults))[:3] {
		truth[all[random.IntN(6)+7*i]] = faults[which]
	}
	for name, f := range truth {
		a.fail(t, f, name)
	}
	for _, name := range all { // two Jobs are outdated, and three more wanted
		(&queue{s, t, name}).patch("spec: {maxReplicaCount: 5, " + second + "}")
	}
	time.Sleep(4 * requestTimeout)
	_, metrics := p.Get("/metrics")
	conditions := map[string]string{}
	for _, name := range all {
		u, err := s.dynamic.Resource(scaledJobs).Namespace(name).Get(t.Context(), "consumer", metav1.GetOptions{})
		require.NoError(t, err)
		conditions[name] = fmt.Sprint(u.Object["status"])
	}
	named := culprits(metrics, p.Output(), conditions)
	t.Logf("seed %d; named: %v", seed, named)
	require.Len(t, named, len(truth))
	for name, f := range truth {
		require.Contains(t, named[name], f.says, "%s has the fault %s", name, f.name)
	}
}

// culprits returns the log lines and conditions of the ScaledJobs that the metrics name.
func culprits(metrics, log string, conditions map[string]string) map[string]string {
	named := map[string]string{}
	for _, series := range []string{`scaledjob_congested\{namespace="([^"]+)"`, `scaledjob_errors_total\{namespace="([^"]+)",operation="(?:create|delete)"`} {
		for _, found := range regexp.MustCompile(series).FindAllStringSubmatch(metrics, -1) {
			named[found[1]] = conditions[found[1]]
		}
	}
	for line := range strings.Lines(log) {
		if found := regexp.MustCompile(`msg=failed namespace=(\S+)`).FindStringSubmatch(line); found != nil {
			named[found[1]] += line
		}
	}
	return named
}
