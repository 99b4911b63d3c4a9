package triggers

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a time zone is known on every machine

	"github.com/robfig/cron/v3"
)

// cronRules are the rules of triggers for schedules.
var cronRules = []Rule{
	{[]string{"cron"}, "DesiredReplicas", "2.18", accepted("KEDA never creates a Job", onlyIf(notNegative("desiredReplicas"), provided("desiredReplicas")))},
	{[]string{"cron"}, "error parsing start schedule", "2.18", schedule("start")},
	{[]string{"cron"}, "error parsing end schedule", "2.18", schedule("end")},
	{[]string{"cron"}, "start and end can not have exactly same time input", "2.18", when(fault{key: "end", text: "start and end are the same", fix: "Write an end after the start"},
		func(c *checker) bool { return c.equals("start", c.text("end")) })},
	{[]string{"cron"}, "no desiredReplicas specified", "2.18", when(fault{key: "desiredReplicas", text: "desiredReplicas is 0", fix: "Write 1 or more"},
		func(c *checker) bool {
			x, ok := c.float("desiredReplicas")
			return ok && x == 0
		})},
	{[]string{"cron"}, "unable to load timezone", "2.18", accepted(polls, about("timezone", timezone))},
}

func schedule(name string) check {
	return about(name, func(text string) (string, string) {
		problem := cronProblem(text)
		if problem == "" {
			return "", ""
		}
		return fmt.Sprintf("%s %q is not a schedule (%s)", name, text, problem), "Write minute, hour, day of month, month and day of week, such as 0 6 * * 1-5"
	})
}

func timezone(text string) (wrong, fix string) {
	if _, err := time.LoadLocation(text); err == nil {
		return "", ""
	}
	fix = "Write a name of the IANA time zone database, such as Europe/Berlin"
	if near := Nearest(text, zones); near != "" {
		fix = "Write " + near
	}
	return fmt.Sprintf("timezone %q is not a time zone", text), fix
}

// cronParser accepts what KEDA's scaler accepts: five fields, and no names such as @daily.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// cronProblem returns "" if KEDA's parser accepts a schedule.
func cronProblem(text string) string {
	if strings.Contains(text, "TZ=") && !strings.Contains(text, " ") { // at which the parser panics
		return "it has no fields"
	}
	if _, err := cronParser.Parse(text); err != nil {
		return err.Error()
	}
	return ""
}

// A Window is a time within which a cron trigger asks for Jobs. A zero End is never, a zero Begin of no window.
type Window struct{ Begin, End time.Time }

// LongestWindow returns the longest window that begins in a year: from a start to the next end.
func LongestWindow(zone, start, end string) (longest Window, err error) {
	location, err := time.LoadLocation(strings.TrimSpace(zone))
	if err != nil || cronProblem(start) != "" || cronProblem(end) != "" {
		return longest, errors.Join(err, errNoWindow)
	}
	starts, _ := cronParser.Parse(start)
	ends, _ := cronParser.Parse(end)
	first := time.Date(2027, 1, 1, 0, 0, 0, 0, location)
	for begin := starts.Next(first.Add(-1)); !begin.IsZero() && begin.Before(first.AddDate(1, 0, 0)); {
		w := Window{begin, ends.Next(begin)}
		if w.End.IsZero() {
			return w, nil
		}
		if longest.Begin.IsZero() || w.End.Sub(w.Begin) > longest.End.Sub(longest.Begin) {
			longest = w
		}
		begin = starts.Next(w.End.Add(-1))
	}
	return longest, nil
}

var errNoWindow = errors.New("start or end is no schedule")

// zones are common time zones, as candidates for a misspelled zone.
var zones = []string{"UTC", "Etc/UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi",
	"America/Bogota", "America/Chicago", "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles", "America/Mexico_City", "America/New_York",
	"America/Phoenix", "America/Santiago", "America/Sao_Paulo", "America/Toronto", "America/Vancouver",
	"Asia/Bangkok", "Asia/Calcutta", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Jerusalem", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul",
	"Asia/Shanghai", "Asia/Singapore", "Asia/Taipei", "Asia/Tokyo", "Australia/Brisbane", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney",
	"Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen", "Europe/Dublin", "Europe/Helsinki",
	"Europe/Istanbul", "Europe/Kiev", "Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome",
	"Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu"}
