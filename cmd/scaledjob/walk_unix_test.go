//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
)

// A walk opens regular files only, and reports every other problem beside the findings.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	require.NoError(t, os.WriteFile(outside, []byte("password: hunter2: x\n"), 0o600))
	write("a/good.yaml", hostileManifest)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link.yaml")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "endless.yaml")))
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "a/loop")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	status, out, said := call(t, "lint "+dir, "")
	require.Equal(t, success, status, said)
	require.Contains(t, out, " in 1 ScaledJob\nskipped 1 pipe or device\n")
	require.NotContains(t, out+said, "hunter2")
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	status, linked, said := call(t, "lint "+link, "")
	require.Equal(t, success, status, said)
	require.Equal(t, strings.ReplaceAll(out, dir, link), linked, "a directory that is named may be a link")

	closed := filepath.Join(dir, "b")
	write("b/c.yaml", hostileManifest)
	write("z.yaml", hostileManifest)
	require.NoError(t, os.Chmod(closed, 0))
	t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
	if os.Getuid() == 0 { // root may read every directory
		const nobody = 65534
		require.NoError(t, filepath.WalkDir(filepath.Dir(dir), func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, nobody, nobody) }))
		require.NoError(t, syscall.Setreuid(-1, nobody))
		defer func() { require.NoError(t, syscall.Setreuid(-1, 0)) }()
	}
	_, err := os.ReadDir(closed)
	require.ErrorIs(t, err, fs.ErrPermission)
	status, out, said = call(t, "lint "+dir, "")
	require.Equal(t, trouble, status)
	require.Contains(t, out, " in 2 ScaledJobs\n", "what lies behind the directory is checked")
	require.Equal(t, 1, strings.Count(said, "\n"))
	require.Contains(t, said, closed+": permission denied")
}

// A text that is too long is an error that names the limit.
func TestLimits(t *testing.T) {
	status, out, _ := callWith(t, "lint -", []byte(hostileManifest+"---\na: ["+strings.Repeat("1,", input.MaxDocument/2)+"1]\n"))
	require.Equal(t, found, status)
	require.Contains(t, out, fmt.Sprintf("standard input:%d:1: error: a document of more than 5 MiB", strings.Count(hostileManifest, "\n")+1))
	require.Contains(t, out, " in 1 ScaledJob", "the other document is judged")
	_, err := input.ReadSource("/dev/zero", nil, input.MaxDocument)
	require.EqualError(t, err, "/dev/zero: too large: more than 5 MiB; use smaller files")
}

// A trace may come through a pipe, which can be read only once.
func TestTraceOfAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	go func() { _ = os.WriteFile(pipe, []byte("time,items\n0,3\n90,2\n"), 0) }()
	_, out, said := call(t, "simulate -f testdata/manifest.yaml --service 10s --startup 0s --trace "+pipe+" -o json", "")
	require.Contains(t, out, `"arrived":5,"done":5`, said)
}

// A log or a paste may come from a pipe, which is opened once.
func TestWhyReadsAPipe(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\nspec: {jobTargetRef: {template: {}}, triggers: []}\nstatus: {conditions: [{type: Ready, status: 'False', message: 'no such secret'}]}\n": "no such secret",
		"nothing\n": "no line of KEDA's operator",
	} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		go func() { _ = os.WriteFile(pipe, []byte(text), 0o600) }()
		_, out, said := call(t, "why --log "+pipe, "")
		require.Contains(t, out+said, want)
	}
}
