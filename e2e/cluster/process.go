package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/scaledjob/scaledjob/e2e/internal/child"
)

// A process is a process of the cluster: it can be ended and started again.
type process struct {
	name, path, log string
	args            []string
	cmd             *exec.Cmd
	done            chan struct{}
}

func (p *process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := child.Start(cmd)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer log.Close()
		<-ended // how it ended is in its log
	}()
	p.cmd, p.done = cmd, done
	return nil
}

// running reports whether the process has been started and has not ended since.
func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.done
}

var errEnded = errors.New("it has ended")

// await calls ready until it succeeds, as long as all processes run. The last process is
// the process to wait for.
func await(ctx context.Context, ready func(context.Context) error, all ...*process) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		for _, p := range all {
			if !p.running() {
				return fmt.Errorf("%s: %w: %v", p.name, errEnded, p.cmd.ProcessState)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", all[len(all)-1].name, err)
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
