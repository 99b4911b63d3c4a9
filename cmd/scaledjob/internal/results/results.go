// Package results prints the results of simulations: tables, verdicts, pages and charts. A
// number that a table shows is a column of columns.go.
package results

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// table returns the columns of a place, a row for each policy, after the heads.
func (r *Findings) table(where places) [][]string {
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

func printTable(out io.Writer, r *Findings) error {
	report.Fit(out, report.Columns)
	heads, columns := len(r.Capacities)+len(r.Objectives), report.Width(out)
	if rows := assumed(r.Assumptions); rows != nil {
		table := report.Aligned("  ", false, rows)
		if !report.Fits(table, columns) {
			table = ""
			for _, row := range rows {
				table += "  " + strings.Join(row, "  ") + "\n"
			}
		}
		fmt.Fprintf(out, "Assumptions, their sources, and the flags that change them:\n%s\n", table)
	}
	for _, line := range r.Verdict[:heads] {
		fmt.Fprintln(out, line)
	}
	fmt.Fprint(out, "\n", report.Tabulated(r.table(onTerminal), columns), "\n")
	for _, line := range r.Verdict[heads:] {
		fmt.Fprintln(out, line)
	}
	_, err := fmt.Fprint(out, "\n", terminalCharts(r, columns))
	return err
}

// charts returns the charts of a report.
func (r *Findings) charts() []string {
	all := picture.Loads(r.Capacities)
	if len(r.Measured) > 0 {
		all = append(all, picture.Measured(r.Study, r.Measured)...)
	}
	all = append(all, picture.Items(r.Study)...)
	all = append(all, picture.Jobs(r.Study, r.Capacities[0].Load.Max)...)
	return append(all, picture.Waits(r.Study)...)
}

func writeSVG(w io.Writer, r *Findings) error {
	_, err := w.Write(picture.Sheet(r.charts()...))
	return err
}

// writeCSV writes a line for each poll of the first run of each policy.
func writeCSV(w io.Writer, r *Findings) error {
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
func (r *Findings) Workload() string {
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
	if s.Jobs.Completion.Mean() > 0 {
		parts = append(parts, fmt.Sprintf("completion %s", brief(s.Jobs.Completion)))
	}
	parts = append(parts, faults(s)...)
	parts = append(parts, "rules of "+r.Policies[0].Release.String(), fmt.Sprintf("numbers are %s; the first seed is %d", r.Study, s.Seed))
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
			parts = append(parts, fmt.Sprintf("%s %s from %s to %s", of, cmp.Or(o.Kind, "down"), o.From, o.Until))
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

// Findings are the results of a simulation. All numbers of a policy are of the same replications.
type Findings struct {
	Scenario    simulation.Scenario   `json:"scenario"`
	Policies    []scenario.Policy     `json:"policies"`
	Assumptions []scenario.Assumption `json:"assumptions,omitempty"`
	Study       *study.Study          `json:"study"`
	Measured    []picture.Sample      `json:"measured,omitempty"`
	Capacities  []study.Capacity      `json:"capacities"`
	Objectives  []goalResult          `json:"objectives,omitempty"`
	Search      *searched             `json:"search,omitempty"`
	Price       float64               `json:"price,omitempty"` // of a pod for an hour
	Command     string                `json:"command"`         // to repeat the run
	Verdict     []string              `json:"verdict"`

	Goals []goal `json:"-"`
}

// Head returns the lines that decide whether the policies sustain the load.
func (r *Findings) Head() (lines []string) {
	for i := range r.Capacities {
		lines = append(lines, capacityLine(&r.Capacities[i], &r.Scenario))
	}
	return lines
}

// Judge fills in the objectives and the verdict, of pods that start within so many seconds on
// average.
func (r *Findings) Judge(startup float64) {
	r.Objectives = judged(r.Study, r.Goals)
	r.Verdict = append(r.Head(), r.results()...)
	r.Verdict = append(r.Verdict, verdict(r.Study, startup)...)
}

// results returns a line for each objective of each policy.
func (r *Findings) results() (lines []string) {
	for i := range r.Objectives {
		lines = append(lines, r.Goals[i%len(r.Goals)].lineOf(&r.Objectives[i])+".")
	}
	return lines
}

// Writer returns the writer of a format or a file. It is chosen before anything is played: a wrong name should not cost
// minutes.
func Writer(output string) (func(stdout io.Writer, r *Findings) error, error) {
	if output == "" {
		return printTable, nil
	}
	writeJSON := func(w io.Writer, r *Findings) error { return json.NewEncoder(w).Encode(r) }
	if output == "json" {
		return writeJSON, nil
	}
	formats := map[string]func(io.Writer, *Findings) error{".html": writeHTML, ".svg": writeSVG, ".csv": writeCSV, ".json": writeJSON}
	extension := output[max(0, strings.LastIndexByte(output, '.')):]
	format, ok := formats[extension]
	if !ok {
		return nil, input.Usagef("-o %q: want a file that ends with .html, .svg, .csv or .json, or json", output)
	}
	return func(stdout io.Writer, r *Findings) error {
		f, err := os.Create(output)
		if err != nil {
			return err
		}
		if err := errors.Join(format(f, r), f.Close()); err != nil {
			return err
		}
		if err := printTable(stdout, r); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "\nwritten: %s\n", output)
		return err
	}, nil
}

// assumed returns a row for each assumption.
func assumed(all []scenario.Assumption) (rows [][]string) {
	for _, a := range all {
		rows = append(rows, []string{a.Name, a.Value, a.Source, a.Flag})
	}
	return rows
}
