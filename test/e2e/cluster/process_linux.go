package cluster

import (
	"os"
	"syscall"
)

// tryLock reports whether this process has locked the file, until it is closed.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
