package interval

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Parse reads a repeating interval in the notation of the package comment. An error is a
// [*ParseError] with the first problem.
func Parse(text string) (Interval, error) {
	p := parser{text: text}
	i := Interval{set: true}
	for _, part := range []func(*Interval){p.times, p.begin, p.finish} {
		if part(&i); p.err != nil {
			return Interval{}, p.err
		}
	}
	if p.pos < len(text) {
		p.failPart("the end")
		return Interval{}, p.err
	}
	return i, nil
}

// A ParseError is the first problem of a time spec.
type ParseError struct {
	Text   string // the time spec
	Offset int    // the position of the problem, in bytes; len(Text) if the text ends too early
	Found  string // the text at the offset, "" at the end
	Want   string // the expected text
}

// Error names the offset, the beginning of the text found and the expected text.
func (e *ParseError) Error() string {
	found := "nothing"
	if e.Found != "" {
		start := fmt.Sprintf("%.40s", e.Found)
		if start != e.Found {
			start += "…"
		}
		found = strconv.Quote(start)
	}
	return fmt.Sprintf("byte %d is %s; use %s", e.Offset, found, e.Want)
}

// A parser reads a text from pos on. What it reads after the first problem has no meaning.
type parser struct {
	text string
	pos  int
	err  *ParseError
}

// fail notes a problem of the text from start to end, if it is the first.
func (p *parser) fail(start, end int, want string) {
	if p.err == nil {
		p.err = &ParseError{Text: p.text, Offset: start, Found: p.text[start:end], Want: want}
	}
}

// failPart notes a problem of the rest of the current part.
func (p *parser) failPart(want string) { p.fail(p.pos, p.end(), want) }

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

// take reads the next byte if it is one of some.
func (p *parser) take(bytes string) bool {
	if p.pos == len(p.text) || strings.IndexByte(bytes, p.text[p.pos]) < 0 {
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

// expect reads one of some bytes.
func (p *parser) expect(bytes, want string) {
	if !p.take(bytes) {
		p.failPart(want)
	}
}

// atDigit reports whether the next byte is a digit.
func (p *parser) atDigit() bool { return '0' <= p.next() && p.next() <= '9' }

func (p *parser) times(i *Interval) {
	p.expect("R", "R, or R and a number of repetitions, as in R5/2026-01-01T02:00:00Z/P1D")
	start, want := p.pos, "/ and the start"
	digits := p.digits()
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case digits == "":
		n, i.unbounded, want = math.MaxInt64, true, "a number, or / and the start"
	case err != nil:
		p.fail(start, p.pos, "a number up to 9223372036854775807, or none for no end")
	}
	i.times = n
	p.expect("/", want)
}

// field reads a number of exactly width digits.
func (p *parser) field(width, minimum, maximum int, noun string) int {
	start := p.pos
	digits := p.digits()
	n, err := strconv.Atoi(digits)
	isNumber, inRange := len(digits) == width && err == nil, minimum <= n && n <= maximum
	if !isNumber || !inRange {
		end := p.pos
		if digits == "" {
			end = p.end()
		}
		p.fail(start, end, fmt.Sprintf("%s, %0*d to %d", noun, width, minimum, maximum))
	}
	return n
}

// decimals reads a point or comma and the digits after it, without zeros at the end. It
// returns "" if there is no point.
func (p *parser) decimals() string {
	if !p.take(".,") {
		return ""
	}
	digits := p.digits()
	if digits == "" {
		p.failPart("a digit behind the point")
	}
	return strings.TrimRight(digits, "0")
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
	n, remainder := bits.Div64(high, low, power)
	return int64(n), remainder == 0
}
