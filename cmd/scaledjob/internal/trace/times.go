package trace

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

// latest is the Unix time in seconds from which a time is invalid, in 2262.
const latest = math.MaxInt64 / 1_000_000_000

// timeForms are RFC 3339, and the forms of SQL, data frames and spreadsheets. A fraction may
// follow the seconds. Without a zone a time is in UTC; a date with slashes begins with
// the month.
var timeForms = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05 Z07:00",
	"2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05 Z0700", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 Z0700 UTC",
	"2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04", "1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006 3:04:05 PM", "1/2/2006 3:04 PM",
	"2.1.2006 15:04:05", "2.1.2006 15:04",
}

// instant reads a time: one of these forms, a Unix time in seconds, milliseconds, microseconds or
// nanoseconds, or an offset from the start in seconds or as a duration. A number is a
// Unix time from 100,000,000 on, which is in 1973, and an offset below. The form is tried first, and
// becomes that of the text.
func instant(text string, form *string) (at time.Duration, absolute bool, err error) {
	upper := strings.ToUpper(text)
	if at, ok := inForm(*form, upper); ok {
		return at, true, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		for _, unit := range []struct {
			from float64
			unit time.Duration
		}{{1e17, 1}, {1e14, time.Microsecond}, {1e11, time.Millisecond}, {1e8, time.Second}} {
			if n >= unit.from && n < latest*float64(time.Second/unit.unit) {
				whole, fraction := math.Modf(n)
				return time.Duration(whole)*unit.unit + time.Duration(fraction*float64(unit.unit)), true, nil
			}
		}
		if n >= 0 && n < 1e8 {
			return time.Duration(n * float64(time.Second)), false, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, false, nil
	}
	for _, *form = range timeForms {
		if at, ok := inForm(*form, upper); ok {
			return at, true, nil
		}
	}
	return 0, false, fmt.Errorf("found %q; use RFC 3339 such as 2026-01-31T12:00:00Z, a Unix time, seconds since the start, or a duration such as 1m30s", text)
}

// inForm reads a time in a form. No text is in the form "".
func inForm(form, text string) (at time.Duration, ok bool) {
	if form == "" {
		return 0, false
	}
	t, err := time.Parse(form, text)
	return time.Duration(t.UnixNano()), err == nil && t.Year() >= 1970 && t.Year() < 2262
}

// amount reads a number of items, which may have a fraction.
func amount(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1e9) {
		return 0, fmt.Errorf("found %q; use a number of 0 to 1e9", text)
	}
	return n, nil
}

// clockForm is a time as spreadsheets and data frames write it.
var clockForm = regexp.MustCompile(`^(?:(\d{1,4}) days? )?(?:(\d{1,3}):)?(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)$`)

// lasting reads a number of seconds, or a duration.
func lasting(text string) (simulation.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e8 {
		return simulation.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if clock := clockForm.FindStringSubmatch(text); clock != nil { // 0 days 00:01:30.5, or 1:30
		d, err = time.ParseDuration(cmp.Or(clock[2], "0") + "h" + clock[3] + "m" + clock[4] + "s")
		days, _ := strconv.Atoi(cmp.Or(clock[1], "0"))
		d += time.Duration(days) * 24 * time.Hour
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("found %q; use seconds, or a duration such as 1m30s", text)
	}
	return simulation.Duration(d), nil
}
