package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The built command stays within the memory that SECURITY.md promises, judges what is within the bounds, and reports the
// remainder as a finding.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	program := filepath.Join(t.TempDir(), "scaledjob")
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(said))
	const head = "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\n"
	for name, text := range map[string]string{
		"lines that begin with dashes": head + "spec: {\n" + strings.Repeat("---a,\n", 2_000_000) + "}\n",
		"a document that is refused":   head + "spec: {" + strings.Repeat("a: 1,", 900_000) + "]\n",
		"many keys":                    head + "spec:\n" + numbered("  k%d: 1\n", 350_000),
		"many ScaledJobs":              strings.Repeat("---\n"+head, 50_000),
		"a long key":                   head + "spec: {" + strings.Repeat("k", 4<<20) + ": 1}\n",
		"many Secrets":                 head + numbered("---\nkind: Secret\nmetadata: {name: s%d}\n", 100_000),
		"empty lines":                  head + strings.Repeat("\n", 15<<20),
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(hostileManifest), 0o600))
		c := exec.CommandContext(t.Context(), program, "lint", dir)
		var out bytes.Buffer
		c.Stdout = &out
		require.NoError(t, c.Start())
		peak := make(chan int)
		go func() { peak <- peakMemory(c.Process.Pid) }()
		_ = c.Wait() // of findings the status is 1
		require.Equal(t, found, c.ProcessState.ExitCode(), name)
		kib := <-peak
		require.Positive(t, kib, name)
		require.Less(t, kib, 256<<10, "%s: KiB", name)
		require.Contains(t, out.String(), filepath.Join(dir, "b.yaml"), "%s: the other file is judged", name)
	}
}

// peakMemory follows a process to its end and returns the most resident memory that it had, in KiB. The
// kernel's ru_maxrss would include that of this test, which started it.
func peakMemory(pid int) (kib int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, text, ok := strings.Cut(string(status), "VmHWM:")
		if err != nil || !ok { // it has ended
			return kib
		}
		_, _ = fmt.Sscan(text, &kib)
		time.Sleep(time.Millisecond)
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
