//go:build unix

package conform

import (
	"os/exec"
	"syscall"
)

// killGroup lets a command be killed with the programs that it has started.
func killGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
