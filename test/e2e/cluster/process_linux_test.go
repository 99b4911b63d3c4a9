package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/test/e2e/internal/child"
)

// childEnv makes TestChild start a cluster and end as it says.
const childEnv = "SCALEDJOB_E2E_CHILD"

func TestChild(t *testing.T) {
	end := os.Getenv(childEnv)
	if end == "" {
		t.Skip("run by TestNoProcessIsLeft")
	}
	c, err := New(context.Background(), os.Stderr)
	require.NoError(t, err)
	fmt.Println("started", c.etcd.Process.Pid, c.server.Process.Pid, c.manager.Process.Pid)
	if end == "panic" {
		go panic("asked for")
	}
	time.Sleep(time.Minute)
}

// Whatever ends a test process, it leaves no processes.
func TestNoProcessIsLeft(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"panic", "kill"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
			cmd.Env = append(os.Environ(), childEnv+"="+end, "TMPDIR="+t.TempDir())
			out, in, err := os.Pipe()
			require.NoError(t, err)
			cmd.Stdout, cmd.Stderr = in, in
			started, err := child.Start(cmd)
			require.NoError(t, err)
			require.NoError(t, in.Close())
			lines := bufio.NewScanner(out)
			pids := startedChild(t, lines)
			if end == "kill" {
				require.NoError(t, cmd.Process.Kill())
			}
			_, _ = io.Copy(io.Discard, out)
			<-started.Done
			require.Error(t, started.Err)
			require.Eventually(t, func() bool { return !anyLives(pids) }, 10*time.Second, 20*time.Millisecond)
		})
	}
}

// startedChild returns what TestChild says.
func startedChild(t *testing.T, lines *bufio.Scanner) (pids []string) {
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if words := strings.Fields(lines.Text()); len(words) == 4 && words[0] == "started" {
			return words[1:]
		}
	}
	require.Fail(t, "the child has not started a cluster", strings.Join(said, "\n"))
	return nil
}

// anyLives takes no process for living that only waits to be reaped.
func anyLives(pids []string) bool {
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}
