// Package results prints the results of simulations: verdicts, tables, pages and charts. A
// number that a table shows is a column of columns.go.
package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/picture"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// Findings are the results of a simulation. The numbers of a policy are those of the same replications.
type Findings struct {
	Verdict     []string              `json:"verdict"` // one to three sentences
	Details     []string              `json:"details"` // intervals, and their reasons
	Patch       string                `json:"patch,omitempty"`
	Scenario    simulation.Scenario   `json:"scenario"`
	Policies    []scenario.Policy     `json:"policies"`
	Assumptions []scenario.Assumption `json:"assumptions,omitempty"`
	Study       *study.Study          `json:"study"`
	Capacities  []study.Capacity      `json:"capacities"`
	Objectives  []goalResult          `json:"objectives,omitempty"`
	Search      *searched             `json:"search,omitempty"`
	Price       float64               `json:"price,omitempty"` // of a pod for an hour
	Command     string                `json:"command"`         // to repeat the run

	Goals      []goal `json:"-"`
	AllDetails bool   `json:"-"` // on the terminal
	units      units
}

// Writer returns the writer of a format or a file. It is chosen before anything is played: a wrong name should not cost
// minutes.
func Writer(output string) (func(stdout io.Writer, r *Findings) error, error) {
	writeJSON := func(w io.Writer, r *Findings) error { return json.NewEncoder(w).Encode(r) }
	switch output {
	case "":
		return printTerminal, nil
	case "json":
		return writeJSON, nil
	}
	formats := map[string]func(io.Writer, *Findings) error{".html": writeHTML, ".svg": writeSVG, ".json": writeJSON}
	extension := output[max(0, strings.LastIndexByte(output, '.')):]
	format, ok := formats[extension]
	if !ok {
		return nil, input.Usagef("-o %q: want a file that ends with .html, .svg or .json, or json", output)
	}
	return func(stdout io.Writer, r *Findings) error {
		if info, err := os.Lstat(output); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("-o %s: a link or no file; use another name", output)
		}
		f, err := os.Create(output)
		if err != nil {
			return err
		}
		if err := errors.Join(format(f, r), f.Close()); err != nil {
			return err
		}
		if err := printTerminal(stdout, r); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "\nwritten: %s\n", output)
		return err
	}, nil
}

// charts returns the charts of a report. The first two are the most important.
func (r *Findings) charts() []string {
	charts := append(picture.Items(r.Study), picture.Jobs(r.Study, r.Capacities[0].Load.Max)...)
	return append(charts, picture.Waits(r.Study)...)
}

func writeSVG(w io.Writer, r *Findings) error {
	_, err := w.Write(picture.Sheet(r.charts()...))
	return err
}

// workload describes the items, the Jobs and the rules in a single line.
func (r *Findings) workload() string {
	s := &r.Scenario
	var parts []string
	for i := range s.Queues {
		q := &s.Queues[i]
		arrivals := q.Arrivals.String()
		if len(q.Trace) > 0 {
			arrivals = fmt.Sprintf("a trace of %d rows", len(q.Trace))
		}
		if q.Watches != "" {
			parts = append(parts, fmt.Sprintf("%s: counts the %s items of %s", q.Name, cmp.Or(q.Metric, "waiting and active"), q.Watches))
		} else {
			parts = append(parts, fmt.Sprintf("%s: %s, %s each", cmp.Or(q.Name, "items"), arrivals, brief(q.Service)))
		}
	}
	if s.Duration > 0 {
		parts = append(parts, "for "+s.Duration.String())
	}
	parts = append(parts, fmt.Sprintf("startup %s", brief(s.Jobs.Startup)))
	if s.Jobs.WarmUp.Mean() > 0 {
		parts = append(parts, fmt.Sprintf("warm-up %s", brief(s.Jobs.WarmUp)))
	}
	if s.Jobs.Completion.Mean() > 0 {
		parts = append(parts, fmt.Sprintf("completion %s", brief(s.Jobs.Completion)))
	}
	parts = append(parts, faults(s)...)
	return strings.Join(append(parts, "rules of "+r.Policies[0].Release.String()), "; ") + "."
}

// numbers says of what the numbers are.
func (r *Findings) numbers() string {
	return fmt.Sprintf("Numbers: %s; the first seed is %d.", r.Study, r.Scenario.Seed)
}

// faults describes what fails at times: metrics, clusters and pods.
func faults(s *simulation.Scenario) (parts []string) {
	for _, q := range s.Queues {
		metric := strings.TrimSpace("metric " + q.Name)
		if q.Staleness > 0 {
			parts = append(parts, fmt.Sprintf("%s %s old", metric, q.Staleness))
		}
		for _, o := range q.Outages {
			parts = append(parts, fmt.Sprintf("%s unreadable from %s to %s", metric, o.From, o.Until))
		}
	}
	for _, c := range s.Clusters {
		cluster := strings.TrimSpace("cluster " + c.Name)
		if c.ListAge > 0 {
			parts = append(parts, fmt.Sprintf("list of Jobs of the %s %s old", cluster, c.ListAge))
		}
		for _, o := range c.Outages {
			parts = append(parts, fmt.Sprintf("%s %s from %s to %s", cluster, cmp.Or(o.Kind, "down"), o.From, o.Until))
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
