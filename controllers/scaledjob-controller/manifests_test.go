package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/adapter/kedametrics"
	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// -install installs the custom resources, which may be KEDA's, and the FlowSchema. The other
// manifests do not have them.
func TestManifests(t *testing.T) {
	data, err := os.ReadFile("manifests/crds/kustomization.yaml")
	require.NoError(t, err)
	var k struct {
		Resources []string `json:"resources"`
	}
	require.NoError(t, yaml.Unmarshal(data, &k))
	crds, err := installed.ReadDir("manifests/crds")
	require.NoError(t, err)
	var files []string
	for _, file := range crds {
		files = append(files, file.Name())
	}
	require.Equal(t, []string{"scaledjobs.yaml"}, files)
	require.Equal(t, append(files, "../../../../adapter/kedametrics/crd"), k.Resources)
	_, err = kedametrics.Files.ReadFile("crd/readingtargets.yaml")
	require.NoError(t, err)
	_, err = installed.ReadFile("manifests/cluster/flowschema.yaml")
	require.NoError(t, err)
}

func decode[T any](t *testing.T, file string, index int) (object T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("manifests", file))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict([]byte(strings.Split(string(data), "\n---\n")[index]), &object))
	return object
}

// The Deployment starts, and survives a drain. Metrics are open to nobody else.
func TestDeployment(t *testing.T) {
	d := decode[appsv1.Deployment](t, "tenant/controller.yaml", 6)
	pod := d.Spec.Template.Spec
	o := newOptions()
	require.NoError(t, process.Parse(o, pod.Containers[0].Args, io.Discard))
	require.True(t, o.LeaderElect)
	require.Equal(t, []string{"127.0.0.1:8080", ":8081"}, []string{o.MetricsAddress, o.ProbesAddress})
	require.EqualValues(t, 8081, pod.Containers[0].Ports[0].ContainerPort)
	require.Contains(t, pod.Containers[0].Image, ":v")
	require.Equal(t, corev1.PullIfNotPresent, pod.Containers[0].ImagePullPolicy)
	require.EqualValues(t, 2, *d.Spec.Replicas)
	term := pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	require.Equal(t, d.Spec.Selector, term.LabelSelector)
	budget := decode[policyv1.PodDisruptionBudget](t, "tenant/controller.yaml", 7)
	require.Equal(t, d.Spec.Selector, budget.Spec.Selector)
	require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
}

// The custom resource accepts the strategies and aggregations of the library.
func TestEnums(t *testing.T) {
	data, err := installed.ReadFile("manifests/crds/scaledjobs.yaml")
	require.NoError(t, err)
	for _, names := range [][]string{strategy.Names(), scaling.Aggregations()} {
		require.Contains(t, string(data), `enum: ["", `+strings.Join(names, ", ")+"]")
	}
}
