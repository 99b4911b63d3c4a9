package triggers

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a time zone is known on every machine
)

// A cronField is a field of a schedule with the numbers that it may have.
type cronField struct {
	name        string
	least, most int
	names       string // of the numbers from least, with spaces between them
}

var cronFields = []cronField{
	{"minute", 0, 59, ""}, {"hour", 0, 23, ""}, {"day of month", 1, 31, ""},
	{"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"}, {"day of week", 0, 6, "sun mon tue wed thu fri sat"},
}

// cronProblem returns "" if KEDA's parser accepts a schedule.
func cronProblem(text string) string {
	if rest, ok := strings.CutPrefix(text, "CRON_TZ="); ok {
		text = "TZ=" + rest
	}
	if rest, ok := strings.CutPrefix(text, "TZ="); ok {
		zone, fields, _ := strings.Cut(rest, " ")
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Sprintf("there is no time zone %q", zone)
		}
		text = fields
	}
	fields := strings.Fields(text)
	if strings.HasPrefix(text, "@") {
		return "names such as @daily are not accepted"
	}
	if len(fields) != len(cronFields) {
		return fmt.Sprintf("it has %d fields and not 5", len(fields))
	}
	for i, f := range fields {
		for item := range strings.SplitSeq(f, ",") {
			if item != "" && !cronFields[i].accepts(item) {
				return fmt.Sprintf("the %s is %q and not within %d to %d", cronFields[i].name, item, cronFields[i].least, cronFields[i].most)
			}
		}
	}
	return ""
}

// accepts reports whether a number, a range or a step is within the field's bounds.
func (f cronField) accepts(item string) bool {
	span, step, hasStep := strings.Cut(item, "/")
	if n, err := strconv.ParseUint(step, 10, 31); hasStep && (err != nil || n == 0) {
		return false
	}
	low, high, isRange := strings.Cut(span, "-")
	if low == "*" || low == "?" {
		return true
	}
	first, ok := f.number(low)
	if !ok {
		return false
	}
	last := first
	switch {
	case isRange:
		if last, ok = f.number(high); !ok {
			return false
		}
	case hasStep:
		last = f.most
	}
	return f.least <= first && first <= last && last <= f.most
}

func (f cronField) number(text string) (int, bool) {
	for i, name := range strings.Fields(f.names) {
		if strings.EqualFold(name, text) {
			return f.least + i, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil
}

// zones are common time zones, as candidates for a misspelled zone.
var zones = []string{"UTC", "Etc/UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
	"America/Bogota", "America/Chicago", "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles", "America/Mexico_City", "America/New_York",
	"America/Phoenix", "America/Santiago", "America/Sao_Paulo", "America/Toronto", "America/Vancouver",
	"Asia/Bangkok", "Asia/Calcutta", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul",
	"Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tokyo", "Australia/Brisbane", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
	"Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen", "Europe/Dublin", "Europe/Helsinki",
	"Europe/Istanbul", "Europe/Kiev", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome",
	"Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu"}
