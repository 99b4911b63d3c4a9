package interval

import (
	"fmt"
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

// time returns the start of a date and time.
func (s start) time() time.Time { return time.Unix(s.clock-s.offset, s.nanos).UTC() }

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
func (p *parser) begin(i *Interval) *ParseError {
	if p.next() == 'P' {
		i.ends = true
		if err := p.duration(i); err != nil {
			return err
		}
		if !p.take("/") {
			return p.here("/ and an end such as 2026-01-01T02:00:00Z")
		}
		return nil
	}
	if err := p.moment(&i.start); err != nil {
		return err
	}
	if !p.take("/") {
		return p.here("/ and a duration")
	}
	return nil
}

// finish reads the third part: a duration or an end.
func (p *parser) finish(i *Interval) *ParseError {
	if first := p.next(); !i.ends && (first < '0' || first > '9' || i.start.kind != dateTime) {
		if err := p.duration(i); err != nil || p.pos == len(p.text) {
			return err
		}
		return p.here("the end")
	}
	at := p.pos
	if first := p.next(); first < '0' || first > '9' {
		return p.here("an end such as 2026-01-01T02:00:00Z")
	}
	var end start
	if err := p.moment(&end); err != nil {
		if !i.ends && err.Offset < at+5 {
			err.Want = "a duration such as P1D or PT1H, or an end such as 2026-01-01T02:00:00Z"
		}
		return err
	}
	switch between := end.time().Sub(i.start.time()); {
	case p.pos < len(p.text):
		return p.here("the end")
	case i.ends:
		i.start = end
	case between <= 0:
		return p.fail(at, p.pos, "an end later than the start")
	case between == math.MaxInt64:
		return p.fail(at, p.pos, "an end less than 292 years after the start")
	default:
		i.step.exact = between
	}
	return nil
}

// moment reads a start, which may be empty.
func (p *parser) moment(s *start) *ParseError {
	if p.next() == '/' {
		return nil
	}
	at := p.pos
	s.kind = timeOfDay
	if first := p.next(); first >= '0' && first <= '9' {
		s.kind = dateTime
		if err := p.date(s); err != nil {
			return err
		}
	}
	if !p.take("T") {
		if s.kind == dateTime {
			return p.here("T and a time of day")
		}
		return p.here("a date and time such as 2026-01-01T02:00:00Z, a time of day such as T02:00:00, or nothing")
	}
	if err := p.clock(s); err != nil {
		return err
	}
	if s.kind == dateTime && s.clock >= lastMoment.Unix()+1 {
		return p.fail(at, p.pos, "a time before the year 10000")
	}
	return p.offset(s)
}

func (p *parser) date(s *start) *ParseError {
	year, err := p.field(4, 0, 9999, "a year")
	if err == nil {
		err = p.sign("-", "a month")
	}
	if err != nil {
		return err
	}
	month, err := p.field(2, 1, 12, "a month")
	if err == nil {
		err = p.sign("-", "a day")
	}
	if err != nil {
		return err
	}
	first := time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)
	date, err := p.field(2, 1, daysIn(first), "a day of "+first.Format("January 2006"))
	s.clock = first.AddDate(0, 0, date-1).Unix()
	return err
}

// clock reads hours and minutes, and seconds if they are given. The end of a day is
// the begin of the next day.
func (p *parser) clock(s *start) *ParseError {
	at := p.pos
	hour, err := p.field(2, 0, 24, "an hour")
	if err == nil {
		err = p.sign(":", "minutes")
	}
	if err != nil {
		return err
	}
	minute, err := p.field(2, 0, 59, "minutes")
	if err != nil {
		return err
	}
	second := 0
	if p.take(":") {
		if second, err = p.field(2, 0, 59, "seconds"); err != nil {
			return err
		}
		if err := p.nanos(s); err != nil {
			return err
		}
	}
	seconds := int64(hour)*3600 + int64(minute)*60 + int64(second)
	if hour == 24 && (seconds > 24*3600 || s.nanos > 0) {
		return p.fail(at, p.pos, "a time up to 24:00:00")
	}
	if s.kind == timeOfDay {
		seconds %= 24 * 3600
	}
	s.clock += seconds
	return nil
}

func (p *parser) nanos(s *start) *ParseError {
	at := p.pos
	decimals, err := p.decimals()
	if err != nil {
		return err
	}
	nanos, ok := exactly(decimals, time.Second)
	if !ok {
		return p.fail(at, p.pos, "at most nine decimals")
	}
	s.nanos = nanos
	return nil
}

func (p *parser) offset(s *start) *ParseError {
	at := p.pos
	switch {
	case p.take("Z"):
		return nil
	case p.take("+"), p.take("-"):
	case s.kind == timeOfDay && p.next() == '/':
		s.local = true
		return nil
	default:
		return p.here("Z or an offset such as +02:00")
	}
	hours, err := p.field(2, 0, 23, "hours of an offset")
	if err != nil {
		return err
	}
	minutes := 0
	if p.take(":") {
		if minutes, err = p.field(2, 0, 59, "minutes of an offset"); err != nil {
			return err
		}
	}
	s.offset = int64(hours)*3600 + int64(minutes)*60
	if p.text[at] == '-' {
		if s.offset == 0 {
			return p.fail(at, p.pos, "Z or +00:00, as zero has no minus")
		}
		s.offset = -s.offset
	}
	return nil
}

func (s start) String() string {
	t := time.Unix(s.clock, s.nanos).UTC()
	switch {
	case s.local:
		return t.Format("T15:04:05.999999999")
	case s.kind == timeOfDay:
		return t.Format("T15:04:05.999999999") + offsetText(s.offset)
	case s.kind == dateTime:
		return t.Format("2006-01-02T15:04:05.999999999") + offsetText(s.offset)
	}
	return ""
}

func offsetText(seconds int64) string {
	if seconds == 0 {
		return "Z"
	}
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
}
