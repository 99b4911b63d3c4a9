package scheduledjob

import (
	"errors"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
)

// Cron returns the Cron of [Inputs], which reads expressions as a CronJob does: a time that the clocks of
// the zone skip has no run. parse is ParseStandard of github.com/robfig/cron/v3, which Kubernetes
// uses, or another parser. An expression cannot name a zone, and @every is not accepted, because
// its times depend on when the program asks for them. A nil zone is UTC.
func Cron[S interface {
	Next(after time.Time) time.Time
}](parse func(expression string) (S, error)) func(expression string, zone *time.Location) (schedule.Schedule, error) {
	return func(expression string, zone *time.Location) (schedule.Schedule, error) {
		if zone == nil {
			zone = time.UTC
		}
		switch {
		case strings.Contains(expression, "TZ"):
			return nil, errors.New("a zone belongs in the time zone of the schedule")
		case strings.HasPrefix(expression, "@every"):
			return nil, errors.New("@every has no fixed times; use an interval such as R//PT1H")
		}
		parsed, err := parse(expression)
		if err != nil {
			return nil, err
		}
		return schedule.FromNext(strings.TrimSpace(expression)+" "+zone.String(), func(after time.Time) time.Time {
			return parsed.Next(after.In(zone))
		}), nil
	}
}
