package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scheduled"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
)

// clockNotes tells which occurrences of a cron expression clocks skip or show twice, from a time until the last
// that was found.
func clockNotes(text string, zone *time.Location, from time.Time, found []occurrence) (notes []string) {
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1].Time
	for _, change := from.In(zone).ZoneBounds(); !change.IsZero() && !change.After(last); _, change = change.ZoneBounds() {
		_, before := change.Add(-1).Zone()
		_, after := change.Zone()
		span := time.Duration(after-before) * time.Second
		start := change.In(time.FixedZone("", before)) // as clocks went on without the change
		shown := "skip " + period(start, span)
		if span < 0 {
			start, span = start.Add(span), -span
			shown = "show " + period(start, span) + " twice"
		}
		if n, first := occurrencesIn(text, start, span); n > 0 {
			notes = append(notes, fmt.Sprintf("clocks in %s %s, and with it %s, the first at %s",
				zone, shown, field.Plural(n, "occurrence"), first.Format(time.TimeOnly)))
		}
	}
	return notes
}

func period(start time.Time, span time.Duration) string {
	return start.Format("2006-01-02 15:04") + " to " + start.Add(span).Format("15:04")
}

// occurrencesIn counts the occurrences in a span of time, in the zone of its start, and returns the first.
func occurrencesIn(text string, start time.Time, span time.Duration) (n int, first time.Time) {
	s, err := scheduled.Cron(text, start.Location())
	if err != nil {
		return 0, first
	}
	times := s.From(start)
	next, ok := times.Next(start.Add(-1))
	for first = next; ok && next.Before(start.Add(span)); next, ok = times.Next(next) {
		n++
	}
	return n, first.In(start.Location())
}

func cronJobs(s input.Source) (found []*batchv1.CronJob) {
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(s.Data), 4096)
	for {
		c := &batchv1.CronJob{}
		if err := documents.Decode(c); errors.Is(err, io.EOF) || (err != nil && c.Kind == "") {
			return found
		}
		if c.Kind == "CronJob" {
			found = append(found, c)
		}
	}
}

func (n *nextCommand) cronJob(out io.Writer, c *batchv1.CronJob, now time.Time) error {
	zone := time.UTC // of the controller-manager, where a CronJob names none
	var notes []string
	if name := c.Spec.TimeZone; name == nil {
		notes = append(notes, "no timeZone: the schedule is in the zone of kube-controller-manager, usually UTC")
	} else if loaded, err := time.LoadLocation(*name); err != nil {
		return fmt.Errorf("CronJob %s: spec.timeZone: unknown time zone %q; use a name such as Europe/Berlin", c.Name, *name)
	} else {
		zone = loaded
	}
	from, created, err := n.times(now)
	if err != nil {
		return err
	}
	s, err := parseSchedule(c.Spec.Schedule, zone)
	if err != nil {
		return fmt.Errorf("CronJob %s: %w", c.Name, err)
	}
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		notes = append(notes, "spec.suspend is true: no run starts")
	}
	return n.write(out, map[string]any{"name": c.Name}, schedule.Policy{Schedule: s}, c.Spec.Schedule, created, from, notes)
}
