package process

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Memory is the resident memory of a process and of its children, in MiB.
type Memory struct {
	Anonymous, Mapped, Most int // Most is the most so far
	Children                int // number of children
	ChildrenAnonymous       int // sum of the children
	ChildrenMapped          int // greatest of the children: they share the pages
}

// String returns all parts but Most.
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
	m.Anonymous, m.Mapped, m.Most = resident(t, dir)
	threads, err := os.ReadDir(dir + "task")
	require.NoError(t, err)
	for _, thread := range threads {
		children, err := os.ReadFile(dir + "task/" + thread.Name() + "/children")
		require.NoError(t, err)
		for child := range strings.FieldsSeq(string(children)) {
			anonymous, mapped, _ := resident(t, "/proc/"+child+"/")
			m.Children, m.ChildrenAnonymous, m.ChildrenMapped = m.Children+1, m.ChildrenAnonymous+anonymous, max(m.ChildrenMapped, mapped)
		}
	}
	return m
}

func resident(t testing.TB, dir string) (anonymous, mapped, most int) {
	t.Helper()
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	of := func(name string) int {
		found := regexp.MustCompile(name + `:\s*(\d+) kB`).FindSubmatch(status)
		require.NotNil(t, found, name)
		n, err := strconv.Atoi(string(found[1]))
		require.NoError(t, err)
		return n >> 10
	}
	return of("RssAnon"), of("RssFile"), of("VmHWM")
}
