package main

import (
	"bytes"
	"fmt"
	"io"
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
	program := built(t)
	const head = "apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: a}\n"
	for name, text := range map[string]string{
		"lines that begin with dashes": head + "spec: {\n" + strings.Repeat("---a,\n", 2_000_000) + "}\n",
		"a document that is refused":   head + "spec: {" + strings.Repeat("a: 1,", 900_000) + "]\n",
		"many keys":                    head + "spec:\n" + numbered("  k%d: 1\n", 299_000),
		"many ScaledJobs":              strings.Repeat("---\n"+head, 50_000),
		"a long key":                   head + "spec: {" + strings.Repeat("k", 4<<20) + ": 1}\n",
		"many Secrets":                 head + numbered("---\nkind: Secret\nmetadata: {name: s%d}\n", 100_000),
		"empty lines":                  head + strings.Repeat("\n", 15<<20),
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte(hostileManifest), 0o600))
		status, out, kib := measured(t, nil, program, "lint", dir)
		require.Equal(t, found, status, name)
		require.Less(t, kib, 256<<10, "%s: KiB", name)
		require.Contains(t, out, filepath.Join(dir, "b.yaml"), "%s: the other file is judged", name)
	}
}

// Of a dump only what concerns the ScaledJob is in memory, however long the dump is, and an object or a number of them
// that would not fit is an error.
func TestMemoryOfADump(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	program, manifest := built(t), scaledJobFile(t, "", "")
	const job = `{"kind":"Job","metadata":{"name":"%d","namespace":"n","labels":{"scaledjob.keda.sh/name":"m"}},"spec":{"template":{"spec":{"containers":[{"name":%q}]}}}},`
	large, list := fmt.Sprintf(job, 1, strings.Repeat("x", 1<<20)), `{"apiVersion":"v1","items":[`
	const another = `{"kind":"Job","metadata":{"name":"other"}}`
	for name, c := range map[string]struct {
		head, text string
		repeated   int
		tail       string
		status     int
	}{
		"large Jobs":         {list, large, 100, another + `],"kind":"List"}`, success},
		"large Jobs in YAML": {"items:\n", "- " + strings.TrimSuffix(large, ",") + "\n", 100, "kind: List\n", success},
		"Jobs of others":     {list, strings.Repeat(another+",", 1000), 1000, another + `],"kind":"List"}`, success},
		"many Jobs":          {list, strings.Repeat(fmt.Sprintf(job, 1, ""), 1000), 1000, another + `],"kind":"List"}`, trouble},
		"a large object":     {`{"kind":"Job","x":"`, strings.Repeat("x", 1<<20), 100, `"}`, trouble},
		"many conditions":    {`{"kind":"Job","status":{"conditions":[`, strings.Repeat("{},", 300_000), 1, `{}]}}`, trouble},
		"a deep value":       {`{"items":[`, strings.Repeat("[", 1<<20), 100, "", trouble},
	} {
		text := []io.Reader{strings.NewReader(c.head)}
		for range c.repeated {
			text = append(text, strings.NewReader(c.text))
		}
		status, out, kib := measured(t, io.MultiReader(append(text, strings.NewReader(c.tail))...), program, "explain", "--queue", "1", manifest, "--jobs", "-")
		require.Equal(t, c.status, status, "%s: %s", name, out)
		require.Less(t, kib, 256<<10, "%s: KiB", name)
	}
}

// A log is read as a stream: what is kept of it is bounded.
func TestMemoryOfALog(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	var chunk strings.Builder
	for owner := range 3000 {
		for _, message := range []string{`Scaling Jobs	{"Number of running Jobs": 2`, `Scaling Jobs	{"Number of pending Jobs": 0`, `No need to create jobs	{"jobs": 0`} {
			fmt.Fprintf(&chunk, "2026-01-01T00:00:%02dZ\tINFO\tscaleexecutor\t%s, \"scaledJob.Name\": \"orders-%d\", \"scaledJob.Namespace\": \"shop\"}\n", owner/100, message, owner)
		}
	}
	program := built(t)
	for _, head := range []string{"", `{"level": "debug", "object": {"kind": "ScaledJob", "name": "a"}}` + "\n"} { // begins like an object
		minutes := []io.Reader{strings.NewReader(head)} // 120 MB
		for minute := range 100 {
			minutes = append(minutes, strings.NewReader(strings.ReplaceAll(chunk.String(), "T00:00:", fmt.Sprintf("T%02d:%02d:", minute/60, minute%60))))
		}
		_, out, kib := measured(t, io.MultiReader(minutes...), program, "why", "--all", "--log", "-")
		require.Less(t, kib, 256<<10, "KiB")
		require.Contains(t, out, "the log has more lines than are kept")
		require.Contains(t, out, "shop/orders-2999: No Job was created since")
	}
	described := "Name: orders-1\nNamespace: shop\nKind: ScaledJob\n"
	_, out, _ := measured(t, strings.NewReader(described+chunk.String()), program, "why", "--all", "--log", "-")
	require.Contains(t, out, "shop/orders-2999: No Job was created since", "a ticket has both")
	_, out, _ = measured(t, strings.NewReader(chunk.String()+described), program, "why", "--all", "--log", "-")
	require.Contains(t, out, "line 9001 begins output of kubectl that was not read")
}

// built returns the command as a program.
func built(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "scaledjob")
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, string(said))
	return program
}

// measured runs a program, and returns its exit status, its output and the most memory that it had, in KiB.
func measured(t *testing.T, stdin io.Reader, program string, arguments ...string) (status int, text string, kib int) {
	c := exec.CommandContext(t.Context(), program, arguments...)
	var out bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = stdin, &out, &out
	require.NoError(t, c.Start())
	peak := make(chan int)
	go func() { peak <- peakMemory(c.Process.Pid) }()
	_ = c.Wait() // the status says it
	kib = <-peak
	require.Positive(t, kib)
	return c.ProcessState.ExitCode(), out.String(), kib
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
