package schedule

import (
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
	if t.IsZero() || !t.After(after) || !t.Equal(interval.Clamp(t)) {
		return time.Time{}, false
	}
	return interval.Clamp(t), true
}

// Count returns the number of occurrences in a span, at most a million.
func (s stepwise) Count(in interval.Span) (n int64) {
	t, ok := s.Next(in.After)
	for ; ok && (in.Until.IsZero() || !t.After(in.Until)) && n < mostCounted; n++ {
		t, ok = s.Next(t)
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
	for from, window := until, time.Second; !ok; window = min(2*window, 1<<61) {
		if from.Before(s.since) {
			return time.Time{}, false
		}
		from = from.Add(-window)
		last, ok = after(from)
	}
	end := until // no occurrence is later
	for next, more := after(last); more; next, more = after(last) {
		middle := next.Add(end.Sub(next) / 2)
		if last, ok = after(middle); !ok {
			last, end = next, middle
		}
	}
	return last, true
}
