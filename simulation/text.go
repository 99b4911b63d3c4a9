package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

type pattern string

const (
	constant pattern = "constant" // evenly, the first at the start
	poisson  pattern = "poisson"  // at random, each independent of the others
	bursts   pattern = "bursts"   // all of the rate's items at once, the first time at the start
	daily    pattern = "daily"    // at random, with a rate that changes in the course of a day
)

var patterns = []pattern{constant, poisson, bursts, daily}

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
	text    string
	pattern pattern
	rates   []rate        // one, or several if daily
	day     time.Duration // the length of a day, if not 24 h
}

// Constant returns evenly spaced arrivals, the first at the start.
func Constant(perSecond float64) Arrivals { return arrivals("constant:%g/s", perSecond) }

// Poisson returns random arrivals that are independent of each other, with a mean rate.
func Poisson(perSecond float64) Arrivals { return arrivals("poisson:%g/s", perSecond) }

// Bursts returns arrivals of many items at once, the first time at the start.
func Bursts(items int64, every time.Duration) Arrivals { return arrivals("bursts:%d/%s", items, every) }

// Daily returns random arrivals with a rate that changes in the course of a day, as the
// text daily does. Without rates nothing arrives.
func Daily(perSecond ...float64) Arrivals {
	format := strings.TrimSuffix("daily:"+strings.Repeat("%g/s,", len(perSecond)), ",")
	rates := make([]any, len(perSecond))
	for i, n := range perSecond {
		rates[i] = n
	}
	return arrivals(format, rates...)
}

// arrivals reads a text of valid form.
func arrivals(format string, args ...any) (a Arrivals) {
	_ = a.UnmarshalText(fmt.Appendf(nil, format, args...))
	return a
}

// String returns the arrivals as they are written. The text of the zero value is "", which
// UnmarshalText rejects.
func (a Arrivals) String() string { return a.text }

// MarshalText returns String.
func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads arrivals. Whether their numbers make sense is [Scenario.Validate]'s
// to say.
func (a *Arrivals) UnmarshalText(text []byte) error {
	kind, rates, _ := strings.Cut(string(text), ":")
	parsed := Arrivals{text: string(text), pattern: pattern(kind)}
	if !slices.Contains(patterns, parsed.pattern) {
		return fmt.Errorf("%q is not a pattern of arrivals; use constant, poisson, bursts or daily and a rate, such as poisson:2/s", text)
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

// curve is the rate at a time of day, in items for each nanosecond.
func (a *Arrivals) curve(time float64) float64 {
	n := len(a.rates)
	days := time / a.dayLength()
	place := (days - float64(int64(days))) * float64(n)
	i := min(int(place), n-1)
	from, to := a.rates[i].perNanosecond(), a.rates[(i+1)%n].perNanosecond()
	return from + (to-from)*(place-float64(i))
}

func (a *Arrivals) dayLength() float64 { return float64(cmp.Or(a.day, 24*time.Hour)) }

type shape string

const (
	fixed       shape = "constant"  // always the mean
	exponential shape = "exp"       // memoryless; the standard deviation is the mean
	logNormal   shape = "lognormal" // most short, a few very long
	recorded    shape = "recorded"  // the values in turn, and from the first again
)

// A Distribution is a distribution of times: of the work on an item, or of the start of a
// pod. Its text is:
//
//	30s                  always, or constant:30s
//	exp:30s              exponential, of that mean
//	lognormal:30s,1m     log-normal, of that mean and that standard deviation
//	recorded:12s,30s,5s  these values, in turn
//
// The zero value is always 0.
type Distribution struct {
	text      string
	shape     shape // "" is fixed
	mean      Duration
	deviation Duration   // the standard deviation, of logNormal
	values    []Duration // of recorded
}

// Fixed returns a distribution of a single time.
func Fixed(d time.Duration) Distribution { return distribution("", d) }

// Exp returns an exponential distribution.
func Exp(mean time.Duration) Distribution { return distribution("exp:", mean) }

// LogNormal returns a log-normal distribution with a mean and a standard deviation.
func LogNormal(mean, deviation time.Duration) Distribution {
	return distribution("lognormal:", mean, deviation)
}

// Recorded returns a distribution of measured times, which come in turn, and from the
// first again.
func Recorded(times ...time.Duration) Distribution { return distribution("recorded:", times...) }

// distribution reads a text of valid form.
func distribution(shape string, times ...time.Duration) (d Distribution) {
	texts := make([]string, len(times))
	for i, t := range times {
		texts[i] = Duration(t).String()
	}
	_ = d.UnmarshalText([]byte(shape + strings.Join(texts, ",")))
	return d
}

// String returns the distribution as it is written.
func (d Distribution) String() string { return cmp.Or(d.text, "0s") }

// MarshalText returns String.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a distribution. Whether its numbers make sense is
// [Scenario.Validate]'s to say.
func (d *Distribution) UnmarshalText(text []byte) error {
	kind, times, found := strings.Cut(string(text), ":")
	if !found {
		kind, times = string(fixed), kind
	}
	values, err := parseDurations(times)
	if err != nil {
		return err
	}
	parsed := Distribution{text: string(text), shape: shape(kind)}
	valid := false
	switch parsed.shape {
	case fixed, exponential:
		parsed.mean, valid = values[0], len(values) == 1
	case logNormal:
		if valid = len(values) == 2; valid {
			parsed.mean, parsed.deviation = values[0], values[1]
		}
	case recorded:
		parsed.values, valid = values, true
	}
	if valid {
		*d = parsed
		return nil
	}
	return fmt.Errorf("%q is not a distribution; use a time such as 30s, or exp:30s, lognormal:30s,1m or recorded:12s,30s", text)
}

func parseDurations(text string) (durations []Duration, err error) {
	for part := range strings.SplitSeq(text, ",") {
		var d Duration
		if err := d.UnmarshalText([]byte(strings.TrimSpace(part))); err != nil {
			return nil, err
		}
		durations = append(durations, d)
	}
	return durations, nil
}

// A Duration is written as text such as "30s", "1h30m" or "500ms", in the units of
// [time.ParseDuration]. The zero value is none.
type Duration time.Duration

// String returns the duration as it is written, without parts that are 0: "1h", not
// "1h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText returns String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration. A number without a unit is an error.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; use a number and a unit, such as 30s or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}

func (d Duration) seconds() float64 { return time.Duration(d).Seconds() }

// longest is the longest that anything may take: sums of a few never overflow.
const longest = Duration(20 * 365 * 24 * time.Hour)

// A rate is a number of items in a time. It is written as text such as "2/s",
// "0.5/m" or "100/10m". The zero value is none.
type rate struct {
	items float64
	per   Duration
}

func (r rate) perNanosecond() float64 { return r.items / float64(r.per) }

func parseRate(text string) (r rate, err error) {
	items, per, found := strings.Cut(text, "/")
	if per != "" && per[0] > '9' { // without a number before the unit
		per = "1" + per
	}
	r.items, err = strconv.ParseFloat(items, 64)
	if found && err == nil {
		err = r.per.UnmarshalText([]byte(per))
	}
	if !found || err != nil {
		return rate{}, fmt.Errorf("%q is not a rate; use items and a time, such as 2/s or 100/10m", text)
	}
	return r, nil
}
