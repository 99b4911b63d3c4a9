package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/cluster"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scheduled"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/schedule"
	"github.com/scaledjob/scaledjob/schedule/interval"
)

// A nextCommand prints the next occurrences of a schedule.
type nextCommand struct {
	cluster.ClusterFlags
	zone, from, created, file string
	n                         int
	output                    input.Choice
}

const mostOccurrences = 10_000

const nextLong = `When does a schedule run next? A SCHEDULE is a cron expression of five fields or an ISO 8601 interval
(R[n]/[start]/duration, R[n]/start/end or R[n]/duration/end). With a FILE or a NAME, the schedule is a
ScheduledJob's; a NAME also shows why its runs wait.

A note follows an occurrence of an interval that clocks skip (gap) or show twice (overlap), or whose
month is too short (clamped month). A cron expression skips a time that clocks skip, and runs twice at
one that they show twice.

An edit of start, recurrence or zone starts the count anew, and nothing before it is due. Other edits
keep the count: R3 edited to R5 runs two more.`

const nextExample = `  $ scaledjob next 'R/T02:30:00/P1D' --zone Europe/Berlin --from 2026-03-28T00:00:00Z -n 2
  2026-03-28 02:30:00 +01:00 CET
  2026-03-29 03:30:00 +02:00 CEST
    gap: 2026-03-29 02:30:00 does not exist in Europe/Berlin; the clock shows 2026-03-29 03:30:00 instead

  scaledjob next '0 6 * * *'
  scaledjob next -f report.yaml
  scaledjob next report -n reports`

