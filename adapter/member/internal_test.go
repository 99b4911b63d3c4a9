package member

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/placement/jobs"
)

// A request without an answer counts when a health check has passed that was sent after its end, and
// never if the member has failed since it was sent.
func TestSettle(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	none, create := jobs.Failures{}, jobs.Failures{Create: true}
	for _, test := range []struct {
		passed, failed time.Time // of health checks; the request was sent at 100 and had no answer until 115
		now            jobs.Failures
		kept           bool
	}{
		{at(90), time.Time{}, none, true},
		{at(110), at(50), none, true},
		{at(116), at(50), create, false},
		{at(116), at(105), none, false},
	} {
		f := failures{doubted: create, sent: at(100), last: at(115)}
		require.Equal(t, test.now, f.settle(&health{passed: test.passed, failed: test.failed}), test)
		require.Equal(t, test.kept, f.doubted == create, test)
	}
}

// A text of a member has one line, is short, and moves no cursor.
func TestShort(t *testing.T) {
	require.Equal(t, "a [31mb c  ", short("a\x1b[31mb\u009bc\x07\x7f\nd"))
	require.NotContains(t, short("Failed to pull image https://user:hunter2@registry.example.com/a:1"), "hunter2")
	require.Len(t, short(strings.Repeat("a b ", 1000)), 120+len("…"))
}
