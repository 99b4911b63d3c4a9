// Package scheduled reads ScheduledJobs and cron expressions, and explains and checks them.
package scheduled

import (
	"bytes"
	"cmp"
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
	return strings.HasPrefix(text, "@") || (len(strings.Fields(text)) > 1 && !looksLikeInterval)
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
	source, err := c.Object(ctx, scheduledjob.GroupVersionKind, name)
	if err != nil {
		return nil, err
	}
	found, err := In(source)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: the API server returned another kind", source.Name)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Config returns the configuration of a ScheduledJob. One that is not in a cluster is created at another
// time.
func Config(s *scheduledjob.ScheduledJob, created time.Time) (scheduledjob.Config, error) {
	if s.CreationTimestamp.IsZero() {
		s.CreationTimestamp.Time = created
	}
	c, err := s.Config(scheduledjob.Inputs{Cron: Cron})
	return c, input.WrapEach(err, func(e error) error { return fmt.Errorf("ScheduledJob %s: %w", s.Name, e) })
}

// Begin returns the time from which on the schedule of a ScheduledJob holds.
func Begin(s *scheduledjob.ScheduledJob) time.Time {
	return cmp.Or(s.Status.Begin, s.CreationTimestamp.Time)
}

// NeverOccurs returns why a cron expression has no occurrence: the parser looks five years ahead.
func NeverOccurs(expression string) string {
	return fmt.Sprintf("no occurrence: no day of the next five years matches %q; 30 February, for example, does not exist", expression)
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
	c, err := Config(s, now)
	if err != nil {
		return err
	}
	text, policy := "on demand", c.Policy
	d := schedule.Decision{Checkpoint: s.Status.Checkpoint, Suspended: policy.Suspended}
	switch reason := schedule.Reason(s.Status.Reason); reason { // which the runs do not show
	case schedule.JobsUnknown:
		d.JobsUnknown = true
	case schedule.CatchingUp, schedule.StateFull:
		d.Held = reason
	case schedule.ClockAhead:
		d.Clock = now
	}
	if policy.Schedule != nil {
		text = policy.Schedule.String()
	}
	if next, ok := policy.Next(Begin(s), now); ok {
		d.NextRun, d.NextCheck = next, next.Due().UTC()
	}
	report.Fit(out, 0)
	reason, message := d.Waits()
	_, err = fmt.Fprintf(out, "%s\nschedule %s, concurrency %s\n%s%s\n", s.Name, text, policy.Concurrency, Delayed(s), d)
	if err == nil && reason != "" {
		_, err = fmt.Fprintf(out, "reason   %s: %s\n", reason, message)
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
		c, invalid := Config(j, time.Unix(0, 0).UTC())
		err, surprising = errors.Join(err, invalid), append(surprising, c.Warnings...)
	}
	return surprising, err
}
