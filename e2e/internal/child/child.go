// Package child starts processes that end with this process, for any reason.
package child

import (
	"os/exec"
	"runtime"
)

// Start starts the command. On Linux the kernel kills it when this process is gone;
// elsewhere, a test that is killed leaves it behind. The channel gets how it ended.
func Start(cmd *exec.Cmd) (ended <-chan error, err error) {
	cmd.SysProcAttr = dieWithParent()
	started, end := make(chan error), make(chan error, 1)
	go func() {
		// The kernel takes the thread that starts a process for its parent: the thread must
		// live as long.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			end <- cmd.Wait()
		}
	}()
	return end, <-started
}
