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
	clock  bool // stands behind the T
	months int64
	days   int64
	exact  time.Duration // what a fraction is of, in weeks and days too
}

var units = []unit{
	{letter: 'Y', months: 12},
	{letter: 'M', months: 1},
	{letter: 'W', days: 7, exact: 7 * day},
	{letter: 'D', days: 1, exact: day},
	{letter: 'H', clock: true, exact: time.Hour},
	{letter: 'M', clock: true, exact: time.Minute},
	{letter: 'S', clock: true, exact: time.Second},
}

// duration reads a duration, up to a slash or the end.
func (p *parser) duration(i *Interval) *ParseError {
	from := p.pos
	if !p.take("P") {
		return p.here("a duration such as P1D or PT1H")
	}
	left, clock := units, false
	for first := true; first || !p.done(); first = false {
		if !clock && p.take("T") {
			clock = true
		}
		var err *ParseError
		if left, err = p.element(&i.step, left, clock); err != nil {
			return err
		}
	}
	if i.step == (step{}) {
		return p.fail(from, p.pos, "a duration longer than 0")
	}
	return nil
}

// element adds a number with its unit, which must be among the units that are left,
// to a step, and returns the units that are left then.
func (p *parser) element(s *step, left []unit, clock bool) ([]unit, *ParseError) {
	if !slices.ContainsFunc(left, func(u unit) bool { return u.clock == clock }) {
		return nil, p.here(letters(left, clock))
	}
	at := p.pos
	whole := p.digits()
	if whole == "" {
		return nil, p.here("a number and a unit: " + letters(left, clock))
	}
	point := p.pos
	decimals, err := p.decimals()
	if err != nil {
		return nil, err
	}
	end := p.pos
	u, left, ok := find(p.next(), left, clock)
	switch {
	case !ok && p.done():
		return nil, p.fail(at, end, "a unit behind the number: "+letters(left, clock))
	case !ok:
		_, width := utf8.DecodeRuneInString(p.text[end:])
		return nil, p.fail(end, end+width, letters(left, clock))
	case end > point && u.months > 0:
		return nil, p.fail(point, end, "a whole number of years or months")
	case end > point && end+1 < p.end():
		return nil, p.fail(point, end, "a fraction in the last unit only")
	}
	p.pos++
	fraction, ok := exactly(decimals, u.exact)
	if !ok {
		return nil, p.fail(point, end, "a fraction that comes to whole nanoseconds")
	}
	if n, err := strconv.ParseInt(whole, 10, 64); err != nil || !s.add(n, u, fraction) {
		return nil, p.fail(at, p.pos, u.most())
	}
	return left, nil
}

// find returns the unit of that letter, and the units that may follow it.
func find(letter byte, left []unit, clock bool) (unit, []unit, bool) {
	for n, u := range left {
		if u.letter == letter && u.clock == clock {
			return u, left[n+1:], true
		}
	}
	return unit{}, left, false
}

// letters lists the units that may follow.
func letters(left []unit, clock bool) string {
	var all []string
	for _, u := range left {
		if u.clock == clock {
			all = append(all, string(u.letter))
		}
	}
	text := ""
	switch n := len(all); n {
	case 0:
		text = "the end"
	case 1:
		text = all[0]
	default:
		text = strings.Join(all[:n-1], ", ") + " or " + all[n-1]
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

// most is how much of a unit a step can hold.
func (u unit) most() string {
	if u.clock {
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
