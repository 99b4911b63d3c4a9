// Package child starts processes that end with this process, for any reason.
package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// A Child is a process. The nil Child has ended.
type Child struct {
	*exec.Cmd
	Done chan struct{} // closed at its end
	Err  error         // how it ended
}

// Start starts the command. On Linux the kernel kills it when this process is gone;
// elsewhere, a test that is killed leaves it behind.
func Start(cmd *exec.Cmd) (*Child, error) {
	cmd.SysProcAttr = dieWithParent()
	c, started := &Child{Cmd: cmd, Done: make(chan struct{})}, make(chan error)
	go func() {
		defer close(c.Done)
		// The kernel takes the thread that starts a process for its parent: the thread must
		// live as long.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.Err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// Logged is Start with the output appended to a file.
func Logged(cmd *exec.Cmd, file string) (*Child, error) {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	c, err := Start(cmd)
	return c, errors.Join(err, log.Close()) // the process has its own
}

// Running reports whether the process has not ended.
func (c *Child) Running() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.Done:
		return false
	default:
		return true
	}
}

// Kill ends the process, and returns when it has ended.
func (c *Child) Kill() {
	if c != nil {
		_ = c.Process.Kill() // an error means that it has ended
		<-c.Done
	}
}
