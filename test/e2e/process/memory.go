package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Memory is the resident memory of a process and of its children, in MiB.
type Memory struct {
	Anonymous, Mapped, Peak int // Peak is the most so far
	Children                int // number of children
	ChildrenAnonymous       int // sum of the children
	ChildrenMapped          int // greatest of the children: they share the pages
}

// String returns all parts but Peak.
func (m Memory) String() string {
	return fmt.Sprintf("%d MiB anonymous and %d mapped, and %d workers with %d and %d", m.Anonymous, m.Mapped, m.Children, m.ChildrenAnonymous, m.ChildrenMapped)
}

// MemoryOf returns the memory of a process, or zeros if the system is not Linux.
func MemoryOf(t testing.TB, pid int) (m Memory) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return m
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	var running bool
	m.Anonymous, m.Mapped, m.Peak, running = resident(t, dir)
	require.True(t, running, pid)
	threads, err := os.ReadDir(dir + "task")
	require.NoError(t, err)
	for _, thread := range threads {
		for child := range strings.FieldsSeq(read(t, dir+"task/"+thread.Name()+"/children")) {
			if anonymous, mapped, _, running := resident(t, "/proc/"+child+"/"); running {
				m.Children, m.ChildrenAnonymous, m.ChildrenMapped = m.Children+1, m.ChildrenAnonymous+anonymous, max(m.ChildrenMapped, mapped)
			}
		}
	}
	return m
}

// read returns the text of a file in /proc, and "" if its process or thread has ended.
func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		require.NoError(t, err)
	}
	return string(data)
}

// resident reports whether the process runs, and its memory. A process that has ended has none.
func resident(t testing.TB, dir string) (anonymous, mapped, peak int, running bool) {
	t.Helper()
	status := read(t, dir+"status")
	if !strings.Contains(status, "RssAnon:") {
		return 0, 0, 0, false
	}
	kibibytes := func(name string) int {
		found := regexp.MustCompile(name + `:\s*(\d+) kB`).FindStringSubmatch(status)
		require.NotNil(t, found, name)
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return n >> 10
	}
	return kibibytes("RssAnon"), kibibytes("RssFile"), kibibytes("VmHWM"), true
}
