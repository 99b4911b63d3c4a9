package schedule

import (
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Schedule defines the occurrences of a job. [ISO8601] returns the Schedule of a repeating interval;
// a cron expression can be another.
type Schedule interface {
	// String is for people.
	String() string
	// Identity is the same for schedules with one start, recurrence and zone, however these are
	// written. A job whose schedule has another identity starts anew, by rule 1 of the package comment.
	Identity() string
	// Zone is the zone in which occurrences are written. It is never nil.
	Zone() *time.Location
	// From returns the occurrences of a job that has the schedule from a time on.
	// None is before that time.
	From(time.Time) Occurrences
}

// Occurrences are the times of a schedule. They strictly increase. Occurrences that are
// a counter, too, are faster after a long outage.
type Occurrences interface {
	// Next returns the first occurrence later than a time, and false if there is none.
	Next(after time.Time) (time.Time, bool)
}

// A Counter counts occurrences without a call of Next for each. Those of an interval are counted
// in constant time.
type counter interface {
	Occurrences
	// Count returns the number of occurrences in a span.
	Count(interval.Span) int64
	// Last returns the last occurrence that is not later than a time, and false if there is none.
	Last(until time.Time) (time.Time, bool)
}

// ISO8601 returns the schedule of an interval in a zone; nil is UTC. The zero
// interval gives nil, which is no schedule.
func ISO8601(i interval.Interval, zone *time.Location) Schedule {
	if i == (interval.Interval{}) {
		return nil
	}
	if zone == nil {
		zone = time.UTC
	}
	return repeating{i, zone}
}

type repeating struct {
	interval interval.Interval
	zone     *time.Location
}

func (r repeating) String() string { return inWords(r.interval.String(), r.zone) }

func inWords(text string, zone *time.Location) string {
	return strings.TrimSuffix(text+" "+zone.String(), " UTC")
}

func (r repeating) Identity() string { return r.interval.Identity() + " " + r.zone.String() }

func (r repeating) Zone() *time.Location { return r.zone }

func (r repeating) From(begin time.Time) Occurrences {
	o, _ := r.interval.Occurrences(latest(begin, firstTime), r.zone) // it fails only for the zero time
	return o
}

// firstTime is the first time that is not the zero time, which is no time.
var firstTime = time.Time{}.Add(1)

// occurrences returns the occurrences of a schedule as a Counter.
func occurrences(s Schedule, begin time.Time) counter {
	o := s.From(begin)
	if c, ok := o.(counter); ok {
		return c
	}
	return stepwise{next: func(after time.Time) time.Time {
		t, _ := o.Next(after)
		return t
	}, begin: interval.Clamp(begin)}
}
