package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// system are the directories of libraries, certificates, time zones and devices.
var system = []string{"/dev", "/etc", "/lib", "/lib64", "/proc", "/sys", "/usr", os.TempDir()}

const read, readAny = unix.LANDLOCK_ACCESS_FS_READ_FILE, unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

// ruleset returns a new set of rules, which is negative if the kernel has no Landlock.
func ruleset() (int, error) {
	attr := unix.LandlockRulesetAttr{Access_fs: readAny}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Access_fs), 0)
	switch errno {
	case 0:
		return int(rules), nil
	case unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM: // EPERM is of a container's profile
		return -1, nil
	}
	return -1, errno
}

// around returns the directory of a file, in which another may take its place, or the file itself
// if the directory has others' files as well.
func around(file string) string {
	if d := filepath.Dir(file); !slices.Contains([]string{"/", "/run", "/var/run", "/home", "/root", "/var", "/srv", "/mnt"}, d) {
		return d
	}
	return file
}

// restrict refuses this thread, and the program that it starts, all files outside of the system's
// directories, these directories, and the directories of files that a variable names. It does nothing
// if the kernel has no Landlock.
func restrict(directories, variables []string) error {
	rules, err := ruleset()
	if rules < 0 || err != nil {
		return err
	}
	defer unix.Close(rules)
	all := slices.Concat(system, directories, []string{"/proc/self/exe"})      // the program is started again
	if servers, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil { // below /run with systemd
		all = append(all, around(servers))
	}
	for _, v := range variables {
		if _, err := os.Stat(v); err == nil && filepath.IsAbs(v) {
			all = append(all, around(v))
		}
	}
	for _, name := range all {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: readAny, Parent_fd: int32(fd)}
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			rule.Allowed_access = read
		}
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
		unix.Close(fd)
		if errno != 0 {
			return errno
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
