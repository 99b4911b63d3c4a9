package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-request-timeout", "1ms"}: "-request-timeout: found 1ms; use 1s or more",
		{"-max-requests", "0"}:      "-max-requests: found 0; use 1 or more",
		{"-label", "a b"}:           "-label: found \"a b\"; use the key of a label",
		{"-as-keda", "1.5"}:         "1.5",
	} {
		status, said := processtest.Run(t, newOptions(), args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	_, said := processtest.Run(t, newOptions(), "-log-format=xml", "-request-timeout=-1s")
	require.Contains(t, said, "-log-format")
	require.Contains(t, said, "-request-timeout", "all at once")
}

// A user without a cluster reads how to get one.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // whoever runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := processtest.Run(t, newOptions())
	require.Equal(t, 1, status)
	require.Contains(t, said, "go run ./controllers/scaledjob-controller -install")
}
