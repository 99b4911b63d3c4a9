package schedule

import (
	"iter"
	"sort"
	"time"
)

// Instants lie where a year has four digits, so that JSON can name them.
var (
	firstInstant = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastInstant  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// moment is t in UTC, between the first and the last instant.
func moment(t time.Time) time.Time {
	switch {
	case t.Before(firstInstant):
		return firstInstant
	case t.After(lastInstant):
		return lastInstant
	}
	return t.Round(0).UTC()
}

// daysIn is how many days the month of t has.
func daysIn(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// addDate adds months and then days. A day that the month does not have is its
// last.
func addDate(wall time.Time, months, days int64) time.Time {
	if months == 0 {
		return wall.AddDate(0, 0, int(days))
	}
	year, month, date := wall.Date()
	first := time.Date(year, month+time.Month(months), 1, 0, 0, 0, wall.Nanosecond(), time.UTC)
	seconds := wall.Hour()*3600 + wall.Minute()*60 + wall.Second()
	return first.Add(time.Duration(seconds)*time.Second).AddDate(0, 0, min(date, daysIn(first))-1+int(days))
}

// offset is how far the clocks of a zone are ahead of UTC.
func offset(zone *time.Location, t time.Time) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// clockIn returns what a clock in the zone shows, as if it were UTC.
func clockIn(zone *time.Location, t time.Time) time.Time {
	return t.Add(offset(zone, t)).UTC()
}

// instantOf returns when clocks in the zone show that: the first time if they do
// so twice, and if they never do, as long after the change as they would have shown
// it after that without the change.
func instantOf(zone *time.Location, wall time.Time) time.Time {
	before, after := offset(zone, wall.Add(-day)), offset(zone, wall.Add(day))
	early, late := wall.Add(-before), wall.Add(-after)
	if before != after && offset(zone, early) != before && offset(zone, late) == after {
		return late
	}
	return early
}

// skips are the instants in the span at which the clocks of a zone skip a day. They
// do so where the date line moves past a place, which since 1840 no place has seen
// twice within ten years; and no place is known to in times to come.
func skips(zone *time.Location, in Span) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		from := latest(in.After, time.Date(1840, 1, 1, 0, 0, 0, 0, time.UTC))
		for from.Before(in.Until) && from.Year() < 2100 {
			to := from.AddDate(10, 0, 0)
			if offset(zone, to)-offset(zone, from) > day/2 {
				if t := skip(zone, from, to); t.After(in.After) && !t.After(in.Until) && !yield(t) {
					return
				}
			}
			from = to
		}
	}
}

// skip finds the instant between two at which the clocks of a zone skip a day.
func skip(zone *time.Location, from, to time.Time) time.Time {
	before := offset(zone, from)
	seconds := sort.Search(int(to.Sub(from)/time.Second), func(n int) bool {
		return offset(zone, from.Add(time.Duration(n)*time.Second))-before > day/2
	})
	return from.Add(time.Duration(seconds) * time.Second)
}
