package cluster

import (
	"context"
	"errors"
	"fmt"
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
