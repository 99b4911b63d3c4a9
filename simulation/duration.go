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

// A Rate is a number of items in a time. It is written as text such as "2/s",
// "0.5/m" or "100/10m". The zero value is none.
type Rate struct {
	Items float64
	Per   Duration
}

// String returns the rate as it is written.
func (r Rate) String() string {
	per := strings.TrimPrefix(r.Per.String(), "1")
	if len(per) > 2 || per == "" || per[0] >= '0' && per[0] <= '9' || per[0] == '.' {
		per = r.Per.String()
	}
	return strconv.FormatFloat(r.Items, 'g', -1, 64) + "/" + per
}

// perNanosecond is the rate in items for each nanosecond.
func (r Rate) perNanosecond() float64 { return r.Items / float64(r.Per) }

// gap is the mean time from one item to the next, in nanoseconds.
func (r Rate) gap() float64 { return float64(r.Per) / r.Items }

func parseRate(text string) (r Rate, err error) {
	items, per, found := strings.Cut(text, "/")
	if found && per != "" && (per[0] < '0' || per[0] > '9') {
		per = "1" + per
	}
	r.Items, err = strconv.ParseFloat(items, 64)
	if found && err == nil {
		err = r.Per.UnmarshalText([]byte(per))
	}
	if !found || err != nil {
		return Rate{}, fmt.Errorf("%q is no rate: want items and a time, such as 2/s or 100/10m", text)
	}
	return r, nil
}
