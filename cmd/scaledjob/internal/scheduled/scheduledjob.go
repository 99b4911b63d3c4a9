// Package scheduled reads ScheduledJobs and cron expressions, and explains and checks them.
package scheduled

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

// Cron reads a cron expression in a zone as a CronJob does.
var Cron = scheduledjob.Cron(cron.ParseStandard)

// IsCron reports whether a text is meant as a cron expression: it begins with @, or has
// several words and does not look like an interval.
func IsCron(text string) bool {
	looksLikeInterval := strings.HasPrefix(text, "R") || strings.Contains(text, "/P")
	return strings.HasPrefix(text, "@") || len(strings.Fields(text)) > 1 && !looksLikeInterval
}

// In returns the ScheduledJobs of a source. Without one there is no error.
func In(s input.Source) ([]*scheduledjob.ScheduledJob, error) {
	if !bytes.Contains(s.Data, []byte(scheduledjob.GroupVersionKind.Kind)) { // most sources, which are then not parsed
		return nil, nil
	}
	if !slices.ContainsFunc(manifest.Objects(s.Data), func(o manifest.Object) bool { return o.Kind == scheduledjob.GroupVersionKind.Kind }) {
		return nil, nil
	}
	if err := s.Rendered(); err != nil {
		return nil, err
	}
	found, err := scheduledjob.Read(s.Data)
	return found, input.WrapEach(err, func(e error) error { return fmt.Errorf("%s: %w", s.Name, e) })
}

// Read reads a ScheduledJob of the cluster.
func Read(ctx context.Context, c *cluster.Client, name string) (*scheduledjob.ScheduledJob, error) {
	where := fmt.Sprintf("ScheduledJob %s in namespace %s", name, c.Namespace)
	group := scheduledjob.GroupVersionKind.GroupVersion().String()
	data, err := c.Object(ctx, group, "scheduledjobs", name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	found, err := In(input.Source{Name: where, Data: data})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: the API server returned another kind", where)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Config returns the configuration of a ScheduledJob, and its occurrences; nil without a
// schedule. A ScheduledJob that is not in a cluster is created at another time.
func Config(s *scheduledjob.ScheduledJob, created time.Time) (c scheduledjob.Config, due schedule.Occurrences, err error) {
	if s.CreationTimestamp.IsZero() {
		s.CreationTimestamp.Time = created
	}
	c, err = s.Config(scheduledjob.Inputs{Cron: Cron})
	if err != nil {
		return c, nil, input.WrapEach(err, func(e error) error { return fmt.Errorf("ScheduledJob %s: %w", s.Name, e) })
	}
	if c.Schedule.Schedule != nil {
		since := c.Schedule.Created
		if s.Status.Since.After(since) {
			since = s.Status.Since
		}
		due = c.Schedule.Schedule.From(since)
	}
	return c, due, nil
}

// Delayed returns a line about the delays of a ScheduledJob whose occurrences have none, because it is not in a cluster;
// else nothing.
func Delayed(s *scheduledjob.ScheduledJob) string {
	if of := s.Spec.Schedule; s.UID == "" && of != nil && of.JitterSeconds != nil {
		return fmt.Sprintf("each run is delayed by less than %d s, which depends on the UID in the cluster\n", *of.JitterSeconds)
	}
	return ""
}

// Explain prints the schedule of a ScheduledJob, and its status: which runs are
// active, which wait, and why.
func Explain(out io.Writer, s *scheduledjob.ScheduledJob, now time.Time) error {
	c, due, err := Config(s, now)
	if err != nil {
		return err
	}
	text := "on demand"
	d := schedule.Decision{State: s.Status.State, Suspended: c.Schedule.Suspended}
	switch held := schedule.Hold(s.Status.Reason); held { // which the runs do not show
	case schedule.Unknown:
		d.JobsUnknown = true
	case schedule.CatchingUp, schedule.StateFull:
		d.Held = held
	}
	if due != nil {
		text = c.Schedule.Schedule.String()
		d.NextRun, _ = due.Next(now)
		d.NextCheck = d.NextRun
	}
	report.Fit(out, 0)
	hold, why := d.Waits()
	_, err = fmt.Fprintf(out, "%s\nschedule %s, concurrency %s\n%s%s\n", s.Name, text, c.Schedule.Concurrency, Delayed(s), d)
	if err == nil && hold != schedule.NotHeld {
		_, err = fmt.Fprintf(out, "reason   %s: %s\n", hold, why)
	}
	for _, w := range c.Warnings {
		_, err = fmt.Fprintf(out, "warning  %s\n", w)
	}
	return err
}

// Lint returns what the controller rejects in the YAML of a ScheduledJob, and what may surprise its
// author.
func Lint(object []byte) (surprising []*field.Error, rejected error) {
	found, err := scheduledjob.Read(object)
	for _, j := range found {
		c, _, invalid := Config(j, time.Unix(0, 0).UTC())
		err, surprising = errors.Join(err, invalid), append(surprising, c.Warnings...)
	}
	return surprising, err
}
