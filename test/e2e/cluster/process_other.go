//go:build !linux

package cluster

import "os"

// tryLock locks nothing here: two that build at once do work twice.
func tryLock(*os.File) bool { return true }
