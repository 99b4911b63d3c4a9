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

// Pattern is how items arrive.
type Pattern string

const (
	Constant Pattern = "constant" // evenly, the first at the start
	Poisson  Pattern = "poisson"  // at random, each independent of the others
	Bursts   Pattern = "bursts"   // all of the rate's items at once, the first time at the start
	Daily    Pattern = "daily"    // at random, with a rate that changes in the course of a day
)

// Arrivals say when items arrive. They are written as text, the pattern and a rate:
//
//	constant:2/s        an item every half second
//	poisson:2/s         two a second on average
//	bursts:100/10m      a hundred at once, every ten minutes
//	daily:1/s,5/s,2/s   a curve through these rates, which are spread evenly over the
//	                    day: here at 0:00, 8:00 and 16:00, straight in between. The
//	                    run starts at 0:00.
//
// The zero value is none.
type Arrivals struct {
	Pattern Pattern
	Rates   []Rate // a single rate, and more only for Daily
}

// String returns the arrivals as they are written. The text of the zero value is "", which
// UnmarshalText rejects.
func (a Arrivals) String() string {
	if a.Pattern == "" && len(a.Rates) == 0 {
		return ""
	}
	rates := make([]string, len(a.Rates))
	for i, r := range a.Rates {
		rates[i] = r.String()
	}
	return string(a.Pattern) + ":" + strings.Join(rates, ",")
}

// MarshalText returns String.
func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads arrivals. Whether their numbers make sense is [Scenario.Validate]'s
// to say.
func (a *Arrivals) UnmarshalText(text []byte) error {
	pattern, rates, _ := strings.Cut(string(text), ":")
	parsed := Arrivals{Pattern: Pattern(pattern)}
	if !slices.Contains([]Pattern{Constant, Poisson, Bursts, Daily}, parsed.Pattern) {
		return fmt.Errorf("%q are no arrivals: want constant, poisson, bursts or daily and a rate, such as poisson:2/s", text)
	}
	for text := range strings.SplitSeq(rates, ",") {
		rate, err := parseRate(text)
		if err != nil {
			return err
		}
		parsed.Rates = append(parsed.Rates, rate)
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

// A source yields the arrivals of a queue in the order of time.
type source struct {
	Arrivals
	trace  []Arrival
	random *rand.Rand
	k      int64
	at     float64 // nanoseconds
}

func newSource(q *Queue, random *rand.Rand) *source {
	s := &source{Arrivals: q.Arrivals, random: random}
	s.trace = slices.SortedStableFunc(slices.Values(q.Trace), func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return s
}

// next returns the next arrival, and false where there is none before the end.
func (s *source) next(end Duration) (a Arrival, ok bool) {
	a.Items = 1
	switch {
	case len(s.trace) > 0:
		a, s.trace = s.trace[0], s.trace[1:]
		a.Items = max(1, a.Items)
	case len(s.Rates) == 0:
		return a, false
	default:
		s.at = s.draw(float64(end))
		a.At = clip(s.at)
		if s.Pattern == Bursts {
			a.Items = int64(s.Rates[0].Items)
		}
	}
	s.k++
	return a, a.At < end
}

// draw is when the next items arrive, or a time from the end on.
func (s *source) draw(end float64) float64 {
	rate := s.Rates[0]
	switch s.Pattern {
	case Constant:
		return float64(s.k) * float64(rate.Per) / rate.Items
	case Bursts:
		return float64(s.k) * float64(rate.Per)
	case Poisson:
		return s.at + s.random.ExpFloat64()*rate.gap()
	}
	return s.thin(end)
}

// thin draws from the highest rate of the curve, and keeps as much as the rate at that
// time is of it.
func (s *source) thin(end float64) float64 {
	highest := 0.0
	for _, r := range s.Rates {
		highest = max(highest, r.perNanosecond())
	}
	for at := s.at; ; {
		at += s.random.ExpFloat64() / highest
		if at >= end || s.random.Float64()*highest < s.curve(at) {
			return at
		}
	}
}

// over returns the items per second on average and at the highest, from the start until a
// time.
func (a *Arrivals) over(until Duration) (mean, highest float64) {
	switch {
	case len(a.Rates) == 0:
		return 0, 0
	case a.Pattern == Bursts:
		bursts := math.Ceil(float64(until) / float64(a.Rates[0].Per))
		mean = bursts * a.Rates[0].Items / until.seconds()
		return mean, mean
	case a.Pattern != Daily:
		mean = a.Rates[0].perNanosecond() * float64(second)
		return mean, mean
	}
	const day = float64(24 * time.Hour)
	days, rest := math.Floor(float64(until)/day), math.Mod(float64(until), day)
	items, step := 0.0, day/float64(len(a.Rates))
	add := func(times, from, to float64) {
		if times > 0 && from < to {
			items += times * (a.curve(from) + a.curve(to)) / 2 * (to - from)
			highest = max(highest, a.curve(from), a.curve(to))
		}
	}
	for i := range a.Rates {
		from, to := float64(i)*step, float64(i+1)*step
		add(days, from, to)
		add(1, from, min(to, rest))
	}
	return items / until.seconds(), highest * float64(second)
}

// curve is the rate at a time of day, in items for each nanosecond.
func (a *Arrivals) curve(at float64) float64 {
	n := len(a.Rates)
	days := at / float64(24*time.Hour)
	place := (days - float64(int64(days))) * float64(n)
	i := min(int(place), n-1)
	from, to := a.Rates[i].perNanosecond(), a.Rates[(i+1)%n].perNanosecond()
	return from + (to-from)*(place-float64(i))
}
