//go:build !linux

package cluster

import (
	"os"
	"syscall"
)

// dieWithParent can only be had on Linux; elsewhere a killed test leaves its
// processes behind.
func dieWithParent() *syscall.SysProcAttr { return nil }

func ownGroup() *syscall.SysProcAttr { return nil }

// tryLock locks nothing here: two that build at once do work twice.
func tryLock(*os.File) bool { return true }
