package main

import (
	"errors"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/scaledjob/scaledjob/schedule"
)

// parseCron reads a cron expression as a CronJob does, with the same parser. A time that
// the clocks of the zone skip has no run. An expression cannot name a zone, and @every is
// not accepted, because its times depend on when the program asks for them.
func parseCron(expression string, zone *time.Location) (schedule.Schedule, error) {
	switch {
	case strings.Contains(expression, "TZ"):
		return nil, errors.New("a zone belongs in timeZone")
	case strings.HasPrefix(expression, "@every"):
		return nil, errors.New("@every has no fixed times; use a timeSpec such as R//PT1H")
	}
	parsed, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, err
	}
	return schedule.FromNext(strings.TrimSpace(expression)+" "+zone.String(), func(after time.Time) time.Time {
		return parsed.Next(after.In(zone))
	}), nil
}
