package schedule_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

func backfilled(t *testing.T, b schedule.Backfill, text string, done int, last time.Time) (at []time.Time, all int) {
	requests, all := b.Requests(schedule.ISO8601(parse(t, text), nil), created, "id", done, last)
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
		last := hour(1 + done)
		if done == 0 {
			last = time.Time{}
		}
		at, all := backfilled(t, b, hourly, done, last)
		require.Equal(t, want, at)
		require.Equal(t, 3, all)
	}
	b.Together, b.Limit = true, 2
	at, all := backfilled(t, b, hourly, 0, time.Time{})
	require.Equal(t, []time.Time{hour(2), hour(3)}, at, "the earliest")
	require.Equal(t, 2, all)
	at, all = backfilled(t, schedule.Backfill{From: hour(-48), To: hour(200), Together: true}, hourly, 5, hour(-44))
	require.Len(t, at, 10)
	require.Equal(t, hour(-43), at[0], "before the creation, too")
	require.Equal(t, 100, all)
	at, all = backfilled(t, schedule.Backfill{From: hour(1).Add(time.Minute), To: hour(2)}, hourly, 0, time.Time{})
	require.Empty(t, at)
	require.Zero(t, all)
	at, _ = backfilled(t, schedule.Backfill{From: hour(-30), To: hour(0)}, "R/T02:00:00/P1D", 0, time.Time{})
	require.Equal(t, []time.Time{hour(-22)}, at)
	now, all := b.Requests(nil, created, "id", 0, time.Time{})
	require.Empty(t, now)
	require.Zero(t, all, "without a schedule")
}

// The runs are those of all occurrences in the span, one by one, with any schedule, also with many.
func TestBackfillIsComplete(t *testing.T) {
	daily := schedule.FromNext("daily", func(after time.Time) time.Time { return after.Truncate(24 * time.Hour).Add(24 * time.Hour) })
	for _, s := range []schedule.Schedule{schedule.ISO8601(parse(t, "R//PT7H"), nil), schedule.ISO8601(parse(t, "R/T01:00:00/P1M"), nil), daily} {
		for _, s := range []schedule.Schedule{s, schedule.Jitter(s, time.Hour, "a"), schedule.Until(s, created.AddDate(0, 3, 0)), schedule.Until(schedule.Jitter(s, time.Hour, "a"), created.AddDate(0, 3, 0))} {
			for _, limit := range []int32{0, 3, 10_000} {
				for _, b := range []schedule.Backfill{
					{From: created.AddDate(0, 0, -3), To: created.AddDate(0, 5, 0), Limit: limit},
					{From: created, To: created, Limit: limit}, {From: created, Limit: limit},
				} {
					var want, got []time.Time
					due, at := s.From(created.AddDate(0, 0, -3)), b.From.Add(-1)
					if !b.From.Before(created) {
						due = s.From(created)
					}
					for int32(len(want)) < cmp.Or(limit, 100) {
						next, ok := due.Next(at)
						if !ok || !next.Before(b.To) {
							break
						}
						want, at = append(want, next), next
					}
					last := time.Time{}
					for range 1000 {
						now, all := b.Requests(s, created, "id", len(got), last)
						require.Equal(t, len(want), all, "%v %+v", s, b)
						if len(now) == 0 {
							break
						}
						last = now[0].Occurrence
						got = append(got, last)
					}
					require.Equal(t, want, got, "%v %+v", s, b)
				}
			}
		}
	}
}

// A backfill of a century of seconds takes no longer than a short one.
func TestBackfillIsFast(t *testing.T) {
	counted := 0
	s := schedule.FromNext("seconds", func(after time.Time) time.Time {
		counted++
		return after.Truncate(time.Second).Add(time.Second)
	})
	b := schedule.Backfill{From: created, To: created.AddDate(100, 0, 0), Limit: 1000}
	b.Requests(s, created, "id", 0, time.Time{})
	require.Less(t, counted, 1100)
	begin := time.Now()
	for range 100 {
		b.Limit = 10_000
		_, all := b.Requests(schedule.ISO8601(parse(t, "R//PT1S"), nil), created, "id", 9000, created.Add(9000*time.Second))
		require.Equal(t, 10_000, all)
	}
	require.Less(t, time.Since(begin), 2*time.Second, "it took seconds when each occurrence was counted")
}
