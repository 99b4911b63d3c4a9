package schedule

import (
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A Schedule defines when runs are due. [ISO8601] returns the Schedule of a repeating interval; a
// cron expression can be another.
type Schedule interface {
	// String identifies the schedule. A job whose schedule has another text starts
	// anew, by rule 1 of the package comment.
	String() string
	// From returns the occurrences of a job that has the schedule from a time on.
	// None is before that time.
	From(time.Time) Occurrences
}

// Occurrences are the times at which runs are due. They strictly increase. Occurrences that are
// a [Counter], too, are faster after a long outage.
type Occurrences interface {
	// Next returns the first occurrence later than a time, and false if there is none.
	Next(after time.Time) (time.Time, bool)
}

// A Counter counts occurrences without a call of Next for each. Those of an interval are counted
// in constant time.
type Counter interface {
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

func (r repeating) String() string {
	return strings.TrimSuffix(r.interval.String()+" "+r.zone.String(), " UTC")
}

func (r repeating) From(since time.Time) Occurrences {
	o, _ := r.interval.Occurrences(latest(since, beginning), r.zone) // it fails only for the zero time
	return o
}

// occurrences returns the occurrences of a schedule; without a schedule there are none.
func occurrences(s Schedule, since time.Time) Counter {
	if s == nil {
		return interval.Occurrences{}
	}
	o := s.From(since)
	if c, ok := o.(Counter); ok {
		return c
	}
	return stepwise{next: func(after time.Time) time.Time {
		t, _ := o.Next(after)
		return t
	}, since: interval.Clamp(since)}
}
