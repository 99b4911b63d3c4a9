package scheduled

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/scaledjob/scaledjob/schedule"
)

// IsCron reports whether a text is meant as a cron expression: it begins with @, or has
// several words and does not look like an interval.
func IsCron(text string) bool {
	looksLikeInterval := strings.HasPrefix(text, "R") || strings.Contains(text, "/P")
	return strings.HasPrefix(text, "@") || len(strings.Fields(text)) > 1 && !looksLikeInterval
}

// Cron reads a cron expression in a zone as a CronJob does: a time that the clocks of the zone skip
// has no run.
func Cron(text string, zone *time.Location) (schedule.Schedule, error) {
	switch {
	case strings.Contains(text, "TZ"):
		return nil, errors.New("a zone belongs in --zone")
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("@every has no fixed times; use an interval such as R//PT1H")
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, err
	}
	return schedule.FromNext(text+" "+zone.String(), func(after time.Time) time.Time { return parsed.Next(after.In(zone)) }), nil
}
