package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
)

// table returns the columns of a place, a row for each policy, after the heads.
func (r *findings) table(where places) [][]string {
	all := columnsAt(where)
	rows := [][]string{{"policy"}}
	for _, c := range all {
		rows[0] = append(rows[0], c.name)
	}
	if r.Price > 0 {
		rows[0] = append(rows[0], "cost")
	}
	for i := range r.Study.Samples {
		row := []string{r.Study.Samples[i].Policy}
		for _, c := range all {
			row = append(row, c.cell(r.Study, i))
		}
		if r.Price > 0 {
			row = append(row, fmt.Sprintf("%.2f", r.Study.Estimate(i, (*simulation.Summary).Cost).Mean/3600*r.Price))
		}
		rows = append(rows, row)
	}
	return rows
}

func printTable(out io.Writer, r *findings) error {
	if err := printAssumptions(out, r.Assumptions); err != nil {
		return err
	}
	heads := len(r.Capacities) + len(r.Objectives)
	for _, line := range r.Verdict[:heads] {
		fmt.Fprintln(out, strings.Join(report.Lines(line, "    ", report.Columns), "\n"))
	}
	fmt.Fprint(out, "\n", report.Tabulated(r.table(onTerminal)), "\n")
	for _, line := range r.Verdict[heads:] {
		fmt.Fprintln(out, strings.Join(report.Lines(line, "    ", report.Columns), "\n"))
	}
	_, err := fmt.Fprint(out, "\n", terminalCharts(r))
	return err
}

// charts returns the charts of a report.
func (r *findings) charts() []string {
	all := picture.Loads(r.Capacities)
	if len(r.Measured) > 0 {
		all = append(all, picture.Measured(r.Study, r.Measured)...)
	}
	all = append(all, picture.Items(r.Study)...)
	all = append(all, picture.Jobs(r.Study, r.Capacities[0].Load.Max)...)
	return append(all, picture.Waits(r.Study)...)
}

func writeSVG(w io.Writer, r *findings) error {
	_, err := w.Write(picture.Sheet(r.charts()...))
	return err
}

// writeCSV writes a line for each poll of the first run of each policy.
func writeCSV(w io.Writer, r *findings) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"policy", "seconds", "metric", "created", "rule", "queued", "in_progress", "done", "lost", "running", "pending", "finished"}); err != nil {
		return err
	}
	for i := range r.Study.Samples {
		first := &r.Study.Samples[i].First
		for _, t := range first.Ticks {
			line := []string{first.Summary.Policy, strconv.FormatFloat(t.Seconds, 'g', -1, 64), strconv.FormatFloat(t.Metric, 'g', -1, 64)}
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
func (r *findings) Workload() string {
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
	parts = append(parts, "rules of "+r.Policies[0].Release.String(), fmt.Sprintf("%s from %d", r.Study, s.Seed))
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
	text := d.String()
	if values, recorded := strings.CutPrefix(text, "recorded:"); recorded && strings.Count(values, ",") > 2 {
		return fmt.Sprintf("%d recorded times, %s on average", strings.Count(values, ",")+1, d.Mean())
	}
	return text
}
