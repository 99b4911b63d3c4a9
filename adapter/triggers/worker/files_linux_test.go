package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/triggers"
)

// A trigger reads a file only in the directories that an administrator has named, also if a driver
// would read others; a kernel without Landlock cannot refuse it.
func TestFilesAreRefused(t *testing.T) {
	directory, err := os.MkdirTemp("/var/tmp", "files-") // not below the directory for temporary files, which KEDA needs
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(directory) })
	file := filepath.Join(directory, "token")
	require.NoError(t, os.WriteFile(file, []byte("planted"), 0o600))
	in := manifest.ScaleTrigger{Type: "gcp-storage", Metadata: map[string]string{"bucketName": "a", "credentialsFromEnvFile": "FILE"}}
	o := owner("a", in)
	o.Pod.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "FILE", Value: file}}}}
	program, err := os.ReadFile(local(t).Path)
	require.NoError(t, err)
	p := triggers.Program{Path: filepath.Join(directory, "worker")}
	require.NoError(t, os.WriteFile(p.Path, program, 0o700))
	allow := []triggers.Allowance{{Kind: "credentials-file", Namespaces: []string{"team"}, Hosts: []string{"*"}}}
	_, err = reads(t, triggers.Options{Start: p.Start, Allow: allow}, nil).Read(t.Context(), o)
	rules, none := ruleset()
	require.NoError(t, none)
	if rules < 0 {
		require.ErrorContains(t, err, "invalid character 'p'", "it was read")
		return
	}
	require.NoError(t, unix.Close(rules))
	require.ErrorContains(t, err, "-file-root")
	p.Files = []string{directory}
	_, err = reads(t, triggers.Options{Start: p.Start, Allow: allow}, nil).Read(t.Context(), o)
	require.ErrorContains(t, err, "invalid character 'p'", "it was read")
}

func TestAround(t *testing.T) {
	require.Equal(t, "/var/run/secrets/eks", around("/var/run/secrets/eks/token"))
	require.Equal(t, "/key.json", around("/key.json"))
}
