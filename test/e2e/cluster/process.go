package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/scaledjob/scaledjob/test/e2e/internal/child"
)

// A process is a process of the cluster: it can be ended and started again.
type process struct {
	name, path, log string
	args            []string
	*child.Child
}

func (p *process) start() (err error) {
	p.Child, err = child.Logged(exec.Command(p.path, p.args...), p.log)
	return err
}

var errEnded = errors.New("it has ended")

// await calls ready until it succeeds, as long as all processes run. The last process is
// the process to wait for.
func await(ctx context.Context, ready func(context.Context) error, processes ...*process) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		for _, p := range processes {
			if !p.Running() {
				return fmt.Errorf("%s: %w: %v", p.name, errEnded, p.Err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", processes[len(processes)-1].name, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A remover is a shell that removes a directory on request, or when this process has ended
// for any reason.
type remover struct {
	cmd *exec.Cmd
	in  io.Closer
}

// removeScript waits for the end of its input, and tries more than once: etcd may
// still be writing.
const removeScript = `cat; for i in 1 2 3 4 5 6 7 8 9; do rm -rf "$0" 2>&- && exit; sleep 0.2; done; rm -rf "$0"`

func newRemover(folder string) (*remover, error) {
	cmd := exec.Command("sh", "-c", removeScript, folder)
	cmd.SysProcAttr = ownGroup()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &remover{cmd: cmd, in: in}, cmd.Start()
}

func (r *remover) remove() error {
	_ = r.in.Close() // the end of the input, even if closing fails
	return r.cmd.Wait()
}
