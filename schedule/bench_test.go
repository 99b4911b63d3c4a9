package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule"
)

// missed are the steps whose instants are counted from 2000 on.
var missed = []struct{ step, zone string }{
	{"PT1S", "UTC"}, {"PT0.000000001S", "UTC"}, {"P1D", "UTC"}, {"P1D", "Europe/Berlin"}, {"P1M", "Europe/Berlin"},
}

func since2000(t require.TestingT, step, zone string) schedule.Instants {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return parse(t, "R/2000-01-01T00:00:00Z/"+step).Instants(start, location(t, zone))
}

func span(years int) schedule.Span {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return schedule.Span{After: start, Until: start.AddDate(years, 0, 0)}
}

func BenchmarkCount(b *testing.B) {
	for _, m := range missed {
		s := since2000(b, m.step, m.zone)
		for _, years := range []int{1, 26, 260} {
			in := span(years)
			b.Run(fmt.Sprintf("%s/%s/n=%d", m.step, m.zone, s.Count(in)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Count(in)
				}
			})
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, m := range missed {
		s := since2000(b, m.step, m.zone)
		for _, years := range []int{1, 26, 260} {
			after := span(years).Until
			b.Run(fmt.Sprintf("%s/%s/years=%d", m.step, m.zone, years), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Next(after)
				}
			})
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, m := range missed {
		s, in := since2000(t, m.step, m.zone), span(26)
		require.Zero(t, testing.AllocsPerRun(10, func() { s.Count(in); s.Next(in.Until); s.Last(in.Until) }), "%v", m)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schedule.Parse("R5/2026-01-01T02:00:00+01:00/P1Y2M3W4DT5H6M7.8S"); err != nil {
			b.Fatal(err)
		}
	}
}

// A job with n completed runs and their Jobs, after as many seconds as are missed.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{0, 10, 200} {
		for _, missed := range []int{0, 10, 1_000_000_000} {
			s := schedule.DefaultSpec()
			s.UID, s.Created, s.Interval = "2f6a", created, parse(b, "R/2026-01-01T00:00:00Z/PT1S")
			s.SkipOutdated = true
			state, seen, now := schedule.State{}, schedule.Observed{JobsKnown: true}, created
			for i := range n {
				now = created.Add(time.Duration(i) * time.Second)
				d := schedule.Decide(s, state, seen, now)
				for _, r := range d.Start {
					outcome := []schedule.Outcome{schedule.Succeeded, schedule.Failed}[i%2]
					seen.Jobs = append(seen.Jobs, schedule.Job{Tag: r.Tag, Outcome: outcome, Created: now, Finished: now})
				}
				state = schedule.Decide(s, d.State, seen, now).State
			}
			now = now.Add(time.Duration(missed) * time.Second)
			b.Run(fmt.Sprintf("n=%d/missed=%d", n, missed), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					schedule.Decide(s, state, seen, now)
				}
			})
		}
	}
}
