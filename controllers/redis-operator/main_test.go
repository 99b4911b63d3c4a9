package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
	v1 "github.com/scaledjob/scaledjob/controllers/redis-operator/api/v1"
)

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-poll", "0s"}:          "-poll: found 0s; use a time above 0",
		{"-retry", "0s"}:         "-retry: found 0s; use a time above 0",
		{"-redis-timeout", "0s"}: "-redis-timeout: found 0s; use a time above 0",
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

// The flags of the Deployments are valid. Metrics are served beyond the pod only by config/prometheus.
func TestDeployment(t *testing.T) {
	for directory, metrics := range map[string]string{"config/cluster": "127.0.0.1:8080", "config/prometheus": ":8080", "config/tenant": "127.0.0.1:8080"} {
		o := processtest.Parse(t, newOptions(), processtest.Arguments(t, directory)...)
		require.True(t, o.LeaderElect)
		require.Equal(t, []string{metrics, ":8081"}, []string{o.MetricsAddress, o.ProbesAddress}, directory)
	}
}

// What an API server answers to any request of the program is harmless in its log.
func TestHostileServer(t *testing.T) { processtest.RunHostile(t, newOptions(), "-namespace=tenant") }
