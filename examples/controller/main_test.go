package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func execute(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	var stderr bytes.Buffer
	status = run(t.Context(), args, &stderr)
	return status, stderr.String()
}

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-log-format", "xml"}:    `-log-format "xml": want text or json`,
		{"-log-level", "loud"}:    `invalid value "loud"`,
		{"-lease-duration", "1"}:  `invalid value "1"`,
		{"-lease-duration", "1s"}: "-lease-duration 1s: want 2s or more",
		{"-source-timeout", "0s"}: "-source-timeout 0s: want a time above 0",
		{"start", "now"}:          `unexpected argument "start"`,
		{"-kube", "x"}:            "flag provided but not defined: -kube",
	} {
		status, said := execute(t, args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	status, said := execute(t, "-log-format=xml", "-source-timeout=-1s")
	require.Equal(t, 2, status)
	require.Contains(t, said, "-log-format")
	require.Contains(t, said, "-source-timeout", "all at once")
	status, _ = execute(t, "-help")
	require.Equal(t, 0, status)
}

// Whoever has no cluster is told how to get one.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // whoever runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := execute(t)
	require.Equal(t, 1, status)
	require.Contains(t, said, "go run ./examples/controller -install")
}
