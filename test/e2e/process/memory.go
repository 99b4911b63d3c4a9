package process

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Usage is what a process on Linux has used so far.
type Usage struct {
	Anonymous, Mapped, Peak int // resident memory in MiB; Peak is the most so far
	CPU                     time.Duration
}

// UsageOf returns what a process has used.
func UsageOf(t testing.TB, pid int) (u Usage) {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		require.NoError(t, err)
		return string(data)
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	status := read("status")
	for name, value := range map[string]*int{"RssAnon": &u.Anonymous, "RssFile": &u.Mapped, "VmHWM": &u.Peak} {
		found := regexp.MustCompile(name + `:\s*(\d+) kB`).FindStringSubmatch(status)
		require.NotNil(t, found, name)
		*value = number(found[1]) >> 10
	}
	stat := read("stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')'):])
	u.CPU = time.Duration(number(fields[12])+number(fields[13])) * 10 * time.Millisecond // utime and stime, of which a second has 100
	return u
}
