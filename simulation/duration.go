package simulation

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
	if len(per) > 2 || per == "" || per[0] >= '0' && per[0] <= '9' || per[0] == '.' {
		per = r.per.String()
	}
	return strconv.FormatFloat(r.items, 'g', -1, 64) + "/" + per
}

// perNanosecond is the rate in items for each nanosecond.
func (r rate) perNanosecond() float64 { return r.items / float64(r.per) }

// gap is the mean time from one item to the next, in nanoseconds.
func (r rate) gap() float64 { return float64(r.per) / r.items }

func parseRate(text string) (r rate, err error) {
	items, per, found := strings.Cut(text, "/")
	if found && per != "" && (per[0] < '0' || per[0] > '9') {
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
