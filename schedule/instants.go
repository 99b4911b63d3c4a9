package schedule

import (
	"iter"
	"math"
	"math/bits"
	"sort"
	"time"
)

// Instants are those of an interval for a job. They strictly increase, and are in
// UTC. The zero value has none.
type Instants struct {
	step  step
	start time.Time // instant 0
	wall  time.Time // what a clock in the zone shows at the start, as if it were UTC
	zone  *time.Location
	first int64 // the first that is not before the job
	n     int64 // how many there are, those before the job included
}

// Instants returns the interval's instants for a job that was created then, in a
// zone; nil is UTC. The zone keeps the wall clock of calendar steps; it has no say
// in what the start is. A change of its clocks by more than a day, which no zone on
// earth has made, would put some instants in the wrong order.
func (i Interval) Instants(created time.Time, zone *time.Location) Instants {
	if zone == nil {
		zone = time.UTC
	}
	created = moment(created)
	start := i.start.after(created)
	s := Instants{step: i.step, start: start, wall: clockIn(zone, start), zone: zone}
	if i.set {
		s.n = min(i.times, s.reach())
		s.n = s.index(lastInstant)
		s.first = s.index(created.Add(-1))
	}
	return s
}

// reach is more steps than the calendar has room for, and few enough that each
// can be computed.
func (s *Instants) reach() int64 {
	if s.start.After(lastInstant) {
		return 0
	}
	n := int64(math.MaxInt64)
	if m := s.step.months; m > 0 {
		n = min(n, (int64(lastInstant.Year()-s.wall.Year())*12+11)/m+2)
	}
	if d := s.step.days; d > 0 {
		n = min(n, (lastInstant.Unix()-s.wall.Unix())/(24*60*60)/d+2)
	}
	if s.step.exact > 0 {
		n = min(n, s.exactSteps(lastInstant)+1)
	}
	return max(0, n)
}

// at returns the instant start + k durations.
func (s *Instants) at(k int64) time.Time {
	t := s.start
	if k > 0 && s.step.calendar() {
		t = instantOf(s.zone, addDate(s.wall, s.step.months*k, s.step.days*k))
	}
	high, low := bits.Mul64(uint64(k), uint64(s.step.exact))
	seconds, nanos := bits.Div64(high, low, uint64(time.Second))
	return time.Unix(t.Unix()+int64(seconds), int64(t.Nanosecond())+int64(nanos)).UTC()
}

// exactSteps is how many steps fit between the start and t, which is not before
// it, where only the exact part counts.
func (s *Instants) exactSteps(t time.Time) int64 {
	seconds, nanos := t.Unix()-s.start.Unix(), int64(t.Nanosecond()-s.start.Nanosecond())
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+int64(time.Second)
	}
	high, low := bits.Mul64(uint64(seconds), uint64(time.Second))
	low, carry := bits.Add64(low, uint64(nanos), 0)
	high += carry
	if high >= uint64(s.step.exact) {
		return math.MaxInt64 - 1
	}
	n, _ := bits.Div64(high, low, uint64(s.step.exact))
	return int64(min(n, math.MaxInt64-1))
}

// index is how many instants are at or before t.
func (s *Instants) index(t time.Time) int64 {
	switch {
	case s.n == 0 || t.Before(s.start):
		return 0
	case !s.step.calendar():
		return min(s.n, s.exactSteps(moment(t))+1)
	}
	t = moment(t)
	// The calendar and the clocks put instants at most a few days off the mean,
	// and calendar steps are a day at least.
	const off = 4
	near := int64(float64(t.Unix()-s.start.Unix()) / s.step.mean())
	low := min(max(0, near-off), s.n)
	return low + int64(sort.Search(int(min(near+off, s.n)-low), func(k int) bool {
		return s.at(low + int64(k)).After(t)
	}))
}

// A Span is the time after After up to and including Until. It is empty if Until
// is not later.
type Span struct {
	After time.Time
	Until time.Time
}

// bounds returns the indexes of the first instant in a span and of the first
// behind it.
func (s *Instants) bounds(in Span) (from, to int64) {
	from, to = max(s.first, s.index(in.After)), s.index(in.Until)
	return min(from, to), to
}

// Next returns the first instant after one, and false where there is none.
func (s Instants) Next(after time.Time) (time.Time, bool) {
	k := max(s.first, s.index(after))
	if k >= s.n {
		return time.Time{}, false
	}
	return s.at(k), true
}

// Last returns the last instant that is not after one, and false where there is
// none.
func (s Instants) Last(until time.Time) (time.Time, bool) {
	k := s.index(until) - 1
	if k < s.first {
		return time.Time{}, false
	}
	return s.at(k), true
}

// Count returns how many instants are in the span.
func (s Instants) Count(in Span) int64 {
	from, to := s.bounds(in)
	return to - from - s.skipped(from, to)
}

// All returns the instants in the span, earliest first.
func (s Instants) All(in Span) iter.Seq[time.Time] {
	from, to := s.bounds(in)
	return func(yield func(time.Time) bool) {
		for k := from; k < to; k++ {
			if !s.repeats(k) && !yield(s.at(k)) {
				return
			}
		}
	}
}

// Backward returns the instants in the span, latest first.
func (s Instants) Backward(in Span) iter.Seq[time.Time] {
	from, to := s.bounds(in)
	return func(yield func(time.Time) bool) {
		for k := to - 1; k >= from; k-- {
			if !s.repeats(k) && !yield(s.at(k)) {
				return
			}
		}
	}
}

// daily reports whether a zone that skips a day makes two steps end at one
// instant.
func (s *Instants) daily() bool { return s.step == step{days: 1} }

// repeats reports whether instant k is the one before it again.
func (s *Instants) repeats(k int64) bool {
	return k > 0 && s.daily() && !s.at(k).After(s.at(k-1))
}

// skipped is how many of the instants from one index up to another repeat the
// one before them, one for each day that the zone's clocks skip.
func (s *Instants) skipped(from, to int64) int64 {
	if !s.daily() || from >= to {
		return 0
	}
	n := int64(0)
	for t := range skips(s.zone, Span{After: s.at(from).Add(-day), Until: s.at(to - 1)}) {
		if k := s.index(t.Add(-1)) + 1; k > from && k < to && s.repeats(k) {
			n++
		}
	}
	return n
}
