package schedule

import (
	"cmp"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Schedule defines the occurrences of a job. [ISO8601] returns the Schedule of a repeating interval,
// [FromNext] that of any function, such as a cron expression. The zero value has no occurrence.
type Schedule struct {
	text, identity string
	zone           *time.Location // nil is UTC
	interval       interval.Interval
	next           func(time.Time) time.Time // instead of the interval, or nil
}

// String returns the interval or the expression, and the zone if it is not UTC. It is for people.
func (s *Schedule) String() string {
	return strings.TrimSuffix(s.text+" "+s.zone.String(), " UTC")
}

// Identity is the same for schedules with one start, recurrence and zone, however these are
// written. A job whose schedule has another identity starts anew, by rule 1 of the package comment.
func (s *Schedule) Identity() string { return s.identity + " " + s.zone.String() }

// Zone returns the zone in which occurrences are written. It is never nil.
func (s *Schedule) Zone() *time.Location { return cmp.Or(s.zone, time.UTC) }

// From returns the occurrences of a job that has the schedule from a time on.
// None is before that time.
func (s *Schedule) From(begin time.Time) Occurrences {
	if s.next != nil {
		return stepwise{s.next, interval.Clamp(begin)}
	}
	o, _ := s.interval.Occurrences(latest(begin, firstTime), s.zone) // it fails only for the zero time
	return o
}

// firstTime is the first time that is not the zero time, which is no time.
var firstTime = time.Time{}.Add(1)

// Occurrences are the times of a schedule. They strictly increase. Those of an interval are
// an [interval.Occurrences], and are counted in constant time.
type Occurrences interface {
	// Next returns the first occurrence later than a time, and false if there is none.
	Next(after time.Time) (time.Time, bool)
	// Count returns the number of occurrences in a span.
	Count(interval.Span) int64
	// Last returns the last occurrence that is not later than a time, and false if there is none.
	Last(until time.Time) (time.Time, bool)
}

// ISO8601 returns the schedule of an interval in a zone; nil is UTC. The zero
// interval gives nil, which is no schedule.
func ISO8601(i interval.Interval, zone *time.Location) *Schedule {
	if i == (interval.Interval{}) {
		return nil
	}
	return &Schedule{text: i.String(), identity: i.Identity(), zone: zone, interval: i}
}
