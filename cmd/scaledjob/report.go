package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\twait p50\tp95\tmax\tpeak queue\tJobs\tidle Jobs\tpeak Jobs\tbusy\tidle\t")
	for i := range r.Results {
		x := rowOf(&r.Results[i])
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t\n",
			shortened(x.Policy), x.P50, x.P95, x.Max, x.PeakQueue, x.Jobs, x.Empty, x.PeakJobs, x.Used, x.Idle)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(r.Verdict, "\n"))
	fmt.Fprint(out, "\n"+terminalCharts(r))
	if len(r.Points) == 0 {
		return nil
	}
	return printFront(out, r.Points)
}

func printFront(out io.Writer, points []simulation.Point) error {
	if len(picture.Best(points)) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nOf %d policies tried, these are the best: a shorter wait costs more.\n\n", len(points))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "policy\twait p95\tcost\tJobs\tfound nothing\t")
	for _, p := range picture.Best(points) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t\n", p.Summary.Policy, span(p.Summary.Wait.P95), span(p.Summary.Cost()), p.Summary.JobsCreated, p.Summary.IdleJobs)
	}
	return w.Flush()
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
		parts = append(parts, fmt.Sprintf("%s: %s, %s each", cmp.Or(q.Name, "items"), arrivals, q.Service))
	}
	if s.Duration > 0 {
		parts = append(parts, "for "+s.Duration.String())
	}
	parts = append(parts, fmt.Sprintf("startup %s", s.Jobs.Startup), "rules of "+r.Policies[0].Release.String(), fmt.Sprintf("%d seeds from %d", max(1, r.Seeds), s.Seed))
	return strings.Join(parts, "; ") + "."
}
