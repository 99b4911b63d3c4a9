package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

func backfilled(t *testing.T, b schedule.Backfill, text string, done int) (at []time.Time, all int) {
	requests, all := b.Requests(schedule.ISO8601(parse(t, text), nil), created, "id", done)
	ids := map[string]bool{}
	for _, r := range requests {
		require.Equal(t, schedule.Request{ID: r.ID, Occurrence: r.Occurrence}, r, "it waits from the decision on")
		ids[r.ID] = true
		at = append(at, r.Occurrence)
	}
	require.Len(t, ids, len(requests))
	return at, all
}

// A backfill requests the runs of the occurrences in its span, one after another or ten at a time.
func TestBackfill(t *testing.T) {
	const hourly = "R//PT1H"
	hour := func(n int) time.Time { return created.Add(time.Duration(n) * time.Hour) }
	b := schedule.Backfill{From: hour(2), To: hour(5)}
	for done, want := range [][]time.Time{{hour(2)}, {hour(3)}, {hour(4)}, nil, nil} {
		at, all := backfilled(t, b, hourly, done)
		require.Equal(t, want, at)
		require.Equal(t, 3, all)
	}
	b.Together, b.Limit = true, 2
	at, all := backfilled(t, b, hourly, 0)
	require.Equal(t, []time.Time{hour(2), hour(3)}, at, "the earliest")
	require.Equal(t, 2, all)
	at, all = backfilled(t, schedule.Backfill{From: hour(-48), To: hour(200), Together: true}, hourly, 5)
	require.Len(t, at, 10)
	require.Equal(t, hour(-43), at[0], "before the creation, too")
	require.Equal(t, 100, all)
	at, all = backfilled(t, schedule.Backfill{From: hour(1).Add(time.Minute), To: hour(2)}, hourly, 0)
	require.Empty(t, at)
	require.Zero(t, all)
	at, _ = backfilled(t, schedule.Backfill{From: hour(-30), To: hour(0)}, "R/T02:00:00/P1D", 0)
	require.Equal(t, []time.Time{hour(-22)}, at)
	now, all := b.Requests(nil, created, "id", 0)
	require.Empty(t, now)
	require.Zero(t, all, "without a schedule")
}
