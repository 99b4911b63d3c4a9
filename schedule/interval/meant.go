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
	text = strings.NewReplacer("\u2212", "-", "--", "/").Replace(text)
	parts := strings.Split(strings.ToUpper(strings.TrimSpace(text)), "/")
	for n := range parts {
		parts[n] = strings.TrimSpace(parts[n])
	}
	parts = complete(parts)
	if len(parts) != 3 {
		return ""
	}
	for n, part := range parts {
		switch {
		case n == 0:
			parts[n] = repaired(part, timesRepairs)
		case durations.MatchString(part) || n == 2 && !dates.MatchString(part):
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

// complete puts in the part that was left out, where it is plain which.
func complete(parts []string) []string {
	first, last := parts[0], parts[len(parts)-1]
	repeats, lasts := strings.HasPrefix(first, "R"), strings.HasPrefix(last, "P")
	switch {
	case len(parts) == 1 && lasts:
		return []string{"R", "", last}
	case len(parts) == 2 && repeats && lasts:
		return []string{first, "", last}
	case len(parts) == 2 && !repeats && lasts:
		return []string{"R", first, last}
	case len(parts) == 4 && last == "":
		return parts[:3]
	}
	return parts
}

var (
	durations = regexp.MustCompile(`^P`)
	dates     = regexp.MustCompile(`^\d{4}-?(\d\d|W)`)
	weekDates = regexp.MustCompile(`^(\d{4})-?W(\d\d)(?:-?([1-7]))?`)
)

// calendarDate returns the calendar date of a week date. Week 1 is the week of 4
// January; without a day, it is Monday.
func calendarDate(text string) string {
	parts := weekDates.FindStringSubmatch(text)
	year, _ := strconv.Atoi(parts[1]) // the pattern has digits only
	week, _ := strconv.Atoi(parts[2])
	weekday := 1
	if parts[3] != "" {
		weekday = int(parts[3][0] - '0')
	}
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
	return monday.AddDate(0, 0, (week-1)*7+weekday-1).Format(time.DateOnly)
}

func repaired(part string, repairs []repair) string {
	for _, r := range repairs {
		part = r.wrong.ReplaceAllString(part, r.right)
	}
	return part
}

// A repair is applied to a part, right or wrong, and leaves what is right alone.
type repair struct {
	wrong *regexp.Regexp
	right string
}

func repairs(pairs ...string) []repair {
	var all []repair
	for n := 0; n < len(pairs); n += 2 {
		all = append(all, repair{regexp.MustCompile(pairs[n]), pairs[n+1]})
	}
	return all
}

var timesRepairs = repairs(
	`^R?(\d*)$`, "R$1",
	`^R-1$`, "R", // other schedulers' spelling
)

var startRepairs = repairs(
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
)

var durationRepairs = repairs(
	`^(\d|T\d)`, "P$1",
	` `, "",
	`(^|[^\d])([.,]\d)`, "${1}0$2",
	`^P([\d.,]+[HS])`, "PT$1",
	`^P(\d+D)([\d.,]+[HMS])`, "P${1}T$2",
	`^PT(\d+[YWD])$`, "P$1",
	`T0*(\d+)$`, "T${1}H",
	`^P0*(\d+)$`, "P${1}D",
	`(\d)T$`, "$1",
)
