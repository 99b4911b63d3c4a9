package interval

import (
	"fmt"
	"time"
)

// A year has four digits, as JSON demands.
var (
	firstMoment = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// Clamp returns t in UTC and without a monotonic clock, bounded to the years 0 to 9999,
// where all occurrences lie.
func Clamp(t time.Time) time.Time {
	switch {
	case t.Before(firstMoment):
		return firstMoment
	case t.After(lastMoment):
		return lastMoment
	}
	return t.Round(0).UTC()
}

// daysIn returns the number of days in a month, of its first day.
func daysIn(first time.Time) int { return first.AddDate(0, 1, -1).Day() }

// addMonths adds months. A day that the month does not have becomes its last day.
func addMonths(wall time.Time, months int64) time.Time {
	if months == 0 {
		return wall
	}
	year, month, date := wall.Date()
	first := time.Date(year, month+time.Month(months), 1, 0, 0, 0, wall.Nanosecond(), time.UTC)
	seconds := wall.Hour()*3600 + wall.Minute()*60 + wall.Second()
	return first.Add(time.Duration(seconds)*time.Second).AddDate(0, 0, min(date, daysIn(first))-1)
}

// addDate adds months, and then days.
func addDate(wall time.Time, months, days int64) time.Time {
	return addMonths(wall, months).AddDate(0, 0, int(days))
}

// offset returns how far the clocks of a zone are ahead of UTC.
func offset(zone *time.Location, t time.Time) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// clockIn returns the time that clocks in the zone show, as if it were UTC.
func clockIn(zone *time.Location, t time.Time) time.Time {
	return t.Add(offset(zone, t)).UTC()
}

// timeOf returns when clocks in the zone show a time. If they show it twice, the
// first counts. If they skip it, the clocks of before the change count, which moves
// it forward.
func timeOf(zone *time.Location, wall time.Time) time.Time {
	before, after := offset(zone, wall.Add(-day)), offset(zone, wall.Add(day))
	early, late := wall.Add(-before), wall.Add(-after)
	if before != after && offset(zone, early) != before && offset(zone, late) == after {
		return late
	}
	return early
}

// A Note describes something unusual about an occurrence.
type Note struct {
	Kind string `json:"kind"` // gap, overlap or clamped month
	Text string `json:"text"` // a sentence for people
}

// Notes returns what is unusual about an occurrence:
//
//   - gap: clocks skip its local time, and it is later.
//   - overlap: clocks show its local time twice.
//   - clamped month: its month is too short, and it is on the last day.
//
// Any other time has no notes.
func (o Occurrences) Notes(occurrence time.Time) []Note {
	k := o.after(occurrence) - 1
	if k < o.first || !o.instant(k).Equal(occurrence) {
		return nil
	}
	var notes []Note
	add := func(kind, format string, args ...any) {
		notes = append(notes, Note{kind, fmt.Sprintf(format, args...)})
	}
	const local = "2006-01-02 15:04:05.999999999"
	if month := addMonths(o.wall, o.step.months*k); month.Day() != o.wall.Day() {
		add("clamped month", "%s has %d days, and the start is on day %d", month.Format("January 2006"), month.Day(), o.wall.Day())
	}
	wall := addDate(o.wall, o.step.months*k, o.step.days*k)
	if instant := timeOf(o.zone, wall); o.step.calendar() || k == 0 {
		if late := clockIn(o.zone, instant).Sub(wall); late > 0 {
			add("gap", "%s does not exist in %s; the clock shows %s instead", wall.Format(local), o.zone, wall.Add(late).Format(local))
		}
	}
	reading := clockIn(o.zone, occurrence)
	for n, order := range []string{"first", "second"} {
		other := reading.Add(-offset(o.zone, occurrence.Add(time.Duration(1-2*n)*day)))
		if !other.Equal(occurrence) && clockIn(o.zone, other).Equal(reading) {
			add("overlap", "%s occurs twice in %s; this is the %s", reading.Format(local), o.zone, order)
		}
	}
	return notes
}
