package scheduledjob

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/schedule"
)

// Cron returns the Cron of [Inputs], which reads expressions as a CronJob does: a time that the clocks of
// the zone skip has no run, and one that they repeat has two. parse is ParseStandard of github.com/robfig/cron/v3, which Kubernetes
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
			return nil, errors.New("it names a zone; use the expression alone, and give the zone beside it")
		case strings.HasPrefix(expression, "@every"):
			return nil, errors.New("@every has no fixed times; use an interval such as R//PT1H")
		}
		parsed, err := parse(expression)
		if err != nil {
			return nil, err
		}
		text := strings.TrimSpace(expression)
		return schedule.FromNext(text, identity(text, parsed), zone, func(after time.Time) time.Time {
			return parsed.Next(after.In(zone))
		}), nil
	}
}

// identity returns the values of a parsed expression as text, or the expression if it shows none.
func identity(expression string, parsed any) string {
	values, err := json.Marshal(parsed)
	if err != nil || len(values) <= len("{}") {
		return expression
	}
	sum := sha256.Sum256(values)
	return hex.EncodeToString(sum[:8])
}

// A CronNote is what may surprise in a cron expression, and what to use instead.
type CronNote struct{ Found, Fix string }

// CronNotes returns what may surprise in a valid cron expression of five fields: a step that does not
// divide the hour or the day, and days that match the day of month or the day of week.
func CronNotes(expression string) (notes []CronNote) {
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return nil
	}
	for _, unit := range []struct {
		name, pattern, letter, field string
		size                         int
	}{{"minute", "hour", "M", fields[0], 60}, {"hour", "day", "H", fields[1], 24}} {
		step, _ := strconv.Atoi(strings.TrimPrefix(unit.field, "*/"))
		if step < 1 || unit.size%step == 0 || !strings.HasPrefix(unit.field, "*/") {
			continue
		}
		last := (unit.size - 1) / step * step
		found := fmt.Sprintf("%s as %s: %[2]s 0 of each %[3]s only", unit.field, unit.name, unit.pattern)
		if last > 0 {
			found = fmt.Sprintf("%s as %s: the last of each %s is %d, and the next is 0", unit.field, unit.name, unit.pattern, last)
		}
		notes = append(notes, CronNote{found, fmt.Sprintf("the timeSpec R//PT%d%s for a run every %[1]d %[3]ss", step, unit.letter, unit.name)})
	}
	if isRestricted(fields[2]) && isRestricted(fields[4]) {
		notes = append(notes, CronNote{fmt.Sprintf("%s as day of month and %s as day of week: a day that matches one of them is enough", fields[2], fields[4]),
			"* for one of them, unless that is meant"})
	}
	return notes
}

func isRestricted(day string) bool { return day != "*" && day != "?" && day != "*/1" }
