package schedule

import (
	"iter"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// mostCounted is the most occurrences that a schedule of FromNext counts in a span.
const mostCounted = 1_000_000

// FromNext returns a schedule of a function that computes one occurrence after another,
// such as a cron expression. text identifies the schedule. next returns the first
// occurrence later than a time, or the zero time if there is none. Equal arguments must
// give equal results.
//
// Counting takes one call of next for each occurrence. At most 1,000,000 occurrences
// are counted in one span. More count as 1,000,000: after an outage of years, the
// number of missed runs is too low.
func FromNext(text string, next func(after time.Time) time.Time) Schedule {
	return stepwise{text: text, next: next}
}

// A stepwise is both the schedule and, with a start, its occurrences.
type stepwise struct {
	text  string
	next  func(time.Time) time.Time
	since time.Time
}

// lastMoment is the end of the year 9999.
var lastMoment = interval.Clamp(time.Unix(1<<40, 0))

// String returns the text of the schedule.
func (s stepwise) String() string { return s.text }

// From returns the occurrences from a time on.
func (s stepwise) From(since time.Time) Occurrences {
	s.since = interval.Clamp(since)
	return s
}

// Next returns the first occurrence later than a time.
func (s stepwise) Next(after time.Time) (time.Time, bool) {
	after = latest(interval.Clamp(after), s.since.Add(-1))
	t := s.next(after)
	if t.IsZero() || !t.After(after) || t.After(lastMoment) {
		return time.Time{}, false
	}
	return interval.Clamp(t), true
}

// within returns the occurrences in a span, earliest first.
func (s stepwise) within(in interval.Span) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		t, ok := s.Next(in.After)
		for ok && (in.Until.IsZero() || !t.After(in.Until)) && yield(t) {
			t, ok = s.Next(t)
		}
	}
}

// Count returns the number of occurrences in a span, at most a million.
func (s stepwise) Count(in interval.Span) (n int64) {
	for range s.within(in) {
		if n++; n == mostCounted {
			break
		}
	}
	return n
}

// Backward returns the occurrences in a span, latest first. It goes back in windows,
// which are longer where there are few occurrences.
func (s stepwise) Backward(in interval.Span) iter.Seq[time.Time] {
	const many = 1000
	return func(yield func(time.Time) bool) {
		begin, end := latest(interval.Clamp(in.After), s.since.Add(-1)), lastMoment
		if !in.Until.IsZero() {
			end = interval.Clamp(in.Until)
		}
		for window := time.Hour; end.After(begin); {
			from := latest(begin, end.Add(-window))
			var found []time.Time
			for t := range s.within(interval.Span{After: from, Until: end}) {
				if found = append(found, t); len(found) > many {
					break
				}
			}
			if len(found) > many {
				window /= 16
				continue
			}
			for _, t := range slices.Backward(found) {
				if !yield(t) {
					return
				}
			}
			end = from
			window = 2 * min(window, 1<<61) // about 146 years at most
		}
	}
}
