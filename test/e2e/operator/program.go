package operator

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/internal/child"
)

// A Program is a program of KEDA as a process.
type Program struct {
	Process *os.Process

	bin, log string
	args     []string
	ready    string // the log has it once the program works
	run      *child.Child
}

// start starts the program, which is killed when the test ends.
func (p *Program) start(t testing.TB) {
	t.Helper()
	p.Restart(t)
	t.Cleanup(p.Stop)
}

// Restart kills the program if it runs, starts it again with the same log, and returns when it works.
func (p *Program) Restart(t testing.TB) {
	t.Helper()
	p.Stop()
	begin := 0
	if info, err := os.Stat(p.log); err == nil {
		begin = int(info.Size())
	}
	cmd := exec.Command(p.bin, p.args...)
	cmd.Env = append(os.Environ(), "WATCH_NAMESPACE=", "KEDA_CLUSTER_OBJECT_NAMESPACE="+namespace, "POD_NAMESPACE="+namespace)
	var err error
	p.run, err = child.Logged(cmd, p.log)
	require.NoError(t, err)
	p.Process = cmd.Process
	require.Eventually(t, func() bool {
		if !p.run.Running() {
			t.Fatalf("%s has ended: %s", filepath.Base(p.bin), p.Log(t))
		}
		return strings.Contains(p.Log(t)[begin:], p.ready)
	}, 2*time.Minute, 100*time.Millisecond, "%s does not start", filepath.Base(p.bin))
}

// Stop kills the program.
func (p *Program) Stop() { p.run.Kill() }

// Log returns the log so far.
func (p *Program) Log(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(p.log)
	require.NoError(t, err)
	return string(data)
}

// File is the path of the log.
func (p *Program) File() string { return p.log }

func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
