package e2e

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/e2e/cluster"
	"github.com/scaledjob/scaledjob/e2e/manifest"
	"github.com/scaledjob/scaledjob/e2e/process"
	"github.com/scaledjob/scaledjob/examples/internal/processtest"
)

// Whatever is deleted first, nothing hangs: the ScaledJobs, their Jobs and the process end.
func TestUninstall(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: -1} })
	crds := manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml")+"\n---\n"+manifest.Read(t, "../manifests/crds/triggerauthentications.yaml"))
	manifest.Apply(t, c.Config(), crds...)
	binary, tenant := process.Build(t, ".."), manifest.Objects(t, processtest.Permissions(t, "../manifests/tenant"))
	client := c.Client(t)
	for _, test := range []struct {
		name  string
		first func(t *testing.T, p *place)
	}{
		{"namespace", func(t *testing.T, p *place) {
			require.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), p.namespace, metav1.DeleteOptions{}))
			require.Eventually(t, func() bool {
				_, err := client.CoreV1().Namespaces().Get(t.Context(), p.namespace, metav1.GetOptions{})
				return err != nil
			}, time.Minute, 100*time.Millisecond)
		}},
		{"rbac", func(t *testing.T, p *place) {
			require.NoError(t, client.RbacV1().Roles(p.namespace).Delete(t.Context(), "scaledjob-controller", metav1.DeleteOptions{}))
			require.NoError(t, p.scaledJobs().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		}},
		{"crds", func(t *testing.T, p *place) {
			for _, u := range crds {
				require.NoError(t, manifest.Client(t, c.Config(), u).Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}))
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &place{t, c, "un-" + test.name}
			p.prepare("", tenant)
			access := c.UserKubeconfig(t, "system:serviceaccount:scaledjob-"+p.namespace+":scaledjob-controller")
			run := process.Start(t, exec.Command(binary, "-kubeconfig", access, "-namespace", p.namespace, "-lease-namespace", "scaledjob-"+p.namespace,
				"-metrics-bind-address", "", "-health-probe-bind-address", "127.0.0.1:0", "-request-timeout=1s", "-trigger-worker=/bin/false"))
			jobs := func() int {
				l, err := client.BatchV1().Jobs(p.namespace).List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				return len(l.Items)
			}
			require.Eventually(t, func() bool { return jobs() == 1 }, time.Minute, 100*time.Millisecond)
			test.first(t, p)
			require.Eventually(t, func() bool { return jobs() == 0 }, time.Minute, 100*time.Millisecond)
			run.Stop()
			require.NotContains(t, run.Output(), "panic")
		})
	}
}
