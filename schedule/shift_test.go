package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// next is a schedule of which nothing but Next is known.
type next struct{ schedule.Schedule }

type nextOnly struct{ of schedule.Occurrences }

func (n nextOnly) Next(after time.Time) (time.Time, bool) { return n.of.Next(after) }

func (n next) From(since time.Time) schedule.Occurrences { return nextOnly{n.Schedule.From(since)} }

// A schedule without a Counter decides as the interval does.
func TestNextAlone(t *testing.T) {
	s := minutely(t)
	s.SkipOutdated, s.Concurrency = false, schedule.Wait
	other := s
	other.Schedule = next{s.Schedule}
	var a, b schedule.State
	for _, n := range []int{0, 3, 4, 90, 5000} {
		one := schedule.Decide(s, a, schedule.Observed{JobsKnown: true}, minute(n))
		two := schedule.Decide(other, b, schedule.Observed{JobsKnown: true}, minute(n))
		require.Equal(t, one, two)
		a, b = one.State, two.State
	}
}

// The occurrences of a schedule with a jitter and an end are those of the schedule, each later by
// less than the jitter and before the next; and the ways to find them agree.
func TestShifts(t *testing.T) {
	delayed := 0
	rapid.Check(t, func(t *rapid.T) {
		base := schedule.ISO8601(parse(t, rapid.SampledFrom([]string{"R/2026-01-01T00:00:00Z/PT7S", "R9/2026-01-01T00:00:00Z/P1D", "R/2026-01-01T00:00:00Z/P1M", "R/2026-01-01T00:00:00.5Z/PT0.25S"}).Draw(t, "text")), nil)
		most := time.Duration(rapid.IntRange(0, 4000).Draw(t, "jitter")) * time.Second
		end := created.Add(time.Duration(rapid.IntRange(1, 90*24*3600).Draw(t, "end")) * time.Second)
		s := schedule.Until(schedule.Jitter(base, most, rapid.StringN(0, 3, 3).Draw(t, "seed")), end)
		of, all := base.From(created), s.From(created).(schedule.Counter)
		at, due := created.Add(-time.Second), created.Add(-time.Second)
		var found []time.Time
		for range 20 {
			var ok bool
			if at, ok = of.Next(at); !ok {
				break
			}
			if due, ok = all.Next(due); !ok {
				require.False(t, at.Add(most).Before(end), "%v is left out", at)
				break
			}
			require.False(t, due.Before(at) || due.After(end) || most > 0 && !due.Before(at.Add(most)) || most == 0 && !due.Equal(at), "%v at %v", at, due)
			if following, ok := of.Next(at); ok {
				require.True(t, due.Before(following))
			}
			if due.After(at) {
				delayed++
			}
			found = append(found, due)
		}
		if len(found) == 0 {
			return
		}
		i := rapid.IntRange(0, len(found)-1).Draw(t, "from")
		in := interval.Span{After: found[i].Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, "earlier"))), Until: found[len(found)-1].Add(-time.Duration(rapid.IntRange(0, 1).Draw(t, "before the last")))}
		var want []time.Time
		for _, at := range found {
			if at.After(in.After) && !at.After(in.Until) {
				want = append([]time.Time{at}, want...)
			}
		}
		require.Equal(t, want, backward(all, in))
		require.EqualValues(t, len(want), all.Count(in))
		require.Zero(t, all.Count(interval.Span{After: found[len(found)-1], Until: found[0]}))
	})
	require.Positive(t, delayed)
	require.Equal(t, "R//PT1H jitter 5m0s until 2026-01-02T00:00:00Z",
		schedule.Until(schedule.Jitter(schedule.ISO8601(parse(t, "R//PT1H"), nil), 5*time.Minute, "uid"), created.AddDate(0, 0, 1)).String())
	require.Nil(t, schedule.Until(schedule.Jitter(nil, time.Hour, ""), created))
}

// Jobs with one schedule and a jitter are spread.
func TestJitterSpreads(t *testing.T) {
	at := map[time.Time]bool{}
	for _, uid := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		due, _ := schedule.Jitter(schedule.ISO8601(parse(t, "R//P1D"), nil), time.Hour, uid).From(created).Next(created)
		at[due] = true
	}
	require.Greater(t, len(at), 6)
}

// An occurrence before a change of the jitter does not become due again, nor later.
func TestJitterChanges(t *testing.T) {
	hourly := schedule.ISO8601(parse(t, "R/2026-01-01T00:00:00Z/PT1H"), nil)
	for m := 61; m < 120; m++ {
		s := minutely(t)
		var state schedule.State
		for _, at := range []int{0, 60, m} {
			s.Schedule = schedule.Jitter(hourly, 10*time.Minute, "uid")
			state = schedule.Decide(s, state, none, minute(at)).State
		}
		s.Schedule = schedule.Jitter(hourly, 50*time.Minute, "uid")
		changed := schedule.Decide(s, state, none, minute(m))
		require.False(t, changed.NextRun.Before(minute(120)), "changed at %d", m)
	}
}

// After a long outage each occurrence with a delay is counted, and at once.
func TestJitterCounts(t *testing.T) {
	all := schedule.Jitter(schedule.ISO8601(parse(t, "R/2026-01-01T00:00:00Z/PT1S"), nil), 30*time.Second, "uid").From(created).(schedule.Counter)
	year := interval.Span{After: created.Add(-time.Second), Until: created.AddDate(1, 0, 0)}
	require.EqualValues(t, 365*24*3600+1, all.Count(year))
}
