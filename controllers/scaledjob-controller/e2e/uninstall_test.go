package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/permissions"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// Whatever is deleted first, nothing hangs: the ScaledJobs, their Jobs and the process end.
func TestUninstall(t *testing.T) {
	c := cluster.Start(t)
	c.Kubelet(t, func(*corev1.Pod) cluster.Run { return cluster.Run{Work: -1} })
	definition, err := kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(t, err)
	crds := manifest.Objects(t, manifest.Read(t, "../manifests/crds/scaledjobs.yaml")+"\n---\n"+string(definition))
	manifest.Apply(t, c.Config(), crds...)
	binary, tenant := process.Build(t, ".."), manifest.Objects(t, processtest.Permissions(t, "../manifests/tenant"))
	client := c.Client(t)
	for _, test := range []struct {
		name  string
		first func(t *testing.T, namespace string)
	}{
		{"namespace", func(t *testing.T, namespace string) {
			require.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}))
			require.Eventually(t, func() bool {
				_, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
				return err != nil
			}, time.Minute, 100*time.Millisecond)
		}},
		{"rbac", func(t *testing.T, namespace string) {
			require.NoError(t, client.RbacV1().Roles(namespace).Delete(t.Context(), "scaledjob-controller", metav1.DeleteOptions{}))
			require.NoError(t, scaledJobsOf(t, c, namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
		}},
		{"crds", func(t *testing.T, namespace string) {
			for _, u := range crds {
				require.NoError(t, manifest.Client(t, c.Config(), u).Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}))
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespace := "un-" + test.name
			access, leases, _ := permissions.Place(t, c, namespace, tenant)
			prepare(t, c, namespace)
			run := startIn(t, binary, access, namespace, leases)
			jobs := func() int {
				l, err := client.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				return len(l.Items)
			}
			require.Eventually(t, func() bool { return jobs() == 1 }, time.Minute, 100*time.Millisecond)
			test.first(t, namespace)
			require.Eventually(t, func() bool { return jobs() == 0 }, time.Minute, 100*time.Millisecond)
			run.Stop()
			require.NotContains(t, run.Output(), "panic")
		})
	}
}
