package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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

func perSeconds(items ...float64) []rate {
	rates := make([]rate, len(items))
	for i, n := range items {
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
	if !slices.Contains(patterns, parsed.pattern) {
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

// curve is the rate at a time of day, in items for each nanosecond.
func (a *Arrivals) curve(time float64) float64 {
	n := len(a.rates)
	days := time / a.dayLength()
	place := (days - float64(int64(days))) * float64(n)
	i := min(int(place), n-1)
	from, to := a.rates[i].perNanosecond(), a.rates[(i+1)%n].perNanosecond()
	return from + (to-from)*(place-float64(i))
}

// dayLength is the length of a day in nanoseconds.
func (a *Arrivals) dayLength() float64 { return float64(cmp.Or(a.day, 24*time.Hour)) }

// A shape is the kind of a distribution.
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
	shape     shape // "" is fixed
	mean      Duration
	deviation Duration   // the standard deviation, of logNormal
	values    []Duration // of recorded
}

// Fixed returns a distribution of a single time.
func Fixed(d time.Duration) Distribution { return Distribution{mean: Duration(d)} }

// Exp returns an exponential distribution.
func Exp(mean time.Duration) Distribution {
	return Distribution{shape: exponential, mean: Duration(mean)}
}

// LogNormal returns a log-normal distribution with a mean and a standard deviation.
func LogNormal(mean, deviation time.Duration) Distribution {
	return Distribution{shape: logNormal, mean: Duration(mean), deviation: Duration(deviation)}
}

// Recorded returns a distribution of measured times, which come in turn, and from the
// first again.
func Recorded(times ...time.Duration) Distribution {
	d := Distribution{shape: recorded}
	for _, t := range times {
		d.values = append(d.values, Duration(t))
	}
	return d
}

// String returns the distribution as it is written.
func (d Distribution) String() string {
	switch d.shape {
	case "", fixed:
		return d.mean.String()
	case logNormal:
		return fmt.Sprintf("%s:%s,%s", d.shape, d.mean, d.deviation)
	case recorded:
		values := make([]string, len(d.values))
		for i, v := range d.values {
			values[i] = v.String()
		}
		return string(d.shape) + ":" + strings.Join(values, ",")
	}
	return fmt.Sprintf("%s:%s", d.shape, d.mean)
}

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
	parsed := Distribution{shape: shape(kind)}
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
	return fmt.Errorf("%q is no distribution: want a time such as 30s, or exp:30s, lognormal:30s,1m or recorded:12s,30s", text)
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
		return fmt.Errorf("%q is no duration: want a number and a unit, such as 30s or 1h30m", text)
	}
	*d = Duration(parsed)
	return nil
}

func (d Duration) seconds() float64 { return time.Duration(d).Seconds() }

// longest is the longest that anything may take: sums of a few never overflow.
const longest = Duration(20 * 365 * 24 * time.Hour)

// clip makes a drawn number of nanoseconds a duration.
func clip(ns float64) Duration { return Duration(min(max(ns, 0), float64(longest))) }

// A rate is a number of items in a time. It is written as text such as "2/s",
// "0.5/m" or "100/10m". The zero value is none.
type rate struct {
	items float64
	per   Duration
}

// String returns the rate as it is written.
func (r rate) String() string {
	per := strings.TrimPrefix(r.per.String(), "1")
	if len(per) > 2 || !startsWithUnit(per) {
		per = r.per.String()
	}
	return strconv.FormatFloat(r.items, 'g', -1, 64) + "/" + per
}

// startsWithUnit reports whether a time has no number in front of its unit.
func startsWithUnit(per string) bool {
	return per != "" && per[0] != '.' && (per[0] < '0' || per[0] > '9')
}

// perNanosecond is the rate in items for each nanosecond.
func (r rate) perNanosecond() float64 { return r.items / float64(r.per) }

// gap is the mean time from one item to the next, in nanoseconds.
func (r rate) gap() float64 { return float64(r.per) / r.items }

func parseRate(text string) (r rate, err error) {
	items, per, found := strings.Cut(text, "/")
	if startsWithUnit(per) {
		per = "1" + per
	}
	r.items, err = strconv.ParseFloat(items, 64)
	if found && err == nil {
		err = r.per.UnmarshalText([]byte(per))
	}
	if !found || err != nil {
		return rate{}, fmt.Errorf("%q is no rate: want items and a time, such as 2/s or 100/10m", text)
	}
	return r, nil
}
