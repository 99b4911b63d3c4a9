package interval

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Parse reads a repeating interval in the notation of the package comment. An error is a
// [*ParseError] with the first problem.
func Parse(text string) (Interval, error) {
	i, err := parse(text)
	if err != nil {
		err.Meant = meant(text)
		return Interval{}, err
	}
	return i, nil
}

// A ParseError is the first problem of a time spec.
type ParseError struct {
	Text   string // the time spec
	Offset int    // the position of the problem, in bytes; len(Text) if the text ends too early
	Found  string // the text at the offset, "" at the end
	Want   string // the expected text
	Meant  string // a valid time spec that the author probably meant; "" if unknown
}

// Error names the offset, the text found, the expected text, and the spelling that the
// author probably meant.
func (e *ParseError) Error() string {
	found := "nothing"
	if e.Found != "" {
		found = strconv.Quote(shorten(e.Found))
	}
	text := fmt.Sprintf("byte %d is %s: want %s", e.Offset, found, e.Want)
	if e.Meant != "" {
		text += fmt.Sprintf("; was %s meant?", e.Meant)
	}
	return text
}

// shorten returns s, or the beginning of a long s.
func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func parse(text string) (Interval, *ParseError) {
	p := parser{text: text}
	i := Interval{set: true}
	for _, part := range []func(*Interval) *ParseError{p.times, p.begin, p.finish} {
		if err := part(&i); err != nil {
			return Interval{}, err
		}
	}
	return i, nil
}

// A parser reads a text from pos on.
type parser struct {
	text string
	pos  int
}

// fail returns the error of the text from at to end.
func (p *parser) fail(at, end int, want string) *ParseError {
	return &ParseError{Text: p.text, Offset: at, Found: p.text[at:end], Want: want}
}

// here returns the error of the rest of the current part.
func (p *parser) here(want string) *ParseError { return p.fail(p.pos, p.end(), want) }

// end returns the end of the current part.
func (p *parser) end() int {
	if n := strings.IndexByte(p.text[p.pos:], '/'); n > 0 {
		return p.pos + n
	}
	return len(p.text)
}

// done reports whether the current part is at its end. Another part can follow a duration
// only.
func (p *parser) done() bool { return p.pos == len(p.text) || p.text[p.pos] == '/' }

// next returns the next byte, 0 at the end.
func (p *parser) next() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// take reads the next byte if any contains it.
func (p *parser) take(any string) bool {
	if p.pos == len(p.text) || strings.IndexByte(any, p.text[p.pos]) < 0 {
		return false
	}
	p.pos++
	return true
}

// digits reads all digits up to another byte.
func (p *parser) digits() string {
	from := p.pos
	for p.take("0123456789") {
	}
	return p.text[from:p.pos]
}

func (p *parser) times(i *Interval) *ParseError {
	if !p.take("R") {
		return p.here("R, or R and a number of repetitions, as in R5/2026-01-01T02:00:00Z/P1D")
	}
	at := p.pos
	digits := p.digits()
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case digits == "":
		n, i.unbounded = endless, true
	case err != nil:
		return p.fail(at, p.pos, "a number up to 9223372036854775807, or none for no end")
	}
	i.times = n
	if !p.take("/") {
		if digits == "" {
			return p.here("a number, or / and the start")
		}
		return p.here("/ and the start")
	}
	return nil
}

// field reads a number of exactly width digits.
func (p *parser) field(width, least, most int, what string) (int, *ParseError) {
	at := p.pos
	digits := p.digits()
	n, err := strconv.Atoi(digits)
	if len(digits) != width || err != nil || n < least || n > most {
		end := p.pos
		if digits == "" {
			end = p.end()
		}
		return 0, p.fail(at, end, fmt.Sprintf("%s, %0*d to %d", what, width, least, most))
	}
	return n, nil
}

func (p *parser) sign(sign, before string) *ParseError {
	if !p.take(sign) {
		return p.here(sign + " and " + before)
	}
	return nil
}

// decimals reads a point or comma and the digits after it, without zeros at the end. It
// returns "" if there is no point.
func (p *parser) decimals() (string, *ParseError) {
	if !p.take(".,") {
		return "", nil
	}
	digits := p.digits()
	if digits == "" {
		return "", p.here("a digit behind the point")
	}
	return strings.TrimRight(digits, "0"), nil
}

// exactly returns a decimal fraction of a unit in nanoseconds, and false if that is not a
// whole number. A fraction of more than 16 decimals never is: no unit can be halved so
// often.
func exactly(decimals string, unit time.Duration) (int64, bool) {
	if len(decimals) > 16 {
		return 0, false
	}
	n, power := uint64(0), uint64(1)
	for _, d := range []byte(decimals) {
		n, power = n*10+uint64(d-'0'), power*10
	}
	high, low := bits.Mul64(n, uint64(unit))
	n, rest := bits.Div64(high, low, power)
	return int64(n), rest == 0
}
