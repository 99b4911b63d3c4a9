package schedule

import (
	"time"

	"github.com/scaledjob/scaledjob/schedule/interval"
)

// maxCounted is the greatest number of occurrences that a schedule of FromNext counts in a span.
const maxCounted = 1_000_000

// FromNext returns a schedule of a function that computes one occurrence after another,
// such as a cron expression, in a zone; nil is UTC. text is the expression. Schedules with one
// identity, which includes the zone, have the same occurrences. next returns the first occurrence later
// than a time, or the zero time if there is none, as which any other time counts that is not later. It must not
// be nil, and equal arguments must give equal results.
//
// Counting takes one call of next for each occurrence. At most 1,000,000 occurrences
// are counted in one span. More count as 1,000,000: after an outage of years, the
// number of missed runs is too low.
func FromNext(text, identity string, zone *time.Location, next func(after time.Time) time.Time) Schedule {
	if zone == nil {
		zone = time.UTC
	}
	return stepwise{text: text, identity: identity + " " + zone.String(), zone: zone, next: next}
}

// A stepwise is both the schedule and, with a begin, its occurrences.
type stepwise struct {
	text, identity string
	zone           *time.Location
	next           func(time.Time) time.Time
	begin          time.Time
}

// String returns the expression and the zone.
func (s stepwise) String() string { return inWords(s.text, s.zone) }

// Identity returns the identity of the expression, and the zone.
func (s stepwise) Identity() string { return s.identity }

// Zone returns the zone of the occurrences.
func (s stepwise) Zone() *time.Location { return s.zone }

// From returns the occurrences from a time on.
func (s stepwise) From(begin time.Time) Occurrences {
	s.begin = interval.Clamp(begin)
	return s
}

// Next returns the first occurrence later than a time.
func (s stepwise) Next(after time.Time) (time.Time, bool) {
	after = latest(interval.Clamp(after), s.begin.Add(-1))
	t := s.next(after)
	isLater := !t.IsZero() && t.After(after)
	if !isLater || !t.Equal(interval.Clamp(t)) {
		return time.Time{}, false
	}
	return interval.Clamp(t), true
}

// Count returns the number of occurrences in a span, at most a million.
func (s stepwise) Count(in interval.Span) int64 { return s.countUpTo(in, maxCounted) }

func (s stepwise) countUpTo(in interval.Span, limit int64) (n int64) {
	limit = min(limit, maxCounted)
	t, ok := s.Next(in.After)
	for ; ok && n < limit; t, ok = s.Next(t) {
		if !in.Until.IsZero() && t.After(in.Until) {
			break
		}
		n++
	}
	return n
}

// Last returns the last occurrence that is not later than a time. It searches backward in windows,
// each twice as long as the one after it, and bisects the first window that has an occurrence.
func (s stepwise) Last(until time.Time) (last time.Time, ok bool) {
	until = interval.Clamp(until)
	after := func(t time.Time) (time.Time, bool) {
		next, ok := s.Next(t)
		return next, ok && !next.After(until)
	}
	for start, window := until, time.Second; !ok; window = min(2*window, 1<<61) {
		if start.Before(s.begin) {
			return time.Time{}, false
		}
		start = start.Add(-window)
		last, ok = after(start)
	}
	end := until // no occurrence is later
	for next, found := after(last); found; next, found = after(last) {
		middle := next.Add(end.Sub(next) / 2)
		if last, ok = after(middle); !ok {
			last, end = next, middle
		}
	}
	return last, true
}
