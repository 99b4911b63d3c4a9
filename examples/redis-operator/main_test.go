package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func execute(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	var stderr bytes.Buffer
	status = run(t.Context(), args, &stderr)
	return status, stderr.String()
}

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-log-format", "xml"}:     `-log-format "xml": want text or json`,
		{"-log-level", "loud"}:     `invalid value "loud"`,
		{"-poll", "0s"}:            "-poll 0s: want a time above 0",
		{"-retry", "-1s"}:          "-retry -1s: want a time above 0",
		{"-workers", "0"}:          "-workers 0: want 1 or more",
		{"-redis-timeout", "0s"}:   "-redis-timeout 0s: want a time above 0",
		{"-redis-idle", "1s"}:      "-redis-idle 1s: want a time above -redis-timeout",
		{"-redis-secrets", "gone"}: "-redis-secrets: open gone: no such file or directory",
		{"start", "now"}:           `unexpected arguments ["start" "now"]`,
		{"-kube", "x"}:             "flag provided but not defined: -kube",
	} {
		status, said := execute(t, args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	status, said := execute(t, "-log-format=xml", "-workers=-1")
	require.Equal(t, 2, status)
	require.Contains(t, said, "-log-format")
	require.Contains(t, said, "-workers", "all at once")
	status, _ = execute(t, "-help")
	require.Equal(t, 0, status)
}

// Whoever has no cluster is told, and not kept waiting.
func TestNoCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	status, said := execute(t, "-kubeconfig", file)
	require.Equal(t, 1, status)
	require.Contains(t, said, "no such file")

	require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, "+
		"contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"), 0o600))
	status, said = execute(t, "-kubeconfig", file)
	require.Equal(t, 1, status)
	require.Contains(t, said, "connection refused")
}

// What the Deployment says fits what the program understands.
func TestDeployment(t *testing.T) {
	data, err := os.ReadFile("config/manager/deployment.yaml")
	require.NoError(t, err)
	var d appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(data, &d))
	container := d.Spec.Template.Spec.Containers[0]
	var stderr bytes.Buffer
	o, err := parse(append(container.Args, "-redis-secrets="), &stderr) // whose folder is not here
	require.NoError(t, err, stderr.String())
	require.True(t, o.elect)
	require.Contains(t, container.Args, "-redis-secrets="+filepath.Dir(container.VolumeMounts[0].MountPath))
	ports := map[string]string{}
	for _, p := range container.Ports {
		ports[p.Name] = fmt.Sprint(":", p.ContainerPort)
	}
	require.Equal(t, map[string]string{"metrics": o.metrics, "probes": o.probes}, ports)
}
