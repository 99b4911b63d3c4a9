// Package e2e installs each controller from its install manifest on a real control plane.
package e2e

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	"github.com/scaledjob/scaledjob/test/e2e/cluster"
	"github.com/scaledjob/scaledjob/test/e2e/manifest"
	"github.com/scaledjob/scaledjob/test/e2e/process"
)

// The install manifest of each controller is applied to an empty cluster with KEDA's custom
// resource of ScaledJobs. The program runs with the token, the arguments and the variables of its
// Deployment until it is ready, and nothing is forbidden to it.
func TestInstall(t *testing.T) {
	c := cluster.Start(t)
	scaledJobs := manifest.Objects(t, manifest.Read(t, "../../../scaledjob-controller/manifests/crds/scaledjobs.yaml"))
	manifest.Apply(t, c.Config(), scaledJobs...)
	directory := t.TempDir()
	render := exec.CommandContext(t.Context(), "go", "run", "./internal/install", "v0.0.1", directory)
	render.Dir = "../../.." // the root of the module
	out, err := render.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"scaledjob-controller", "multicluster", "scheduled", "redis-operator"} {
		t.Run(name, func(t *testing.T) {
			objects := manifest.Objects(t, manifest.Read(t, filepath.Join(directory, name+".yaml")))
			manifest.Apply(t, c.Config(), objects...)
			deployment := deploymentOf(t, objects)
			pod := deployment.Spec.Template.Spec
			require.Equal(t, "ghcr.io/scaledjob/"+imageOf(name)+":v0.0.1", pod.Containers[0].Image)
			account := "system:serviceaccount:" + deployment.Namespace + ":" + pod.ServiceAccountName
			probes := processtest.FreeAddress(t)
			command := exec.Command(process.Build(t, filepath.Join("../../..", name)), append(pod.Containers[0].Args,
				"-kubeconfig="+c.UserKubeconfig(t, account), "-lease-namespace="+deployment.Namespace,
				"-health-probe-bind-address="+probes, "-metrics-bind-address=")...)
			command.Env = command.Environ()
			for _, variable := range pod.Containers[0].Env {
				command.Env = append(command.Env, variable.Name+"="+strings.ReplaceAll(variable.Value, "false", "true"))
			}
			running := process.Start(t, command)
			require.Eventually(t, func() bool {
				answer, err := http.Get("http://" + probes + "/readyz")
				if err != nil {
					return false
				}
				defer answer.Body.Close()
				return answer.StatusCode == http.StatusOK
			}, time.Minute, 100*time.Millisecond)
			require.Eventually(t, func() bool {
				leases, err := c.Client(t).CoordinationV1().Leases(deployment.Namespace).List(t.Context(), metav1.ListOptions{})
				return err == nil && len(leases.Items) == 1
			}, time.Minute, 100*time.Millisecond, "it leads")
			time.Sleep(2 * time.Second) // of work as the leader
			running.Stop()
			require.NotContains(t, running.Output(), "forbidden")
		})
	}
}

func deploymentOf(t *testing.T, objects []*unstructured.Unstructured) (d appsv1.Deployment) {
	t.Helper()
	for _, u := range objects {
		if u.GetKind() == "Deployment" {
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d))
			return d
		}
	}
	require.Fail(t, "no Deployment")
	return d
}

// imageOf returns the name of a controller's image.
func imageOf(name string) string {
	if name == "scheduled" {
		return "scheduledjob-controller"
	}
	return name
}
