package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/controllers/internal/process"
	"github.com/scaledjob/scaledjob/controllers/internal/processtest"
)

func TestFlags(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"-resync", "0s"}:          "-resync: found 0s; use a time above 0",
		{"-request-ttl", "-1ns"}:   "-request-ttl: found -1ns; use 0s or more",
		{"-request-timeout", "0s"}: "-request-timeout: found 0s; use 1s or more",
	} {
		status, said := processtest.Run(t, newOptions(), args[:]...)
		require.Equal(t, 2, status, args)
		require.Contains(t, said, want)
	}
	_, said := processtest.Run(t, newOptions(), "-log-format=xml", "-request-timeout=-1s", "-resync=-1s")
	for _, want := range []string{"-log-format", "-request-timeout", "-resync"} {
		require.Contains(t, said, want, "all at once")
	}
	processtest.Parse(t, newOptions(), "-request-ttl=0s", "-resync=1ns")
}

// The resync of the proposal is 5 seconds; the README names the others.
func TestDefaults(t *testing.T) {
	o := processtest.Parse(t, newOptions())
	o.Options = process.Options{}
	require.Equal(t, &options{resync: 5 * time.Second, requestTTL: 10 * time.Minute, requestTimeout: 15 * time.Second}, o)
}

// A user without a cluster reads how to get one.
func TestNoCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // a user who runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := processtest.Run(t, newOptions())
	require.Equal(t, 1, status)
	require.Contains(t, said, "go run ./controllers/scheduled -install")
}
