package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/schedule"
)

// macros are the schedules that Kubernetes accepts by a name.
var macros = map[string]string{"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *"}

// cronJobs returns the CronJobs of a source.
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

// cronJob prints the next occurrences of a CronJob.
func (n *nextCommand) cronJob(out io.Writer, c *batchv1.CronJob, now time.Time) error {
	zone := time.UTC // of the controller-manager, where a CronJob names none
	var notes []string
	if name := c.Spec.TimeZone; name == nil {
		notes = append(notes, "no timeZone: the schedule is in the zone of kube-controller-manager, usually UTC")
	} else if loaded, err := time.LoadLocation(*name); err != nil {
		return fmt.Errorf("CronJob %s: spec.timeZone: unknown time zone %q", c.Name, *name)
	} else {
		zone = loaded
	}
	from, created, err := n.times(now)
	if err != nil {
		return err
	}
	text := cmp.Or(macros[c.Spec.Schedule], c.Spec.Schedule)
	s, err := parseSchedule(text, zone)
	if err != nil {
		return fmt.Errorf("CronJob %s: %w", c.Name, err)
	}
	found := n.occurrences(schedule.Policy{Schedule: s}, created, from)
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		notes = append(notes, "spec.suspend is true: no run starts")
	}
	notes = append(notes, cronNotes(s, text, from, found)...)
	if n.output.Text == "json" {
		return n.encode(out, map[string]any{"name": c.Name, "zone": zone.String(), "occurrences": found}, notes)
	}
	return printOccurrences(out, found, notes)
}
