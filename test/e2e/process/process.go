// Package process runs a program under test as a process, and watches its output.
//
//	binary := process.Build(t, "..")
//	p := process.Start(t, exec.Command(binary, "-listen", "127.0.0.1:0"))
//	p.Said("listening")
//	p.Stop()
//
// The processes of a test end with it, on Linux also if it is killed. A failed test shows
// the end of their output.
package process

import (
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/internal/child"
	"github.com/scaledjob/scaledjob/test/e2e/secret"
)

// How long a process may take, on a machine that is busy with other things too.
const (
	toSay  = 60 * time.Second
	toStop = 30 * time.Second
)

// Dir returns the directory of a package of the workspace, such as controllers/scaledjob-controller.
func Dir(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/scaledjob/scaledjob/"+name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// Build builds the program in the folder, and returns its path.
func Build(t testing.TB, folder string) string {
	t.Helper()
	path, err := filepath.Abs(folder)
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), filepath.Base(path))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// A Process is a program that has been started.
type Process struct {
	Command *exec.Cmd

	t      testing.TB
	output *output
	child  *child.Child
}

// Start starts the command and records its output. The process is killed when the test ends;
// a panic of the process, or a secret in its output, fails the test.
func Start(t testing.TB, command *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Command: command, t: t, output: &output{}}
	command.Stdout, command.Stderr = p.output, p.output
	var err error
	p.child, err = child.Start(command)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Kill()
		said := p.Output()
		assert.False(t, strings.Contains(said, "panic: "), "it panicked")
		secret.Absent(t, "output of "+filepath.Base(command.Path), said)
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(command.Path), said[max(0, len(said)-8000):])
		}
	})
	return p
}

// Output returns the output so far, standard output and error.
func (p *Process) Output() string { return p.output.String() }

// Said waits until the output has the text, for a minute at most.
func (p *Process) Said(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.Output(), text) }, toSay, 20*time.Millisecond, text)
}

// Get asks the process over HTTP at the address that it has logged first, and returns the
// status and the body.
func (p *Process) Get(path string) (int, string) {
	p.t.Helper()
	p.Said("address=")
	_, line, _ := strings.Cut(p.Output(), "address=")
	address, _, _ := strings.Cut(line, "\n")
	answer, err := http.Get("http://" + address + path)
	require.NoError(p.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	return answer.StatusCode, string(body)
}

// Wait waits until the process has ended, and returns how: nil is exit status 0.
func (p *Process) Wait() error {
	<-p.child.Done
	return p.child.Err
}

// Kill ends the process at once. It does nothing once it has ended.
func (p *Process) Kill() { p.child.Kill() }

// Stop stops the process as a kubelet does: it is to end with status 0, in time.
func (p *Process) Stop() {
	p.t.Helper()
	require.NoError(p.t, p.Command.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.child.Done:
		require.NoError(p.t, p.child.Err)
	case <-time.After(toStop):
		require.Fail(p.t, "does not stop")
	}
}

// output may be read while a process writes it.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
