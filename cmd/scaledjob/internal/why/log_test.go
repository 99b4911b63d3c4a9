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
			id := 0
			if different {
				id = i
			}
			fmt.Fprintf(&log, "2026-11-29T10:00:00Z\tERROR\tscale_handler\terror getting metric for trigger\t"+
				`{"scaledJob.Namespace": "d", "scaledJob.Name": "a", "trigger": "redis", "error": "%d %s"}`+"\n", id, strings.Repeat("x", 7500))
		}
		require.Equal(t, forgets, Read(log.String()).Forgotten > 0)
	}
}
