// Package interval reads ISO 8601 repeating intervals and computes their
// occurrences. It needs the standard library only.
//
//	every, err := interval.Parse("R5/2026-01-01T02:00:00Z/P1D")
//	occurrences, err := every.Occurrences(created, time.UTC)
//	next, ok := occurrences.Next(time.Now())
//
// # Notation
//
// A repeating interval has three parts, separated by slashes.
//
//	R[n]/[start]/duration   the first repetition begins at the start
//	R[n]/start/end          the same; the duration is the exact time between both
//	R[n]/duration/end       the last repetition ends at the end
//
// An occurrence is the start of a repetition. R[n] has n, from 0 to the largest int64.
// Without n, the first two forms never end, and the third form has no first occurrence.
//
// A date and time is written 2026-01-01T02:00:00Z. Z may be an offset such as +02:00 or
// +02. Seconds may be absent, or have a fraction of up to nine digits after a point or
// comma. 24:00 is the end of the day. A time of day is written T02:00, and its offset is
// optional.
//
// A duration is P[nY][nM][nW][nD][T[nH][nM][nS]], longer than 0. The last unit may have a
// fraction, except for years and months; the sum must be whole nanoseconds. Years to days
// are at most 10,000 years. Hours to seconds, and the time from start to end, are at most
// 2^63-1 nanoseconds, which is 292 years.
//
// The basic format (20260101T020000Z), week dates and ordinal dates are errors.
//
// # Start
//
// The start is one of these:
//
//   - A date and time with an offset.
//   - A time of day with an offset: the first such time at or after the creation.
//   - A time of day without an offset: the same, on the clocks of the zone.
//   - Nothing: the creation.
//
// The creation is an argument of [Interval.Occurrences]. Occurrences before the
// creation are left out, and they count as repetitions of R[n].
//
// # Duration
//
// Durations are counted from the start, never from the occurrence before. So 31
// January with P1M continues with 28 February and 31 March. Years and months are
// added first, then weeks and days, then hours to seconds. The third form subtracts
// from its end in the same order.
//
// Years, months, weeks and days keep the time on the clocks of the zone. Hours,
// minutes and seconds are exact, and so is a fraction of a week or day. These rules
// hold when clocks change:
//
//   - A local time that clocks skip moves forward by as much as the clocks do. The next
//     occurrence is back at its local time.
//   - A local time that clocks show twice is the first of the two. A start with an
//     offset can name the second.
//   - A day that a zone skips has no occurrence of its own. Occurrences strictly
//     increase.
//
// Occurrences end with the year 9999, and after at most 2^62 repetitions. A duration of
// at most 68 nanoseconds can reach that number first: R/1970-01-01T00:00:00Z/PT0.000000001S
// ends in 2116.
//
// # Cost
//
// Finding the next occurrence, or counting occurrences, takes a bounded number of
// steps and no memory, for ten occurrences as for ten billion.
package interval

import "strconv"

// An Interval is an ISO 8601 repeating interval. The zero value has no occurrences
// and prints as "". Intervals can be compared with ==. Equal intervals have the same
// occurrences; a start written with another offset makes a different interval.
type Interval struct {
	set       bool
	unbounded bool
	times     int64 // not negative; math.MaxInt64 if unbounded
	start     start // or the end, if ends is true
	ends      bool
	step      step
}

// String returns the interval in a canonical spelling. [Parse] reads an equal
// interval from it. Units are carried: P12M becomes P1Y, P14D becomes P2W, PT90M
// becomes PT1H30M. Days and hours never become one another. A fraction of a week or
// day is in hours, R/start/end becomes R/start/duration, and UTC is Z.
func (i Interval) String() string {
	if !i.set {
		return ""
	}
	if i.ends {
		return i.count() + "/" + i.step.String() + "/" + i.start.String()
	}
	return i.count() + "/" + i.start.String() + "/" + i.step.String()
}

func (i Interval) count() string {
	if i.unbounded {
		return "R"
	}
	return "R" + strconv.FormatInt(i.times, 10)
}

// Identity returns a text that two intervals share if they have the same start and duration,
// whatever their numbers of repetitions and offsets. The start of R[n]/duration/end follows from the
// number and the end, so these are part of the text.
func (i Interval) Identity() string {
	i.start = i.start.inUTC()
	if !i.ends {
		i.unbounded = true
	}
	return i.String()
}
