//go:build !linux

package cluster

import "syscall"

// dieWithParent can only be had on Linux; elsewhere a killed test leaves its
// processes behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
