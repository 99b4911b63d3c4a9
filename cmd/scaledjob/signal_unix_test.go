//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// SIGINT and SIGTERM end the command at once, with the statuses that shells give to them.
func TestSignals(t *testing.T) {
	if os.Getenv("SCALEDJOB_TEST_SIGNALS") != "" {
		os.Args = []string{"scaledjob", "oracle"}
		main()
	}
	for sent, want := range map[syscall.Signal]struct {
		status int
		said   string
	}{
		syscall.SIGINT:  {interrupted, "scaledjob: interrupted\n"},
		syscall.SIGTERM: {terminated, "scaledjob: terminated\n"},
	} {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSignals$")
		c.Env = append(os.Environ(), "SCALEDJOB_TEST_SIGNALS=1")
		in, err := c.StdinPipe()
		require.NoError(t, err)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		var said bytes.Buffer
		c.Stderr = &said
		require.NoError(t, c.Start())
		_, err = in.Write([]byte("{}\n"))
		require.NoError(t, err)
		line, err := bufio.NewReader(out).ReadString('\n') // the command runs
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(line, "{"), line)
		require.NoError(t, c.Process.Signal(sent))
		_ = c.Wait()
		require.Equal(t, want.status, c.ProcessState.ExitCode())
		require.Equal(t, want.said, said.String())
	}
}
