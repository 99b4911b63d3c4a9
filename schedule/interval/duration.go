package interval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A step is a duration. Its parts are added in this order.
type step struct {
	months int64
	days   int64
	exact  time.Duration
}

// A step's calendar parts go no further than the calendar.
const (
	maxMonths = 10_000 * 12
	maxDays   = 3_652_425
)

const day = 24 * time.Hour

// A unit of a duration is an amount of a part of a step.
type unit struct {
	letter byte
	months int64
	days   int64
	exact  time.Duration // what a fraction is of, in weeks and days too
}

// The units before the T, and behind it.
var (
	dateUnits  = []unit{{'Y', 12, 0, 0}, {'M', 1, 0, 0}, {'W', 0, 7, 7 * day}, {'D', 0, 1, day}}
	clockUnits = []unit{{'H', 0, 0, time.Hour}, {'M', 0, 0, time.Minute}, {'S', 0, 0, time.Second}}
)

// duration reads a duration, up to a slash or the end.
func (p *parser) duration() (s step) {
	begin, units, clock := p.pos, dateUnits, false
	p.expect("P", "a duration such as P1D or PT1H")
	for first := true; p.err == nil && (first || !p.done()); first = false {
		if !clock && p.take("T") {
			units, clock = clockUnits, true
		}
		units = p.element(&s, units, letters(units, clock))
	}
	if s == (step{}) {
		p.fail(begin, p.pos, "a duration longer than 0")
	}
	return s
}

// element adds a number with its unit, which must be one of the units, to a step. It returns the
// units that may follow.
func (p *parser) element(s *step, units []unit, letters string) []unit {
	if len(units) == 0 {
		p.failPart(letters)
	}
	start := p.pos
	digits := p.digits()
	if digits == "" {
		p.failPart("a number and a unit: " + letters)
	}
	point := p.pos
	decimals := p.decimals()
	end := p.pos
	n := slices.IndexFunc(units, func(u unit) bool { return u.letter == p.next() })
	switch {
	case n < 0 && p.done():
		p.fail(start, end, "a unit behind the number: "+letters)
	case n < 0:
		_, width := utf8.DecodeRuneInString(p.text[end:])
		p.fail(end, end+width, letters)
	case end > point && units[n].months > 0:
		p.fail(point, end, "a whole number of years or months")
	case end > point && end+1 < p.end():
		p.fail(point, end, "a fraction in the last unit only")
	}
	if p.err != nil {
		return nil
	}
	p.pos++
	fraction, ok := exactly(decimals, units[n].exact)
	if !ok {
		p.fail(point, end, "a fraction that comes to whole nanoseconds")
	}
	if count, err := strconv.ParseInt(digits, 10, 64); err != nil || !s.add(count, units[n], fraction) {
		p.fail(start, p.pos, units[n].limit())
	}
	return units[n+1:]
}

// letters lists the units that may follow.
func letters(units []unit, clock bool) string {
	text := "the end"
	for n, u := range units {
		switch n {
		case 0:
			text = string(u.letter)
		case len(units) - 1:
			text += " or " + string(u.letter)
		default:
			text += ", " + string(u.letter)
		}
	}
	if !clock {
		text += ", or H, M or S behind a T"
	}
	return text
}

// add adds n units and a fraction of one, unless that is more than a step holds.
func (s *step) add(n int64, u unit, fraction int64) bool {
	room := int64(math.MaxInt64-s.exact) - fraction // positive: the larger units leave more than one of u
	switch {
	case u.months > 0:
		s.months += u.months * min(n, maxMonths+1)
	case u.days > 0:
		s.days += u.days * min(n, maxDays+1)
	case n > room/int64(u.exact):
		return false
	default:
		s.exact += time.Duration(n) * u.exact
	}
	s.exact += time.Duration(fraction)
	return s.months <= maxMonths && s.days <= maxDays
}

// limit is how much of a unit a step can hold.
func (u unit) limit() string {
	if u.months == 0 && u.days == 0 {
		return "less than 292 years of hours, minutes and seconds"
	}
	return "at most 10000 years"
}

func (s step) String() string {
	var b strings.Builder
	unit := func(n int64, letter string) {
		if n != 0 {
			b.WriteString(strconv.FormatInt(n, 10) + letter)
		}
	}
	b.WriteByte('P')
	unit(s.months/12, "Y")
	unit(s.months%12, "M")
	if s.days%7 == 0 {
		unit(s.days/7, "W")
	} else {
		unit(s.days, "D")
	}
	if s.exact != 0 {
		b.WriteByte('T')
		unit(int64(s.exact/time.Hour), "H")
		unit(int64(s.exact%time.Hour/time.Minute), "M")
		if seconds := s.exact % time.Minute; seconds != 0 {
			fraction := strings.TrimRight(fmt.Sprintf(".%09d", seconds%time.Second), ".0")
			b.WriteString(strconv.FormatInt(int64(seconds/time.Second), 10) + fraction + "S")
		}
	}
	return b.String()
}

// calendar reports whether the step depends on a calendar and a zone.
func (s step) calendar() bool { return s.months != 0 || s.days != 0 }
