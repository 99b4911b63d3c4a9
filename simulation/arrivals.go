package simulation

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A pattern is the way items arrive.
type pattern string

const (
	constant pattern = "constant" // evenly, the first at the start
	poisson  pattern = "poisson"  // at random, each independent of the others
	bursts   pattern = "bursts"   // all of the rate's items at once, the first time at the start
	daily    pattern = "daily"    // at random, with a rate that changes in the course of a day
)

// Arrivals describe when items arrive. Their text is the pattern and a rate:
//
//	constant:2/s        an item every half second
//	poisson:2/s         two a second on average
//	bursts:100/10m      a hundred at once, every ten minutes
//	daily:1/s,5/s,2/s   a curve through these rates, spread evenly over the day: here at
//	                    0:00, 8:00 and 16:00, straight in between. The run starts at 0:00.
//
// The zero value has no items.
type Arrivals struct {
	pattern pattern
	rates   []rate        // one, or several if daily
	day     time.Duration // the length of a day, if not 24 h
}

// Constant returns evenly spaced arrivals, the first at the start.
func Constant(perSecond float64) Arrivals {
	return Arrivals{pattern: constant, rates: perSeconds(perSecond)}
}

// Poisson returns random arrivals that are independent of each other, with a mean rate.
func Poisson(perSecond float64) Arrivals {
	return Arrivals{pattern: poisson, rates: perSeconds(perSecond)}
}

// Bursts returns arrivals of many items at once, the first time at the start.
func Bursts(items int64, every time.Duration) Arrivals {
	return Arrivals{pattern: bursts, rates: []rate{{float64(items), Duration(every)}}}
}

// Daily returns random arrivals with a rate that changes in the course of a day, as the
// text daily does.
func Daily(perSecond ...float64) Arrivals {
	return Arrivals{pattern: daily, rates: perSeconds(perSecond...)}
}

func perSeconds(all ...float64) []rate {
	rates := make([]rate, len(all))
	for i, n := range all {
		rates[i] = rate{n, second}
	}
	return rates
}

// String returns the arrivals as they are written. The text of the zero value is "", which
// UnmarshalText rejects.
func (a Arrivals) String() string {
	if a.pattern == "" && len(a.rates) == 0 {
		return ""
	}
	rates := make([]string, len(a.rates))
	for i, r := range a.rates {
		rates[i] = r.String()
	}
	return string(a.pattern) + ":" + strings.Join(rates, ",")
}

// MarshalText returns String.
func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads arrivals. Whether their numbers make sense is [Scenario.Validate]'s
// to say.
func (a *Arrivals) UnmarshalText(text []byte) error {
	kind, rates, _ := strings.Cut(string(text), ":")
	parsed := Arrivals{pattern: pattern(kind)}
	if !slices.Contains([]pattern{constant, poisson, bursts, daily}, parsed.pattern) {
		return fmt.Errorf("%q are no arrivals: want constant, poisson, bursts or daily and a rate, such as poisson:2/s", text)
	}
	for text := range strings.SplitSeq(rates, ",") {
		rate, err := parseRate(text)
		if err != nil {
			return err
		}
		parsed.rates = append(parsed.rates, rate)
	}
	*a = parsed
	return nil
}

// An Arrival is a row of a recorded trace.
type Arrival struct {
	At      Duration `json:"at"`                // since the start
	Items   int64    `json:"items,omitempty"`   // 0 is 1
	Service Duration `json:"service,omitempty"` // of each; 0 means the service time of the queue
}

// A part is a sequence of rows of a trace, at times that are later by a shift.
type part struct {
	first, last int // rows, without last
	shift       Duration
}

// A source yields the arrivals of a queue in the order of time.
type source struct {
	Arrivals
	trace  []Arrival
	parts  []part
	cycle  Duration // after which the parts begin again; 0 means never
	scale  float64
	random *rand.Rand
	k      int64
	at     float64 // nanoseconds
	owed   float64 // items that are due, in fractions
	part   int
	row    int
	round  Duration
}

func newSource(q *Queue, random *rand.Rand) *source {
	s := &source{Arrivals: q.Arrivals, trace: sorted(q.Trace), parts: q.parts, cycle: q.cycle, scale: cmp.Or(q.scale, 1), random: random}
	if s.parts == nil {
		s.parts = []part{{0, len(s.trace), 0}}
	}
	s.row = s.parts[0].first
	return s
}

// sorted returns the rows in the order of time, and shares those that are.
func sorted(trace []Arrival) []Arrival {
	order := func(a, b Arrival) int { return cmp.Compare(a.At, b.At) }
	if slices.IsSortedFunc(trace, order) {
		return trace
	}
	return slices.SortedStableFunc(slices.Values(trace), order)
}

// next returns the next arrival, and false if there is none before the end.
func (s *source) next(end Duration) (a Arrival, ok bool) {
	for {
		switch {
		case len(s.trace) > 0:
			if a, ok = s.read(); !ok {
				return a, false
			}
		case len(s.rates) == 0:
			return a, false
		default:
			s.at = s.draw(float64(end))
			a = Arrival{At: clip(s.at), Items: 1}
			if s.pattern == bursts {
				a.Items = int64(s.rates[0].items)
			}
			s.k++
		}
		if a.At >= end {
			return a, false
		}
		if s.whole(&a) {
			return a, true
		}
	}
}

// read returns the next row of the trace.
func (s *source) read() (a Arrival, ok bool) {
	for start := s.round; s.row >= s.parts[s.part].last; {
		if s.part++; s.part == len(s.parts) {
			if s.part = 0; s.cycle == 0 || s.round > start {
				return a, false
			}
			s.round += s.cycle
		}
		s.row = s.parts[s.part].first
	}
	a = s.trace[s.row]
	s.row++
	a.At += s.parts[s.part].shift + s.round
	a.Items = max(1, a.Items)
	return a, true
}

// whole scales the items, and carries fractions to the next arrival. It reports whether
// any item arrives. Only traces and bursts have a scale.
func (s *source) whole(a *Arrival) bool {
	if s.scale == 1 {
		return true
	}
	s.owed += float64(a.Items) * s.scale
	n := math.Floor(s.owed + 1e-9)
	s.owed -= n
	a.Items = int64(n)
	return n > 0
}

// draw is when the next items arrive, or a time from the end on.
func (s *source) draw(end float64) float64 {
	rate := s.rates[0]
	switch s.pattern {
	case constant:
		return float64(s.k) * float64(rate.per) / rate.items
	case bursts:
		return float64(s.k) * float64(rate.per)
	case poisson:
		return s.at + s.random.ExpFloat64()*rate.gap()
	}
	return s.thin(end)
}

// thin draws from the highest rate of the curve, and keeps as much as the rate at that
// time is of it.
func (s *source) thin(end float64) float64 {
	highest := 0.0
	for _, r := range s.rates {
		highest = max(highest, r.perNanosecond())
	}
	for at := s.at; ; {
		at += s.random.ExpFloat64() / highest
		if at >= end || s.random.Float64()*highest < s.curve(at) {
			return at
		}
	}
}

// curve is the rate at a time of day, in items for each nanosecond.
func (a *Arrivals) curve(at float64) float64 {
	n := len(a.rates)
	days := at / a.length()
	place := (days - float64(int64(days))) * float64(n)
	i := min(int(place), n-1)
	from, to := a.rates[i].perNanosecond(), a.rates[(i+1)%n].perNanosecond()
	return from + (to-from)*(place-float64(i))
}

// length is the length of a day in nanoseconds.
func (a *Arrivals) length() float64 { return float64(cmp.Or(a.day, 24*time.Hour)) }
