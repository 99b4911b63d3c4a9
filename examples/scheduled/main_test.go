package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func try(t *testing.T, args ...string) (status int, said string) {
	t.Helper()
	var stderr bytes.Buffer
	status = execute(t.Context(), args, &stderr)
	return status, stderr.String()
}

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-log-format", "xml"}:    `-log-format: found "xml"; use text or json`,
		{"-log-level", "loud"}:    `invalid value "loud"`,
		{"-resync", "0s"}:         "-resync 0s: want a time above 0",
		{"-resync", "5"}:          `invalid value "5"`,
		{"-workers", "0"}:         "-workers 0: want 1 or more",
		{"-request-ttl", "-1s"}:   "-request-ttl -1s: want 0s or more",
		{"-lease-duration", "1s"}: "-lease-duration 1s: want 2s or more",
		{"start", "now"}:          `unexpected argument "start"`,
		{"-kube", "x"}:            "flag provided but not defined: -kube",
	} {
		status, said := try(t, args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	status, said := try(t, "-log-format=xml", "-workers=-1")
	require.Equal(t, 2, status)
	require.Contains(t, said, "-log-format")
	require.Contains(t, said, "-workers", "all at once")
	status, _ = try(t, "-help")
	require.Equal(t, 0, status)
}

// Whoever has no cluster is told how to get one.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // whoever runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := try(t)
	require.Equal(t, 1, status)
	require.Contains(t, said, "go run ./examples/scheduled -install")
}
