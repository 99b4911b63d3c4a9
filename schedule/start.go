package schedule

import (
	"fmt"
	"time"
)

// A start is where an interval begins.
type start struct {
	kind   startKind
	clock  int64 // seconds of the wall clock: since 1970, or since midnight
	nanos  int64 // 0 to 999,999,999
	offset int64 // seconds east of UTC
}

type startKind uint8

const (
	atCreation startKind = iota // no start is given
	timeOfDay
	dateTime
)

// after returns the instant of a start for a job that was created then.
func (s start) after(created time.Time) time.Time {
	switch s.kind {
	case dateTime:
		return time.Unix(s.clock-s.offset, s.nanos).UTC()
	case timeOfDay:
		zone := time.FixedZone("", int(s.offset))
		year, month, date := created.In(zone).Date()
		t := time.Date(year, month, date, 0, 0, int(s.clock), int(s.nanos), zone).UTC()
		if t.Before(created) {
			t = t.Add(day)
		}
		return t
	}
	return created
}

func (p *parser) start(i *Interval) *ParseError {
	if err := p.moment(&i.start); err != nil {
		return err
	}
	if !p.take("/") {
		return p.here("/ and a duration")
	}
	return nil
}

// moment reads a start, which may be empty.
func (p *parser) moment(s *start) *ParseError {
	if p.next() == '/' {
		return nil
	}
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
	day, err := p.field(2, 1, daysIn(first), "a day of "+first.Format("January 2006"))
	s.clock = first.AddDate(0, 0, day-1).Unix()
	return err
}

func (p *parser) clock(s *start) *ParseError {
	hour, err := p.field(2, 0, 23, "an hour")
	if err == nil {
		err = p.sign(":", "minutes")
	}
	if err != nil {
		return err
	}
	minute, err := p.field(2, 0, 59, "minutes")
	if err == nil {
		err = p.sign(":", "seconds")
	}
	if err != nil {
		return err
	}
	second, err := p.field(2, 0, 59, "seconds")
	if err != nil {
		return err
	}
	s.clock += int64(hour)*3600 + int64(minute)*60 + int64(second)
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
	switch s.kind {
	case timeOfDay:
		return t.Format("T15:04:05.999999999") + offsetText(s.offset)
	case dateTime:
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
