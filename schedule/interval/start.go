package interval

import (
	"math"
	"time"
)

// A start is where an interval begins, or where it ends.
type start struct {
	kind   startKind
	local  bool  // a time of day on the clocks of the zone; the offset is 0
	clock  int64 // seconds on the clock: since 1970, or since midnight
	nanos  int64 // 0 to 999,999,999
	offset int64 // seconds east of UTC
}

type startKind uint8

const (
	atCreation startKind = iota // no start is given
	timeOfDay
	dateTime
)

// from returns the start for a creation time, and what the clocks of the zone show
// or, in a gap, should show then.
func (s start) from(created time.Time, zone *time.Location) (t, wall time.Time) {
	switch {
	case s.kind == dateTime:
		created = s.time()
	case s.local:
		return s.timeOfDay(created, zone)
	case s.kind == timeOfDay:
		created, _ = s.timeOfDay(created, time.FixedZone("", int(s.offset)))
	}
	return created, clockIn(zone, created)
}

// time returns the start of a date and time; of a time of day, that on 1 January 1970.
func (s start) time() time.Time { return time.Unix(s.clock-s.offset, s.nanos).UTC() }

// inUTC returns the same start without an offset.
func (s start) inUTC() start {
	s.clock, s.offset = s.clock-s.offset, 0
	if s.kind == timeOfDay {
		s.clock = (s.clock + 24*3600) % (24 * 3600)
	}
	return s
}

// timeOfDay returns the first such time in a zone that is not before the creation.
func (s start) timeOfDay(created time.Time, zone *time.Location) (t, wall time.Time) {
	midnight := clockIn(zone, created).Truncate(day)
	for days := -1; ; days++ {
		wall = midnight.AddDate(0, 0, days).Add(time.Duration(s.clock)*time.Second + time.Duration(s.nanos))
		if t = timeOf(zone, wall); !t.Before(created) {
			return t, wall
		}
	}
}

// begin reads the second part: a start, which may be empty, or a duration.
func (p *parser) begin(i *Interval) {
	if i.ends = p.next() == 'P'; i.ends {
		i.step = p.duration()
		p.expect("/", "/ and an end such as 2026-01-01T02:00:00Z")
		return
	}
	i.start = p.moment()
	p.expect("/", "/ and a duration")
}

// finish reads the third part: a duration or an end.
func (p *parser) finish(i *Interval) {
	if !i.ends && (!p.atDigit() || i.start.kind != dateTime) {
		i.step = p.duration()
		return
	}
	begin := p.pos
	if !p.atDigit() {
		p.failPart("an end such as 2026-01-01T02:00:00Z")
	}
	end := p.moment()
	unlikeEnd := p.err != nil && !i.ends
	if err := p.err; unlikeEnd && err.Offset < begin+5 {
		err.Want = "a duration such as P1D or PT1H, or an end such as 2026-01-01T02:00:00Z"
	}
	switch between := end.time().Sub(i.start.time()); {
	case i.ends:
		i.start = end
	case between <= 0:
		p.fail(begin, p.pos, "an end later than the start")
	case between == math.MaxInt64:
		p.fail(begin, p.pos, "an end less than 292 years after the start")
	default:
		i.step.exact = between
	}
}

// moment reads a start, which may be empty.
func (p *parser) moment() (s start) {
	if p.next() == '/' {
		return s
	}
	begin, want := p.pos, "a date and time such as 2026-01-01T02:00:00Z, a time of day such as T02:00:00, or nothing"
	s.kind = timeOfDay
	if p.atDigit() {
		s.kind, s.clock, want = dateTime, p.date(), "T and a time of day"
	}
	p.expect("T", want)
	p.clock(&s)
	if s.kind == dateTime && s.clock >= lastMoment.Unix()+1 {
		p.fail(begin, p.pos, "a time before the year 10000")
	}
	p.offset(&s)
	return s
}

// date returns the seconds since 1970 until a date begins.
func (p *parser) date() int64 {
	year := p.field(4, 0, 9999, "a year")
	p.expect("-", "- and a month")
	month := p.field(2, 1, 12, "a month")
	p.expect("-", "- and a day")
	first := time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)
	date := p.field(2, 1, daysIn(first), "a day of "+first.Format("January 2006"))
	return first.AddDate(0, 0, date-1).Unix()
}

// clock reads hours and minutes, and seconds if they are given. The end of a day is
// the begin of the next day.
func (p *parser) clock(s *start) {
	begin := p.pos
	hour := p.field(2, 0, 24, "an hour")
	p.expect(":", ": and minutes")
	minute, second := p.field(2, 0, 59, "minutes"), 0
	if p.take(":") {
		second = p.field(2, 0, 59, "seconds")
		point := p.pos
		nanos, ok := exactly(p.decimals(), time.Second)
		if s.nanos = nanos; !ok {
			p.fail(point, p.pos, "at most nine decimals")
		}
	}
	seconds := int64(hour*3600 + minute*60 + second)
	if hour == 24 && (seconds > 24*3600 || s.nanos > 0) {
		p.fail(begin, p.pos, "a time up to 24:00:00")
	}
	if s.kind == timeOfDay {
		seconds %= 24 * 3600
	}
	s.clock += seconds
}

func (p *parser) offset(s *start) {
	begin, sign := p.pos, p.next()
	switch {
	case p.take("Z"):
		return
	case p.take("+-"):
	case s.kind == timeOfDay && sign == '/':
		s.local = true
		return
	default:
		p.failPart("Z or an offset such as +02:00")
	}
	hours, minutes := p.field(2, 0, 23, "hours of an offset"), 0
	if p.take(":") {
		minutes = p.field(2, 0, 59, "minutes of an offset")
	}
	s.offset = int64(hours*3600 + minutes*60)
	if sign == '-' {
		if s.offset == 0 {
			p.fail(begin, p.pos, "Z or +00:00, as zero has no minus")
		}
		s.offset = -s.offset
	}
}

func (s start) String() string {
	layout := []string{"", "T15:04:05.999999999", "2006-01-02T15:04:05.999999999"}[s.kind]
	if s.kind != atCreation && !s.local {
		layout += "Z07:00"
	}
	return s.time().In(time.FixedZone("", int(s.offset))).Format(layout)
}
