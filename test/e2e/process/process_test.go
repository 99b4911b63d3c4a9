package process_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/process"
)

func sh(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

// forever answers SIGTERM.
const forever = `trap "echo bye; exit 0" TERM; echo hello; echo to you >&2; while :; do sleep 0.02; done`

func TestStop(t *testing.T) {
	p := process.Start(t, sh(forever))
	p.Said("hello\nto you")
	p.Stop()
	require.Contains(t, p.Output(), "bye")
	require.NoError(t, p.Wait(), "and again")
	p.Kill()
}

func TestKill(t *testing.T) {
	p := process.Start(t, sh(forever))
	p.Said("hello")
	p.Kill()
	require.ErrorContains(t, p.Wait(), "signal: killed")
	require.NotContains(t, p.Output(), "bye")
}

func TestWait(t *testing.T) {
	p := process.Start(t, sh("echo no >&2; exit 3"))
	require.ErrorContains(t, p.Wait(), "exit status 3")
	require.Equal(t, "no\n", p.Output())
}

// Whoever does not stop a process leaves none behind.
func TestEndsWithTheTest(t *testing.T) {
	var p *process.Process
	t.Run("", func(t *testing.T) {
		p = process.Start(t, sh(forever))
		p.Said("hello")
	})
	require.Eventually(t, func() bool { return p.Command.Process.Signal(syscall.Signal(0)) != nil }, 10*time.Second, 10*time.Millisecond)
}

func TestBuild(t *testing.T) {
	p := process.Start(t, exec.Command(process.Build(t, "../cluster/run"), "-help"))
	require.NoError(t, p.Wait())
	p.Said("kubeconfig")
}

func TestUsageOf(t *testing.T) {
	u := process.UsageOf(t, os.Getpid())
	require.Positive(t, u.Anonymous)
	require.GreaterOrEqual(t, u.Peak, u.Anonymous)
	require.Positive(t, u.CPU)
}
