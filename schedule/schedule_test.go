package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// The text of a schedule has its zone, other than UTC.
func TestISO8601(t *testing.T) {
	i := parse(t, "R/T02:00:00/P1D")
	require.Nil(t, schedule.ISO8601(interval.Interval{}, nil))
	for text, zones := range map[string][]*time.Location{
		"R/T02:00:00/P1D":               {nil, time.UTC, location(t, "UTC")},
		"R/T02:00:00/P1D Europe/Berlin": {location(t, "Europe/Berlin")},
	} {
		for _, zone := range zones {
			require.Equal(t, text, schedule.ISO8601(i, zone).String())
		}
	}
	next, ok := schedule.ISO8601(i, location(t, "Europe/Berlin")).From(created).Next(created)
	require.True(t, ok)
	require.Equal(t, created.Add(time.Hour), next)
}

// The next time of a function is an occurrence if it is later than the time asked for, and
// not after the year 9999. Occurrences before the start are left out.
func TestNextOfAFunction(t *testing.T) {
	end := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for next, want := range map[time.Time]bool{
		minute(5): false, minute(5).Add(1): true, minute(4): false, {}: false, end: false, end.Add(-1): true, end.Add(-1).In(time.FixedZone("", 3600)): true,
	} {
		o := schedule.FromNext("text", "text", nil, func(time.Time) time.Time { return next }).From(minute(1))
		got, ok := o.Next(minute(5))
		require.Equal(t, want, ok, next)
		if want {
			require.Equal(t, next.UTC(), got)
		}
	}
	var asked []time.Time
	o := schedule.FromNext("text", "text", nil, func(after time.Time) time.Time { asked = append(asked, after); return time.Time{} }).From(minute(5))
	o.Next(minute(4))
	o.Next(minute(5))
	require.Equal(t, []time.Time{minute(5).Add(-1), minute(5)}, asked)
}

// The last occurrence is found with few calls, also if a season of occurrences ended long ago.
func TestLastOfASeason(t *testing.T) {
	calls := 0
	season := schedule.FromNext("each minute of January to June", "each minute of January to June", nil, func(after time.Time) time.Time {
		calls++
		next := after.Truncate(time.Minute).Add(time.Minute)
		if next.Month() > time.June {
			next = time.Date(next.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		return next
	}).From(created).(schedule.Counter)
	for until, want := range map[time.Time]time.Time{
		time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC):   time.Date(2027, 6, 30, 23, 59, 0, 0, time.UTC),
		time.Date(2027, 3, 31, 12, 30, 0, 0, time.UTC):  time.Date(2027, 3, 31, 12, 30, 0, 0, time.UTC),
		time.Date(2027, 3, 31, 12, 30, 0, -1, time.UTC): time.Date(2027, 3, 31, 12, 29, 0, 0, time.UTC),
	} {
		calls = 0
		last, ok := season.Last(until)
		require.True(t, ok)
		require.Equal(t, want, last)
		require.Less(t, calls, 100, until)
	}
}
