package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// Whoever has no cluster is told how to get one, and whoever has one that does not
// answer is not kept waiting.
func TestNoCluster(t *testing.T) {
	home := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(home, "none")) // whoever runs the test may have a cluster
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	status, said := execute(t)
	require.Equal(t, 1, status)
	require.Contains(t, said, "make cluster")

	status, said = execute(t, "-kubeconfig", filepath.Join(home, "gone"))
	require.Equal(t, 1, status)
	require.Contains(t, said, "gone: no such file")

	file := filepath.Join(home, "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("{apiVersion: v1, kind: Config, current-context: a, "+
		"contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]}"), 0o600))
	status, said = execute(t, "-kubeconfig", file)
	require.Equal(t, 1, status)
	require.Contains(t, said, "connection refused")
}

// What has not been looked at is replaced by what is newer.
func TestUpdateKeepsTheNewest(t *testing.T) {
	p := &poller{updates: make(chan scaledJob, 1)}
	for i := range 3 {
		s := scaledJob{problem: context.DeadlineExceeded}
		if i == 2 {
			s.problem = nil
		}
		p.update(s)
	}
	require.NoError(t, (<-p.updates).problem)
	require.Empty(t, p.updates)
}

// A restart with many ScaledJobs does not poll them all at once; a new one does
// not wait.
func TestDelay(t *testing.T) {
	c := &controller{}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := c.delay(true)
		require.Less(t, d, 30*time.Second)
		seen[d] = true
	}
	require.Len(t, seen, 1000)
	require.Zero(t, c.delay(false))
}
