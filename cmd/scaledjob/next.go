package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A nextCommand prints the next occurrences of a schedule.
type nextCommand struct {
	zone, from, created string
	n                   int
	output              choice
}

// mostOccurrences is the most that next prints.
const mostOccurrences = 10_000

func newNext() *cobra.Command {
	n := &nextCommand{}
	c := &cobra.Command{
		Use:   "next SCHEDULE",
		Short: "Print the next occurrences of a repeating interval or cron expression",
		Long: `Print the next occurrences of a schedule: an ISO 8601 repeating interval, such as
the timeSpec of a ScheduledJob (R[n]/[start]/duration, R[n]/start/end or
R[n]/duration/end), or a cron expression of five fields.

A note follows an occurrence of an interval that clocks skip (gap), that they show
twice (overlap), or whose month is too short (clamped month). A cron expression has no
occurrence at a time that clocks skip.`,
		Example: "  scaledjob next 'R/T02:30:00/P1D' --zone Europe/Berlin -n 5\n  scaledjob next '0 6 * * *'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("found %d arguments; use one interval, such as 'R/T02:30:00/P1D', or one cron expression, in quotes", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return n.run(c.OutOrStdout(), args[0], time.Now()) },
	}
	c.Flags().StringVar(&n.zone, "zone", "UTC", "time `zone`, such as Europe/Berlin")
	c.Flags().IntVarP(&n.n, "count", "n", 5, "`number` of occurrences")
	c.Flags().StringVar(&n.from, "from", "", "print occurrences at or after this `time`, such as 2026-03-28T00:00:00Z (default now)")
	c.Flags().StringVar(&n.created, "created", "", "creation `time` of the job, before which nothing is due (default --from)")
	n.output.addOutput(c, "text", "json")
	return c
}

// An occurrence is the JSON form of an occurrence.
type occurrence struct {
	Time  time.Time       `json:"time"`
	Local string          `json:"local"`
	Notes []interval.Note `json:"notes,omitempty"`
}

func (n *nextCommand) run(out io.Writer, text string, now time.Time) error {
	zone, err := time.LoadLocation(n.zone)
	if err != nil || n.zone == "" || zone == time.Local {
		return usagef("--zone %q: unknown time zone; use a name such as Europe/Berlin", n.zone)
	}
	if n.n < 1 || n.n > mostOccurrences {
		return usagef("--count %d: out of range; use 1 to %d", n.n, mostOccurrences)
	}
	from, err := flagTime("from", n.from, now)
	if err != nil {
		return err
	}
	created, err := flagTime("created", n.created, from)
	if err != nil {
		return err
	}
	s, err := parseSchedule(text, zone, created)
	if err != nil {
		return err
	}
	found := []occurrence{}
	t, ok := s.Next(from.Add(-1))
	for ; ok && len(found) < n.n; t, ok = s.Next(t) {
		found = append(found, occurrence{t, t.In(zone).Format("2006-01-02 15:04:05.999999999 -07:00 MST"), s.notes(t)})
	}
	if n.output.text == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{s.kind: s.text, "zone": n.zone, "occurrences": found})
	}
	return printOccurrences(out, found)
}

// A parsed is a schedule of either notation.
type parsed struct {
	schedule.Occurrences
	kind, text string // kind is interval or cron
	notes      func(time.Time) []interval.Note
}

func parseSchedule(text string, zone *time.Location, created time.Time) (parsed, error) {
	if isCron(text) {
		all, err := cronOccurrences(text, zone, created)
		if err != nil {
			return parsed{}, usagef("cron expression %q: %v", text, err)
		}
		return parsed{all, "cron", text, none}, nil
	}
	i, err := interval.Parse(text)
	if err != nil {
		return parsed{}, usagef("interval %q: %v", text, err)
	}
	all, err := i.Occurrences(created, zone)
	return parsed{all, "interval", i.String(), all.Notes}, err
}

func printOccurrences(out io.Writer, found []occurrence) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no more occurrences")
		return err
	}
	for _, o := range found {
		line := o.Local
		for _, note := range o.Notes {
			line += "\n  " + note.Kind + ": " + note.Text
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// flagTime returns the time of a flag, or another time if the flag is empty.
func flagTime(name, text string, other time.Time) (time.Time, error) {
	if text == "" {
		return other, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.IsZero() {
		return t, usagef("--%s %q: invalid time; use one such as 2026-03-28T00:00:00Z", name, text)
	}
	return t, nil
}
