package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/internal/wrap"
	"github.com/scaledjob/scaledjob/simulation"
)

// A row is a policy in the table of a report.
type row struct {
	Policy                                 string
	Drained, P50, P95, Max, Used, Idle     string
	PeakQueue, Jobs, Empty, PeakJobs, Over int64
	Left, Duplicated                       int64
}

func rowOf(r *simulation.Result) row {
	s := &r.Summary
	drained := "never"
	if s.DrainSeconds != nil {
		drained = span(*s.DrainSeconds)
	}
	return row{
		Policy: name(r), Drained: drained, P50: span(s.Wait.P50), P95: span(s.Wait.P95), Max: span(s.Wait.Max),
		Used: span(s.BusySeconds), Idle: span(s.IdleSeconds), PeakQueue: s.PeakQueue,
		Jobs: s.JobsCreated, Empty: s.IdleJobs, PeakJobs: s.PeakJobs, Over: s.ExcessOverMax, Left: left(s), Duplicated: s.Duplicated,
	}
}

func printTable(out io.Writer, r *report) error {
	if err := printAssumptions(out, r.Assumptions); err != nil {
		return err
	}
	rows := [][]string{{"policy", "wait p50", "p95", "max", "peak queue", "Jobs", "idle Jobs", "peak Jobs", "busy", "idle"}}
	for i := range r.Results {
		x := rowOf(&r.Results[i])
		rows = append(rows, []string{x.Policy, x.P50, x.P95, x.Max, fmt.Sprint(x.PeakQueue), fmt.Sprint(x.Jobs), fmt.Sprint(x.Empty),
			fmt.Sprint(x.PeakJobs), x.Used, x.Idle})
	}
	fmt.Fprint(out, aligned("", true, rows), "\n")
	for _, line := range r.Verdict {
		fmt.Fprintln(out, strings.Join(wrap.Lines(line, "    "), "\n"))
	}
	fmt.Fprint(out, "\n", terminalCharts(r))
	best := picture.Best(r.Points)
	if len(best) == 0 {
		return nil
	}
	rows = [][]string{{"policy", "wait p95", "cost", "Jobs", "idle Jobs"}}
	for _, p := range best {
		s := &p.Summary
		rows = append(rows, []string{s.Policy, span(s.Wait.P95), span(s.Cost()), fmt.Sprint(s.JobsCreated), fmt.Sprint(s.IdleJobs)})
	}
	_, err := fmt.Fprintf(out, "\nOf %d policies tried, these are the best: a shorter wait costs more.\n\n%s", len(r.Points), aligned("", true, rows))
	return err
}

// aligned returns a table in at most wrap.Columns: the widest columns are cut off if
// needed. All columns but the first are at the right, if wanted.
func aligned(indent string, right bool, rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for {
		var b strings.Builder
		longest := 0
		for _, row := range rows {
			line := indent
			for i, cell := range row {
				cell = cut(cell, widths[i])
				pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
				if i > 0 && right {
					line += pad + cell + "  "
				} else {
					line += cell + pad + "  "
				}
			}
			line = strings.TrimRight(line, " ")
			longest = max(longest, utf8.RuneCountInString(line))
			b.WriteString(line + "\n")
		}
		if longest <= wrap.Columns {
			return b.String()
		}
		widths[slices.Index(widths, slices.Max(widths))]--
	}
}

// cut returns the beginning of a text that is longer than n.
func cut(text string, n int) string {
	if letters := []rune(text); len(letters) > n {
		return string(letters[:n-1]) + "…"
	}
	return text
}

// charts returns the chart of a search, if there was one, and the charts of the runs.
func (r *report) charts() []string {
	var all []string
	if len(r.Points) > 0 {
		all = append(all, picture.Front(r.Points, &r.Results[0].Summary))
	}
	if len(r.Measured) > 0 {
		all = append(all, picture.Measured(r.Results, r.Measured))
	}
	return append(all, picture.Items(r.Results), picture.Jobs(r.Results, r.Capacity.Max), picture.Waits(r.Results))
}

func writeSVG(w io.Writer, r *report) error {
	_, err := w.Write(picture.Sheet(r.charts()...))
	return err
}

// writeCSV writes a line for each poll of each policy.
func writeCSV(w io.Writer, r *report) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"policy", "seconds", "metric", "created", "rule", "queued", "in_progress", "done", "lost", "running", "pending", "finished"}); err != nil {
		return err
	}
	for i := range r.Results {
		for _, t := range r.Results[i].Ticks {
			line := []string{name(&r.Results[i]), strconv.FormatFloat(t.Seconds, 'g', -1, 64), strconv.FormatFloat(t.Metric, 'g', -1, 64)}
			line = append(line, strconv.FormatInt(t.Created, 10), t.Rule)
			for _, n := range []int64{t.Queued, t.InProgress, t.Done, t.Lost, t.Running, t.Pending, t.Finished} {
				line = append(line, strconv.FormatInt(n, 10))
			}
			if err := c.Write(line); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

// Workload describes the items, the Jobs and the rules in a single line.
func (r *report) Workload() string {
	s := &r.Scenario
	var parts []string
	for i := range s.Queues {
		q := &s.Queues[i]
		arrivals := q.Arrivals.String()
		if len(q.Trace) > 0 {
			arrivals = fmt.Sprintf("a trace of %d rows", len(q.Trace))
		}
		parts = append(parts, fmt.Sprintf("%s: %s, %s each", cmp.Or(q.Name, "items"), arrivals, brief(q.Service)))
	}
	if s.Duration > 0 {
		parts = append(parts, "for "+s.Duration.String())
	}
	parts = append(parts, fmt.Sprintf("startup %s", brief(s.Jobs.Startup)))
	parts = append(parts, faults(s)...)
	seeds := fmt.Sprintf("%d seeds from %d", r.Seeds, s.Seed)
	if r.Seeds < 2 {
		seeds = fmt.Sprintf("seed %d", s.Seed)
	}
	parts = append(parts, "rules of "+r.Policies[0].Release.String(), seeds)
	return strings.Join(parts, "; ") + "."
}

// faults describes what does not work at all times: metrics, clusters and pods.
func faults(s *simulation.Scenario) (parts []string) {
	for _, q := range s.Queues {
		of := strings.TrimSpace("metric " + q.Name)
		if q.Staleness > 0 {
			parts = append(parts, fmt.Sprintf("%s %s old", of, q.Staleness))
		}
		for _, o := range q.Outages {
			parts = append(parts, fmt.Sprintf("%s unreadable from %s to %s", of, o.From, o.Until))
		}
	}
	for _, c := range s.Clusters {
		of := strings.TrimSpace("cluster " + c.Name)
		if c.ListAge > 0 {
			parts = append(parts, fmt.Sprintf("list of Jobs of the %s %s old", of, c.ListAge))
		}
		for _, o := range c.Outages {
			parts = append(parts, fmt.Sprintf("%s %s from %s to %s", of, cmp.Or(o.Kind, simulation.Down), o.From, o.Until))
		}
	}
	if p := s.Jobs.FailureProbability; p > 0 {
		parts = append(parts, fmt.Sprintf("pods fail at %s %% of the items", strconv.FormatFloat(p*100, 'g', 3, 64)))
	}
	return parts
}

// brief returns a distribution without its recorded values.
func brief(d simulation.Distribution) string {
	if d.Shape == simulation.Recorded && len(d.Values) > 3 {
		return fmt.Sprintf("%d recorded times from %s to %s", len(d.Values), slices.Min(d.Values), slices.Max(d.Values))
	}
	return d.String()
}
