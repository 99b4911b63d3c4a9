package interval

import (
	"fmt"
	"math/bits"
	"time"
)

// Occurrences are the occurrences of an interval for one creation time and zone. They
// strictly increase and are in UTC. The zero value has none.
type Occurrences struct {
	step  step
	base  time.Time // the start; or the end, if steps are counted back from it
	wall  time.Time // the base on the clocks of the zone, as if it were UTC
	zone  *time.Location
	first int64 // the first step that is not before the creation
	end   int64 // the step after the last
}

// Occurrences returns the interval's occurrences at or after the creation, in a zone.
// A nil zone is UTC. The zone governs a time of day without an offset, and calendar
// steps.
//
// A zero creation time excludes nothing. Then an interval whose start depends on the
// creation is an error: R//PT1H and R/T02:00:00/P1D have no first occurrence.
func (i Interval) Occurrences(created time.Time, zone *time.Location) (Occurrences, error) {
	if !i.set {
		return Occurrences{}, nil
	}
	if created.IsZero() && i.start.kind != dateTime {
		return Occurrences{}, fmt.Errorf("interval %s: its start depends on the creation time, which is zero; pass a creation time, or use a date and time as the start", i)
	}
	if zone == nil {
		zone = time.UTC
	}
	created = Clamp(created)
	o := Occurrences{step: i.step, zone: zone}
	o.base, o.wall = i.start.from(created, zone)
	if n := min(i.times, o.step.limit()); i.ends {
		o.first = -n
	} else {
		o.end = n
	}
	o.end = o.after(lastMoment)
	o.first = o.after(created.Add(-1))
	return o, nil
}

// instant returns base + k durations.
func (o *Occurrences) instant(k int64) time.Time {
	t := o.base
	if k != 0 && o.step.calendar() {
		t = timeOf(o.zone, addDate(o.wall, o.step.months*k, o.step.days*k))
	}
	sign := int64(1)
	if k < 0 {
		sign = -1
	}
	high, low := bits.Mul64(uint64(sign*k), uint64(o.step.exact))
	seconds, nanos := bits.Div64(high, low, uint64(time.Second))
	return time.Unix(t.Unix()+sign*int64(seconds), int64(t.Nanosecond())+sign*int64(nanos)).UTC()
}

// after returns the first step whose time is after t, or the end.
func (o *Occurrences) after(t time.Time) int64 {
	low, high := o.first, o.end
	for low < high {
		if middle := low + (high-low)/2; o.instant(middle).After(t) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// A Span is the time after After, up to and including Until. A zero After is 0001-01-01. A zero Until means
// without end. If Until is neither zero nor later than After, the span is empty.
type Span struct {
	After time.Time
	Until time.Time
}

// steps returns the first step in a span and the step behind the span.
func (o *Occurrences) steps(in Span) (first, end int64) {
	end = o.end
	if !in.Until.IsZero() {
		end = o.after(in.Until)
	}
	return min(o.after(in.After), end), end
}

// Next returns the first occurrence later than a time, and false if there is none.
// An occurrence at exactly that time is excluded: with an empty start, the first
// occurrence is Next(created.Add(-1)). The zero time is
// 0001-01-01: earlier occurrences are left out.
func (o Occurrences) Next(after time.Time) (time.Time, bool) {
	k := o.after(after)
	if k >= o.end {
		return time.Time{}, false
	}
	return o.instant(k), true
}

// Count returns the number of occurrences in the span.
func (o Occurrences) Count(in Span) int64 {
	first, end := o.steps(in)
	return end - first - o.skipped(first, end)
}

// Last returns the last occurrence that is not later than a time, and false if there is none.
func (o Occurrences) Last(until time.Time) (time.Time, bool) {
	k := o.after(until) - 1
	if k < o.first {
		return time.Time{}, false
	}
	return o.instant(k), true
}

// skipped returns how many steps after one, and before another, end when the step before does. With
// steps of one day, this happens if a zone skips a day. It compares times that are ten years
// apart. No zone crosses the date line twice within them.
func (o *Occurrences) skipped(first, end int64) (n int64) {
	if o.step != (step{days: 1}) {
		return 0
	}
	const tenYears = 3652
	for start := o.instant(first); first < end-1; {
		next := min(first+tenYears, end-1)
		later := o.instant(next)
		if later.Sub(start) < time.Duration(next-first)*day-day/2 {
			n++
		}
		first, start = next, later
	}
	return n
}

// limit returns a number of steps that leads beyond the calendar, by at least its length. It is
// at most 2^62, which leads less far for steps below about 140 nanoseconds.
func (s step) limit() int64 {
	days := float64(28*s.months+s.days) + s.exact.Hours()/24 // of the shortest months
	return int64(min(2*maxDays/days, 1<<62))
}
