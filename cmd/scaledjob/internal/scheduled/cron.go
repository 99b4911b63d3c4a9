package scheduled

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// IsCron reports whether a text is meant as a cron expression: it begins with @, or has
// several words and does not look like an interval.
func IsCron(text string) bool {
	looksLikeInterval := strings.HasPrefix(text, "R") || strings.Contains(text, "/P")
	return strings.HasPrefix(text, "@") || len(strings.Fields(text)) > 1 && !looksLikeInterval
}

// CronOccurrences returns the occurrences of a cron expression as a CronJob has them: a
// time that the clocks of the zone skip has no run.
func CronOccurrences(text string, zone *time.Location, created time.Time) (schedule.Occurrences, error) {
	switch {
	case strings.Contains(text, "TZ"):
		return nil, errors.New("a zone belongs in --zone")
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("@every has no fixed times; use an interval such as R//PT1H")
	}
	if _, err := cron.ParseStandard(text); err != nil {
		return nil, err
	}
	return cronSchedule(text, zone).From(created), nil
}

// cronSchedule returns the schedule of a valid cron expression.
func cronSchedule(text string, zone *time.Location) schedule.Schedule {
	parsed, _ := cron.ParseStandard(text)
	return schedule.FromNext(text+" "+zone.String(), func(after time.Time) time.Time { return parsed.Next(after.In(zone)) })
}

// None has nothing to note of an occurrence.
func None(time.Time) []interval.Note { return nil }
