package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-lease-duration", "1s"}: "-lease-duration: found 1s; use 2s or more",
		{"-poll", "0s"}:           "-poll: found 0s; use a time above 0",
		{"-retry", "0s"}:          "-retry: found 0s; use a time above 0",
		{"-redis-timeout", "0s"}:  "-redis-timeout: found 0s; use a time above 0",
	} {
		status, said := processtest.Run(t, newOptions(), args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	processtest.Parse(t, newOptions(), "-poll=1ns", "-retry=1ns", "-redis-timeout=1ns")
	_, said := processtest.Run(t, newOptions(), "-log-format=xml", "-retry=-1s", "-poll=-1s")
	for _, want := range []string{"-log-format", "-retry", "-poll"} {
		require.Contains(t, said, want, "all at once")
	}
}

// The README names these times.
func TestDefaults(t *testing.T) {
	o := processtest.Parse(t, newOptions())
	o.Options = process.Options{}
	require.Equal(t, &options{poll: 30 * time.Second, retry: 10 * time.Second, redisTimeout: 3 * time.Second}, o)
}

func TestManaged(t *testing.T) {
	o := processtest.Parse(t, newOptions(), "-namespace=shop")
	m := o.managed()
	require.Equal(t, []string{"127.0.0.1:8080", ":8081"}, []string{m.Metrics.BindAddress, m.HealthProbeBindAddress})
	require.Contains(t, m.Cache.DefaultNamespaces, "shop")
	require.Len(t, m.Cache.DefaultNamespaces, 1)
	sj := &v1.ScaledJob{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	for _, containers := range []int{10, 100_000} { // 40 MB in memory
		long := containers > 10
		sj.Spec.JobTemplate.Spec.Template.Spec.Containers = slices.Repeat([]corev1.Container{{Name: "a"}}, containers)
		stripped, err := m.Cache.DefaultTransform(sj)
		require.NoError(t, err)
		require.Empty(t, stripped.(*v1.ScaledJob).ManagedFields)
		require.Equal(t, !long, len(sj.Spec.JobTemplate.Spec.Template.Spec.Containers) == containers)
		require.Equal(t, long, strings.Contains(sj.Spec.Validate().Error(), "spec.jobTemplate: found"))
	}

	m = processtest.Parse(t, newOptions(), "-metrics-bind-address=", "-health-probe-bind-address=", "-leader-elect=false").managed()
	require.Equal(t, []string{"0", "0"}, []string{m.Metrics.BindAddress, m.HealthProbeBindAddress})
	require.False(t, m.LeaderElection)
	require.Empty(t, m.Cache.DefaultNamespaces)
}

// rendered are the objects of a kustomization, by kind.
func rendered(t *testing.T, directory string) map[string][]string {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	require.NoError(t, err)
	objects := map[string][]string{}
	for _, r := range all.Resources() {
		text, err := r.AsYAML()
		require.NoError(t, err)
		objects[r.GetKind()] = append(objects[r.GetKind()], string(text))
	}
	return objects
}

func decode[T any](t *testing.T, objects map[string][]string, kind string) (object T) {
	t.Helper()
	require.Len(t, objects[kind], 1, kind)
	require.NoError(t, yaml.UnmarshalStrict([]byte(objects[kind][0]), &object))
	return object
}

// The shipped Deployments start, survive a drain, and show metrics to nobody who is not
// named.
func TestDeployment(t *testing.T) {
	for directory, want := range map[string]struct{ namespace, metrics string }{
		"config/cluster":    {"redis-operator", "127.0.0.1:8080"},
		"config/prometheus": {"redis-operator", ":8080"},
		"config/tenant":     {"redis-operator-tenant", "127.0.0.1:8080"},
	} {
		t.Run(directory, func(t *testing.T) {
			objects := rendered(t, directory)
			d := decode[appsv1.Deployment](t, objects, "Deployment")
			pod := d.Spec.Template.Spec
			o := processtest.Parse(t, newOptions(), pod.Containers[0].Args...)
			require.True(t, o.LeaderElect)
			require.Equal(t, want.metrics, o.MetricsAddress)
			require.Equal(t, map[string]string{"config/tenant": "tenant"}[directory], o.Namespace)
			require.Equal(t, ":8081", o.ProbesAddress)
			require.EqualValues(t, 8081, pod.Containers[0].Ports[0].ContainerPort)
			require.Contains(t, pod.Containers[0].Image, ":v")
			require.Equal(t, corev1.PullIfNotPresent, pod.Containers[0].ImagePullPolicy)
			require.EqualValues(t, 2, *d.Spec.Replicas)
			term := pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
			require.Equal(t, d.Spec.Selector, term.LabelSelector)
			budget := decode[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget")
			require.Equal(t, d.Spec.Selector, budget.Spec.Selector)
			require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
			for _, namespace := range []string{d.Namespace, budget.Namespace} {
				require.Equal(t, want.namespace, namespace)
			}
			if directory == "config/prometheus" {
				policies := objects["NetworkPolicy"]
				require.Len(t, policies, 2)
				policy := decode[networkingv1.NetworkPolicy](t, map[string][]string{"NetworkPolicy": policies[1:]}, "NetworkPolicy")
				require.Equal(t, *d.Spec.Selector, policy.Spec.PodSelector)
				require.Len(t, policy.Spec.Ingress[0].From, 1)
			}
		})
	}
}

// What an API server answers to any request of the program is harmless in its log.
func TestHostileServer(t *testing.T) { processtest.RunHostile(t, newOptions(), "-namespace=tenant") }
