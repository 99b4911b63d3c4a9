package why

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of long errors that all differ only the newer ones are kept; one that is repeated takes its memory once.
func TestBytesOfALog(t *testing.T) {
	for different, forgets := range map[bool]bool{true: true, false: false} {
		var log strings.Builder
		for i := range 10_000 {
			id := map[bool]int{true: i}[different]
			fmt.Fprintf(&log, "2026-11-29T10:00:00Z\tERROR\tscale_handler\terror getting metric for trigger\t"+
				`{"scaledJob.Namespace": "d", "scaledJob.Name": "a", "trigger": "redis", "error": "%d %s"}`+"\n", id, strings.Repeat("x", 7500))
		}
		require.Equal(t, forgets, Read(log.String()).Forgotten > 0)
	}
}

// The operator's events are in the timelines of all ScaledJobs: a log of a megabyte took a gigabyte.
func TestTimelinesOfALog(t *testing.T) {
	const operator, scaledJob = "ERROR\tsetup\terror retrieving resource lock keda/%[1]d: refused", "ERROR\tscale_handler\terror getting metric for trigger\t{\"scaledJob.Namespace\": \"d\", \"scaledJob.Name\": \"a%[1]d\"}"
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, "2026-11-29T10:00:00Z\t"+operator+"\n2026-11-29T10:00:00Z\t"+scaledJob+"\n", i)
	}
	r := Explain(Read(log.String()), Question{})
	require.Len(t, r.Subjects[0].Groups, maxShared/1000+1)
	require.Contains(t, strings.Join(r.Notes, "\n"), "900 events of the operator, the oldest, are left out of the timelines of 1000 ScaledJobs")
}
