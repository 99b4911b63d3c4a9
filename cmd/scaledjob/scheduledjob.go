package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/schedule"
)

// scheduledJobsIn returns the ScheduledJobs of a source. Without one there is no error.
func scheduledJobsIn(s input.Source) ([]*scheduledjob.ScheduledJob, error) {
	if !slices.ContainsFunc(manifest.Objects(s.Data), func(o manifest.Object) bool { return o.Kind == scheduledjob.GroupVersionKind.Kind }) {
		return nil, nil
	}
	found, err := scheduledjob.Read(s.Data)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.Name, err)
	}
	return found, err
}

// readScheduledJob reads a ScheduledJob of the cluster.
func readScheduledJob(ctx context.Context, c *cluster.Client, name string) (*scheduledjob.ScheduledJob, error) {
	where := fmt.Sprintf("ScheduledJob %s in namespace %s", name, c.Namespace)
	group := scheduledjob.GroupVersionKind.GroupVersion().String()
	data, err := c.Object(ctx, group, "scheduledjobs", name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	found, err := scheduledJobsIn(input.Source{Name: where, Data: data})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: the API server returned another kind", where)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// cronIn reads a cron expression in a zone, as a ScheduledJob has it.
func cronIn(text string, zone *time.Location) (schedule.Schedule, error) {
	if _, err := cronOccurrences(text, zone, time.Time{}); err != nil {
		return nil, err
	}
	return cronSchedule(text, zone), nil
}

// nextOf prints the next occurrences of a ScheduledJob, and why its runs wait.
func (n *nextCommand) nextOf(out io.Writer, s *scheduledjob.ScheduledJob, now time.Time) error {
	from, err := flagTime("from", n.from, now)
	if err != nil {
		return err
	}
	if s.CreationTimestamp.IsZero() {
		created, err := flagTime("created", n.created, from)
		if err != nil {
			return err
		}
		s.CreationTimestamp.Time = created
	}
	c, err := s.Config(scheduledjob.Inputs{Cron: cronIn})
	if err != nil {
		return fmt.Errorf("ScheduledJob %s: %w", s.Name, err)
	}
	found := []occurrence{}
	zone := time.UTC
	if o := s.Spec.Schedule; o != nil && o.TimeZone != "" {
		zone, _ = time.LoadLocation(o.TimeZone) // Config has read it
	}
	since := c.Schedule.Created
	if s.Status.Since.After(since) {
		since = s.Status.Since
	}
	if c.Schedule.Schedule != nil {
		all := c.Schedule.Schedule.From(since)
		for t, ok := all.Next(from.Add(-1)); ok && len(found) < n.n; t, ok = all.Next(t) {
			found = append(found, occurrence{Time: t, Local: localTime(t, zone)})
		}
	}
	if n.output.Text == "json" {
		return n.encode(out, map[string]any{"name": s.Name, "zone": zone.String(), "occurrences": found, "reason": s.Status.Reason})
	}
	if c.Schedule.Schedule == nil {
		fmt.Fprintln(out, "no schedule; runs are on demand, or after runs of other ScheduledJobs")
	} else if err := printOccurrences(out, found); err != nil {
		return err
	}
	if p := meta.FindStatusCondition(s.Status.Conditions, "Progressing"); s.Status.Reason != "" && p != nil {
		fmt.Fprintf(out, "runs wait: %s: %s\n", s.Status.Reason, p.Message)
	}
	return nil
}

// explainScheduled prints the schedule of a ScheduledJob, and its status: which runs are
// active, which wait, and why.
func explainScheduled(out io.Writer, s *scheduledjob.ScheduledJob, now time.Time) error {
	if s.CreationTimestamp.IsZero() {
		s.CreationTimestamp.Time = now
	}
	c, err := s.Config(scheduledjob.Inputs{Cron: cronIn})
	if err != nil {
		return fmt.Errorf("ScheduledJob %s: %w", s.Name, err)
	}
	text := "on demand"
	if c.Schedule.Schedule != nil {
		text = c.Schedule.Schedule.String()
	}
	d := schedule.Decision{State: s.Status.State, Suspended: c.Schedule.Suspended}
	if c.Schedule.Schedule != nil {
		since := c.Schedule.Created
		if s.Status.Since.After(since) {
			since = s.Status.Since
		}
		d.NextRun, _ = c.Schedule.Schedule.From(since).Next(now)
		d.NextCheck = d.NextRun
	}
	hold, why := d.Waits()
	_, err = fmt.Fprintf(out, "%s\nschedule %s, concurrency %s\n%s\n", s.Name, text, c.Schedule.Concurrency, d)
	if err == nil && hold != schedule.NotHeld {
		_, err = fmt.Fprintf(out, "reason   %s: %s\n", hold, why)
	}
	for _, w := range c.Warnings {
		_, err = fmt.Fprintf(out, "warning  %s\n", w)
	}
	return err
}

// lintScheduled prints the problems and warnings of the ScheduledJobs of a source, and reports
// whether there are problems.
func lintScheduled(out io.Writer, s input.Source) (checked, problems bool) {
	found, err := scheduledJobsIn(s)
	for _, j := range found {
		if j.CreationTimestamp.IsZero() {
			j.CreationTimestamp.Time = time.Unix(0, 0).UTC()
		}
		c, invalid := j.Config(scheduledjob.Inputs{Cron: cronIn})
		err = errors.Join(err, invalid)
		for _, w := range c.Warnings {
			fmt.Fprintf(out, "%s: warning: ScheduledJob %s: %v\n", s.Name, j.Name, w)
		}
	}
	if err != nil {
		fmt.Fprintf(out, "%s: error: %v\n", s.Name, err)
	}
	if err == nil && len(found) > 0 {
		fmt.Fprintf(out, "%s: %d ScheduledJob, no problem\n", s.Name, len(found))
	}
	return len(found) > 0 || err != nil, err != nil
}
