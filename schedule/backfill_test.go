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

// The runs of a backfill execute once each, also after a restart, and keep their occurrence. A
// scheduled run that is due meanwhile does not wait for the later runs of the backfill.
func TestBackfillRuns(t *testing.T) {
	s := minutely(t)
	s.Concurrency, s.SkipOutdated = schedule.Wait, false
	b := schedule.Backfill{From: created.AddDate(0, 0, -1), To: created.AddDate(0, 0, -1).Add(4 * time.Minute)}
	var state schedule.State
	jobs, order := map[string]schedule.Job{}, []bool{}
	done := 0
	for step := range 60 {
		now := created.Add(time.Duration(step) * 10 * time.Second)
		requests, all := b.Requests(s.Schedule, s.Created, "id", done)
		seen := schedule.Observed{JobsKnown: true, Requests: requests}
		for _, j := range jobs {
			seen.Jobs = append(seen.Jobs, j)
		}
		d := schedule.Decide(s, state, seen, now)
		state = d.State
		for _, r := range d.Start {
			_, again := jobs[r.Tag]
			require.False(t, again)
			jobs[r.Tag] = schedule.Job{Tag: r.Tag, Created: now}
			order = append(order, r.OnDemand)
			require.Equal(t, r.OnDemand, !r.Occurrence.IsZero())
		}
		for tag, j := range jobs {
			if j.Outcome == "" && now.Sub(j.Created) >= 30*time.Second {
				j.Outcome, j.Finished = schedule.Succeeded, now
				jobs[tag] = j
			}
		}
		for _, r := range state.Completed {
			if len(requests) > 0 && r.Request == requests[0].ID {
				done++
			}
		}
		require.Equal(t, 4, all)
	}
	require.Equal(t, 4, done)
	n := 0
	for i, asked := range order {
		if asked {
			if n++; n == 4 {
				require.GreaterOrEqual(t, i, 5, "scheduled runs start in between: %v", order)
			}
		}
	}
	require.Equal(t, 4, n)
}
