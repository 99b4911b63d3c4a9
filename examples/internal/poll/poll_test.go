package poll_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/examples/internal/poll"
)

// What has not been looked at is replaced by what is newer.
func TestLatest(t *testing.T) {
	l := poll.NewLatest[int]()
	for i := range 3 {
		l.Send(i)
	}
	require.Equal(t, 2, <-l)
	require.Empty(t, l)
}

// A restart with many objects does not poll them all at once; a new one does not wait.
func TestSpread(t *testing.T) {
	var s poll.Spread
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := s.Delay(true)
		require.Less(t, d, 30*time.Second)
		seen[d] = true
	}
	require.Len(t, seen, 1000)
	require.Zero(t, s.Delay(false))
}

// What is wrong is told once, and again when it has been right, or is something else.
func TestWarnings(t *testing.T) {
	var log bytes.Buffer
	w := poll.Warnings{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, text := range []string{"a", "a", "", "a", "b", "b"} {
		err := errors.New(text)
		if text == "" {
			err = nil
		}
		w.Warn("unread", err)
		w.Warn("failed", nil)
	}
	require.Equal(t, 2, strings.Count(log.String(), "msg=unread err=a"))
	require.Equal(t, 1, strings.Count(log.String(), "msg=unread err=b"))
	require.NotContains(t, log.String(), "failed")
	w.Warn("long", errors.New(strings.Repeat("x", 1<<20)))
	require.Less(t, log.Len(), 2000)
}
