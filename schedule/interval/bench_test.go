package interval_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// missed are the steps whose occurrences are counted from 2000 on.
var missed = []struct{ step, zone string }{
	{"PT1S", "UTC"}, {"PT0.000000001S", "UTC"}, {"P1D", "UTC"}, {"P1D", "Europe/Berlin"}, {"P1M", "Europe/Berlin"},
}

func since2000(t require.TestingT, step, zone string) interval.Occurrences {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return occurrences(t, "R/2000-01-01T00:00:00Z/"+step, start, location(t, zone))
}

func span(years int) interval.Span {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	return interval.Span{After: start, Until: start.AddDate(years, 0, 0)}
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

func TestAllocations(t *testing.T) {
	for _, m := range missed {
		s, in := since2000(t, m.step, m.zone), span(26)
		require.Zero(t, testing.AllocsPerRun(10, func() { s.Count(in); s.Next(in.Until) }), "%v", m)
	}
}
