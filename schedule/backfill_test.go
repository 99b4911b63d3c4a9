package schedule_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

func backfilled(t *testing.T, b schedule.Backfill, text string, done int, last time.Time) (at []time.Time, runs int64) {
	plan := b.Plan(policyOf(t, text, nil), created, schedule.Progress{ID: "id", RequestedAt: day(60), Done: int64(done), Last: last}, day(60))
	requests := plan.Requests
	ids := map[string]bool{}
	for _, r := range requests {
		require.Equal(t, schedule.Request{ID: r.ID, Occurrence: r.Occurrence}, r, "it waits from the decision on")
		ids[r.ID] = true
		at = append(at, r.Occurrence)
	}
	require.Len(t, ids, len(requests))
	require.Zero(t, plan.Later)
	return at, plan.Runs
}

// A backfill requests the runs of the occurrences in its span, one after another or ten at a time.
func TestBackfill(t *testing.T) {
	const hourly = "R//PT1H"
	b := schedule.Backfill{From: hour(2), To: hour(5)}
	for done, want := range [][]time.Time{{hour(2)}, {hour(3)}, {hour(4)}, nil, nil} {
		last := hour(1 + done)
		if done == 0 {
			last = time.Time{}
		}
		at, all := backfilled(t, b, hourly, done, last)
		require.Equal(t, want, at)
		require.EqualValues(t, 3, all)
	}
	b.Together, b.Limit = true, 2
	at, all := backfilled(t, b, hourly, 0, time.Time{})
	require.Equal(t, []time.Time{hour(2), hour(3)}, at, "the earliest")
	require.EqualValues(t, 2, all)
	at, all = backfilled(t, schedule.Backfill{From: hour(-48), To: hour(200), Together: true}, hourly, 5, hour(-44))
	require.Len(t, at, 10)
	require.Equal(t, hour(-43), at[0], "before the creation, too")
	require.EqualValues(t, 100, all)
	at, all = backfilled(t, schedule.Backfill{From: hour(1).Add(time.Minute), To: hour(2)}, hourly, 0, time.Time{})
	require.Empty(t, at)
	require.Zero(t, all)
	at, _ = backfilled(t, schedule.Backfill{From: hour(-30), To: hour(0)}, "R/T02:00:00/P1D", 0, time.Time{})
	require.Equal(t, []time.Time{hour(-22)}, at)
	plan := b.Plan(schedule.Policy{}, created, schedule.Progress{ID: "id", RequestedAt: day(60)}, day(60))
	require.Equal(t, schedule.BackfillPlan{}, plan, "without a schedule")
}

// Of a backfill the part up to its request runs. The later part is left to the schedule, and named.
func TestBackfillUpToNow(t *testing.T) {
	p := policyOf(t, "R/2026-01-01T00:00:00Z/P1D", nil)
	noon := day(3).Add(12 * time.Hour)
	for _, tt := range []struct {
		from, to    time.Time
		limit       int32
		jitter      time.Duration
		now         time.Time
		start       []time.Time
		runs, later int64
	}{
		{from: day(4), to: day(8), now: noon, later: 4},
		{from: day(2), to: day(6), now: noon, start: []time.Time{day(2), day(3)}, runs: 2, later: 2},
		{from: day(2), to: day(6), limit: 3, now: noon, start: []time.Time{day(2), day(3)}, runs: 2, later: 1},
		{from: day(2), to: day(6), now: day(9), start: []time.Time{day(2), day(3)}, runs: 2, later: 2}, // days later
		{from: day(2), to: day(6), now: day(2), start: []time.Time{day(2)}, runs: 2, later: 2},         // the clock went back
		{from: day(2), to: day(6), jitter: 23 * time.Hour, now: day(3).Add(1), start: []time.Time{day(2)}, runs: 1, later: 3},
		{from: day(6), to: day(2), now: noon},
	} {
		p.Jitter = schedule.Duration(tt.jitter)
		requested := noon
		if tt.jitter > 0 {
			requested = tt.now
		}
		plan := schedule.Backfill{From: tt.from, To: tt.to, Limit: tt.limit, Together: true}.Plan(p, created, schedule.Progress{RequestedAt: requested}, tt.now)
		var start []time.Time
		for _, r := range plan.Requests {
			start = append(start, r.Occurrence)
		}
		require.Equal(t, tt.start, start, "%+v", tt)
		require.Equal(t, []int64{tt.runs, tt.later}, []int64{plan.Runs, plan.Later}, "%+v", tt)
	}
}

// The runs are those of all occurrences in the span, one by one, with any schedule, also with many.
func TestBackfillIsComplete(t *testing.T) {
	daily := schedule.FromNext("daily", "daily", nil, func(after time.Time) time.Time { return after.Truncate(24 * time.Hour).Add(24 * time.Hour) })
	for _, s := range []schedule.Schedule{schedule.ISO8601(parse(t, "R//PT7H"), nil), schedule.ISO8601(parse(t, "R/T01:00:00/P1M"), nil), daily} {
		for _, end := range []time.Time{{}, created.AddDate(0, 3, 0)} {
			p := schedule.Policy{UID: "a", Created: created, Schedule: s, End: end}
			for _, limit := range []int32{0, 3, 10_000} {
				b := schedule.Backfill{From: created.AddDate(0, 0, -3), To: created.AddDate(0, 5, 0), Limit: limit}
				var want, got []time.Time
				for due, at := s.From(b.From), b.From.Add(-1); int32(len(want)) < cmp.Or(limit, 100); {
					next, ok := due.Next(at)
					if !ok || !next.Before(b.To) || !end.IsZero() && next.After(end) {
						break
					}
					want, at = append(want, next), next
				}
				last := time.Time{}
				for range 1000 {
					plan := b.Plan(p, created, schedule.Progress{Done: int64(len(got)), Last: last, RequestedAt: day(999)}, day(999))
					require.EqualValues(t, len(want), plan.Runs, "%v %+v", s, b)
					if len(plan.Requests) == 0 {
						break
					}
					last = plan.Requests[0].Occurrence
					got = append(got, last)
				}
				require.Equal(t, want, got, "%v %+v", s, b)
			}
		}
	}
}

// A backfill of a century of seconds takes no longer than a short one.
func TestBackfillIsFast(t *testing.T) {
	counted := 0
	s := schedule.FromNext("seconds", "seconds", nil, func(after time.Time) time.Time {
		counted++
		return after.Truncate(time.Second).Add(time.Second)
	})
	b, century := schedule.Backfill{From: created, To: created.AddDate(100, 0, 0), Limit: 1000}, created.AddDate(100, 0, 0)
	b.Plan(schedule.Policy{Schedule: s}, created, schedule.Progress{RequestedAt: century}, century)
	require.Less(t, counted, 2200)
	b.Limit = 10_000
	begin := time.Now()
	for range 100 {
		plan := b.Plan(policyOf(t, "R//PT1S", nil), created, schedule.Progress{Done: 9000, Last: created.Add(9000 * time.Second), RequestedAt: century}, century)
		require.EqualValues(t, 10_000, plan.Runs)
	}
	require.Less(t, time.Since(begin), 2*time.Second, "it took seconds when each occurrence was counted")
}
