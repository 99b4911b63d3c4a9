package feed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A list that began before the term does not count. If none has begun since the last read, Relist begins
// one.
func TestReset(t *testing.T) {
	now, again := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), 0
	f := &Feed{Sink: Sink{
		Now: func() time.Time { return now }, Lock: func(do func()) { do() }, Viewed: func(bool) {},
		Cached: func(string) []any { return nil },
	}}
	g := Group{f}
	f.noteRead(true)
	now = now.Add(time.Second)
	g.Reset(now)
	require.NoError(t, f.Replace(nil, ""))
	require.ErrorIs(t, g.Lacks("shop"), errUnread, "the list is of before the term")

	now = now.Add(time.Second)
	f.noteRead(true)
	began := now
	now = now.Add(time.Second)
	f.stop = func() { again++ }
	g.Relist()
	require.Zero(t, again, "a list has begun")
	require.NoError(t, f.Replace(nil, ""))
	require.NoError(t, g.Lacks("shop"))
	require.Equal(t, began, g.Oldest("shop", now))
	g.Relist()
	require.Equal(t, 1, again)
}
