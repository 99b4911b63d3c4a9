package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/schedule"
)

// The occurrences of a policy with a jitter and an end are those of its schedule up to the end. Each run is
// delayed by less than the jitter, before the next occurrence and not beyond the end; and a run is due
// once, whenever decisions are made.
func TestTimeline(t *testing.T) {
	delayed := 0
	rapid.Check(t, func(t *rapid.T) {
		p := policyOf(t, rapid.SampledFrom([]string{"R/2026-01-01T00:00:00Z/PT7S", "R9/2026-01-01T00:00:00Z/P1D", "R/2026-01-01T00:00:00Z/P1M", "R/2026-01-01T00:00:00.5Z/PT0.25S"}).Draw(t, "text"), nil)
		p.UID = rapid.StringN(0, 3, 3).Draw(t, "uid")
		p.Jitter = schedule.Duration(rapid.IntRange(0, 4000).Draw(t, "jitter")) * schedule.Duration(time.Second)
		p.End = created.Add(time.Duration(rapid.IntRange(1, 90*24*3600).Draw(t, "end")) * time.Second)
		p.SkipOutdated, p.MaxWaiting = false, 1<<20
		plain, after := p.Schedule.From(created), created.Add(-1)
		var due []time.Time
		for range 20 {
			at, ok := plain.Next(after)
			o, found := p.Next(created, after)
			require.Equal(t, ok && !at.After(p.End), found)
			if !found {
				break
			}
			require.True(t, at.Equal(o.Time))
			require.True(t, o.Delay == 0 || o.Delay < p.Jitter)
			if following, ok := plain.Next(at); ok {
				require.True(t, o.Due().Before(following))
			}
			require.False(t, o.Due().After(p.End))
			if o.Delay > 0 {
				delayed++
			}
			due, after = append(due, o.Due()), at
		}
		var c schedule.Checkpoint
		for i := range due {
			i = min(len(due)-1, i+rapid.IntRange(0, 3).Draw(t, "skipped"))
			for n, now := range []time.Time{due[i].Add(-1), due[i]} {
				d := decide(p, c, schedule.Observation{}, now)
				c = d.Checkpoint
				if want := int64(i + n); c.Due < want {
					t.Fatalf("%d due at %v, want %d", c.Due, now, want)
				}
				if next := i + n; int64(next) == c.Due && next < len(due) {
					require.True(t, due[next].Equal(d.NextCheck))
				}
			}
		}
	})
	require.Positive(t, delayed)
}
