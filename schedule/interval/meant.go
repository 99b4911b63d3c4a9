package interval

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// meant returns the time spec that a text with mistakes was probably meant to be,
// or "".
func meant(text string) string {
	parts := strings.Split(repaired(strings.ToUpper(strings.TrimSpace(text)), textRepairs), "/")
	for n, part := range parts {
		switch {
		case n == 0:
			parts[n] = repaired(part, timesRepairs)
		case strings.HasPrefix(part, "P") || n == 2 && !dates.MatchString(part):
			parts[n] = repaired(part, durationRepairs)
		default:
			parts[n] = repaired(weekDates.ReplaceAllStringFunc(part, calendarDate), startRepairs)
		}
	}
	text = strings.Join(parts, "/")
	if _, err := parse(text); err != nil {
		return ""
	}
	return text
}

var (
	dates     = regexp.MustCompile(`^\d{4}-?(\d\d|W)`)
	weekDates = regexp.MustCompile(`^(\d{4})-?W(\d\d)(?:-?([1-7]))?`)
)

// calendarDate returns the calendar date of a week date. Week 1 is the week of 4
// January; without a day, it is Monday.
func calendarDate(text string) string {
	parts := weekDates.FindStringSubmatch(text)
	week, _ := strconv.Atoi(parts[2]) // the pattern has digits only
	weekday := 1
	if parts[3] != "" {
		weekday = int(parts[3][0] - '0')
	}
	fourth, _ := time.Parse(time.DateOnly, parts[1]+"-01-04") // of four digits
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
	return monday.AddDate(0, 0, (week-1)*7+weekday-1).Format(time.DateOnly)
}

// repaired applies repairs, each a pattern and its replacement, which leave alone what is right.
func repaired(part string, repairs []string) string {
	for n := 0; n < len(repairs); n += 2 {
		part = regexp.MustCompile(repairs[n]).ReplaceAllString(part, repairs[n+1])
	}
	return part
}

// textRepairs put in the part that was left out, where it is plain which.
var textRepairs = []string{
	"\u2212", "-",
	`--`, "/",
	`\s*/\s*`, "/",
	`^(P[^/]*)$`, "R//$1",
	`^(R[^/]*)/(P[^/]*)$`, "$1//$2",
	`^([^R/][^/]*|)/(P[^/]*)$`, "R/$1/$2",
	`^([^/]*/[^/]*/[^/]*)/$`, "$1",
}

var timesRepairs = []string{
	`^R?(\d*)$`, "R$1",
	`^R-1$`, "R", // other schedulers' spelling
}

var startRepairs = []string{
	`^(\d{4}-\d\d-\d\d)[ _]+(\d.*)$`, "${1}T$2",
	`^(\d{4})(\d\d)(\d\d)(T.*|)$`, "$1-$2-$3$4",
	`^(\d{4}-\d\d-\d\d)$`, "${1}T00:00:00Z",
	`^(\d\d?:.*)$`, "T$1",
	`T(\d):`, "T0$1:",
	`T(\d\d)(\d\d)(\d\d)`, "T$1:$2:$3",
	`T(\d\d)(\d\d)($|[Z+-])`, "T$1:$2$3",
	`T(\d\d)($|[Z+-])`, "T$1:00$2",
	`([+-]\d\d)(\d\d)$`, "$1:$2",
	` +(Z|[+-]\d\d.*)$`, "$1",
	`(T.*)-00:00$`, "${1}Z",
	`^(\d.*T[\d:.,]*)$`, "${1}Z",
}

var durationRepairs = []string{
	`^(\d|T\d)`, "P$1",
	` `, "",
	`(^|[^\d])([.,]\d)`, "${1}0$2",
	`^P([\d.,]+[HS])`, "PT$1",
	`^P(\d+D)([\d.,]+[HMS])`, "P${1}T$2",
	`^PT(\d+[YWD])$`, "P$1",
	`T0*(\d+)$`, "T${1}H",
	`^P0*(\d+)$`, "P${1}D",
	`(\d)T$`, "$1",
}