func newNext() *cobra.Command {
	n := &nextCommand{}
	c := &cobra.Command{
		Use:     "next SCHEDULE | next [-f] FILE | next NAME",
		Short:   "Print the next occurrences of a schedule or a ScheduledJob",
		Long:    nextLong,
		Example: nextExample,
		Args: func(_ *cobra.Command, args []string) error {
			if n.file != "" && len(args) == 0 {
				return nil
			}
			if len(args) != 1 || n.file != "" {
				return input.Usagef("found %s; use one interval, such as 'R/T02:30:00/P1D', or one cron expression, in quotes", field.Plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 { // explain takes a file like this, too
				info, err := os.Stat(args[0])
				if err == nil && info.IsDir() {
					return input.Usagef("%s: a directory; use a file with ScheduledJobs", args[0])
				}
				if err == nil && info.Mode().IsRegular() {
					n.file, args = args[0], nil
				}
			}
			named := len(args) == 1 && scheduledName.MatchString(args[0])
			if (named || n.file != "") && c.Flags().Changed("zone") {
				return input.Usagef("--zone: only for a schedule; a ScheduledJob or a CronJob has its own zone")
			}
			if named {
				return n.named(c.Context(), c.OutOrStdout(), strings.TrimPrefix(args[0], "scheduledjob/"), time.Now())
			}
			if n.Namespace != "" {
				count, err := strconv.Atoi(n.Namespace)
				if err != nil || c.Flags().Changed("count") {
					return input.Usagef("--namespace %q: only for the name of a ScheduledJob in the cluster", n.Namespace)
				}
				n.n = count
			}
			if n.file != "" {
				return n.inFile(c.InOrStdin(), c.OutOrStdout(), time.Now())
			}
			return n.run(c.OutOrStdout(), args[0], time.Now())
		},
	}
	n.ClusterFlags.Add(c)
	c.Flag("namespace").Usage = "with a NAME, its `namespace` (default the context's); with a SCHEDULE or FILE, the same as --count"
	c.Flags().StringVarP(&n.file, "file", "f", "", "`file` with ScheduledJobs; - is standard input")
	c.Flags().StringVar(&n.zone, "zone", "UTC", "time `zone`, such as Europe/Berlin")
	c.Flags().IntVar(&n.n, "count", 5, "`number` of occurrences")
	c.Flags().StringVar(&n.from, "from", "", "first `time`, such as 2026-03-28T00:00:00Z (default now)")
	c.Flags().StringVar(&n.created, "created", "", "creation `time`, before which nothing is due (default --from)")
	n.output.AddOutput(c, "text", "json")
	return c
}

// An occurrence is the JSON form of an occurrence. Its time is in the zone of the schedule.
type occurrence struct {
	Time  time.Time         `json:"time"`
	Delay schedule.Duration `json:"delay,omitzero"` // of the run, by jitterSeconds
	Local string            `json:"local"`
	Notes []interval.Note   `json:"notes,omitempty"`
}

func (n *nextCommand) run(out io.Writer, text string, now time.Time) error {
	zone, err := time.LoadLocation(n.zone)
	if err != nil || n.zone == "" || zone == time.Local {
		return input.Usagef("--zone %q: unknown time zone; use a name such as Europe/Berlin", n.zone)
	}
	from, created, err := n.times(now)
	if err != nil {
		return err
	}
	s, err := parseSchedule(text, zone)
	if err != nil {
		return err
	}
	kind := "interval"
	if scheduled.IsCron(text) {
		kind = "cron"
	}
	return n.write(out, map[string]any{kind: strings.TrimSuffix(s.String(), " "+zone.String())}, schedule.Policy{Schedule: s}, text, created, from, nil)
}

// write prints the next occurrences of a policy that has held since begin, and notes. Fields are what JSON has besides.
func (n *nextCommand) write(out io.Writer, fields map[string]any, p schedule.Policy, text string, begin, from time.Time, notes []string) error {
	zone, found := time.UTC, []occurrence{}
	if p.Schedule != nil {
		zone, found = p.Schedule.Zone(), n.occurrences(p, begin, from)
		notes = append(notes, cronNotes(p.Schedule, text, from, found)...)
	}
	if n.output.Text == "json" {
		fields["zone"], fields["occurrences"] = zone.String(), found
		if notes != nil {
			fields["notes"] = notes
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(fields)
	}
	report.Fit(out, 0)
	switch {
	case p.Schedule == nil:
		fmt.Fprintln(out, "no schedule; runs are on demand, or after runs of other ScheduledJobs")
	case len(found) == 0:
		fmt.Fprintln(out, "no more occurrences")
	}
	for _, o := range found {
		line := o.Local
		if o.Delay > 0 {
			line += ", delayed by " + o.Delay.String()
		}
		for _, note := range o.Notes {
			line += "\n  " + note.Kind + ": " + note.Text
		}
		fmt.Fprintln(out, line)
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(out, "note: "+note); err != nil {
			return err
		}
	}
	return nil
}

// times returns the times of --from and --created, if the flags are valid.
func (n *nextCommand) times(now time.Time) (from, created time.Time, err error) {
	if n.n < 1 || n.n > mostOccurrences {
		return from, created, input.Usagef("--count %d: out of range; use 1 to %d", n.n, mostOccurrences)
	}
	if from, err = flagTime("from", n.from, now); err == nil {
		created, err = flagTime("created", n.created, from)
	}
	return from, created, err
}

// occurrences returns the next occurrences at or after a time, of a policy that has held since begin.
func (n *nextCommand) occurrences(p schedule.Policy, begin, from time.Time) []occurrence {
	found := []occurrence{}
	o, ok := p.Next(begin, from.Add(-1))
	for ; ok && len(found) < n.n; o, ok = p.Next(begin, o.Time) {
		next := occurrence{Time: o.Time, Delay: o.Delay, Local: o.Time.In(p.Schedule.Zone()).Format("2006-01-02 15:04:05.999999999 -07:00 MST")}
		if all, isInterval := p.Schedule.From(begin).(interval.Occurrences); isInterval {
			next.Notes = all.Notes(o.Time)
		}
		found = append(found, next)
	}
	return found
}

// cronNotes returns what may surprise in a cron expression. Other texts have none.
func cronNotes(s schedule.Schedule, text string, from time.Time, found []occurrence) (notes []string) {
	if !scheduled.IsCron(text) {
		return nil
	}
	for _, note := range scheduledjob.CronNotes(text) {
		notes = append(notes, note.Found+"; use "+note.Fix)
	}
	if len(found) == 0 {
		notes = append(notes, scheduled.NeverOccurs(text))
	}
	return append(notes, clockNotes(text, s.Zone(), from, found)...)
}

// scheduledName matches the name of a ScheduledJob, and no schedule.
var scheduledName = regexp.MustCompile(`^(scheduledjob/)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func (n *nextCommand) named(ctx context.Context, out io.Writer, name string, now time.Time) error {
	client, err := n.ClusterFlags.Client()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s, err := scheduled.Read(ctx, client, name)
	if err != nil {
		return err
	}
	return n.nextOf(out, s, now)
}

func (n *nextCommand) inFile(stdin io.Reader, out io.Writer, now time.Time) error {
	s, err := input.ReadSource(n.file, stdin, input.MaxManifest)
	if err != nil {
		return err
	}
	found, err := scheduled.In(s)
	crons := cronJobs(s)
	for _, c := range crons {
		if len(crons)+len(found) > 1 && n.output.Text != "json" {
			fmt.Fprintf(out, "%s:\n", c.Name)
		}
		err = errors.Join(err, n.cronJob(out, c, now))
	}
	if err == nil && len(found)+len(crons) == 0 {
		err = cmp.Or(s.Rendered(), fmt.Errorf("%s: found no ScheduledJob and no CronJob; use a file that has one", s.Name))
	}
	for _, j := range found {
		if len(found) > 1 && n.output.Text != "json" {
			fmt.Fprintf(out, "%s:\n", j.Name)
		}
		err = errors.Join(err, n.nextOf(out, j, now))
	}
	return err
}

func parseSchedule(text string, zone *time.Location) (schedule.Schedule, error) {
	if scheduled.IsCron(text) {
		s, err := scheduledjob.Cron(parseCron)(text, zone)
		if err != nil {
			return nil, input.Usagef("cron expression %q: %v", text, err)
		}
		return s, nil
	}
	i, err := interval.Parse(text)
	if err != nil {
		return nil, input.Usagef("interval %q: %v", text, err)
	}
	return schedule.ISO8601(i, zone), nil
}

// parseCron adds to an error of the parser what to use.
func parseCron(text string) (cron.Schedule, error) {
	s, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("%w; use five fields, such as '30 2 * * *', or @daily", err)
	}
	return s, nil
}

// flagTime returns the time of a flag, or another time if the flag is empty.
func flagTime(name, text string, other time.Time) (time.Time, error) {
	if text == "" {
		return other, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.IsZero() {
		return t, input.Usagef("--%s %q: invalid time; use one such as 2026-03-28T00:00:00Z", name, text)
	}
	return t, nil
}

// nextOf prints the next occurrences of a ScheduledJob, and why its runs wait.
func (n *nextCommand) nextOf(out io.Writer, s *scheduledjob.ScheduledJob, now time.Time) error {
	from, created, err := n.times(now)
	if err != nil {
		return err
	}
	c, err := scheduled.Config(s, created)
	if err != nil {
		return err
	}
	fields, text, notes := map[string]any{"name": s.Name, "suspended": c.Policy.Suspended, "reason": s.Status.Reason}, "", []string(nil)
	if s.Spec.Schedule != nil {
		text = s.Spec.Schedule.Cron
	}
	if c.Policy.Suspended {
		notes = append(notes, "spec.suspend is true: no scheduled run starts")
	}
	if err := n.write(out, fields, c.Policy, text, scheduled.Begin(s), from, notes); err != nil || n.output.Text == "json" {
		return err
	}
	fmt.Fprint(out, scheduled.Delayed(s))
	if p := meta.FindStatusCondition(s.Status.Conditions, "Progressing"); s.Status.Reason != "" && p != nil {
		fmt.Fprintf(out, "runs wait: %s: %s\n", s.Status.Reason, p.Message)
	}
	return nil
}
