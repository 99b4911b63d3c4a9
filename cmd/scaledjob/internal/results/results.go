// Package results prints the results of simulations: verdicts, tables, pages and charts. A
// number that a table shows is a column of columns.go.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// Findings are the results of a simulation. The numbers of a policy are those of the same replications.
type Findings struct {
	Verdict     []string              `json:"verdict"` // one to three sentences
	Reasons     []string              `json:"reasons"` // what should not happen, and did
	Details     []string              `json:"details"` // intervals
	Patch       string                `json:"patch,omitempty"`
	Scenario    simulation.Scenario   `json:"scenario"`
	Policies    []scenario.Policy     `json:"policies"`
	Assumptions []scenario.Assumption `json:"assumptions,omitempty"`
	Study       *study.Study          `json:"study"`
	Capacities  []study.Capacity      `json:"capacities"`
	Objectives  []goalResult          `json:"objectives,omitempty"`
	Search      *searched             `json:"search,omitempty"`
	File        string                `json:"file,omitempty"`  // the scenario as it was written, instead of assumptions
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
	formats := map[string]func(io.Writer, *Findings) error{".html": writeHTML, ".json": writeJSON}
	extension := output[max(0, strings.LastIndexByte(output, '.')):]
	format, ok := formats[extension]
	if !ok {
		return nil, input.Usagef("-o %q: use a file that ends with .html or .json, or json", output)
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

// maximum returns the most Jobs of all policies, or 0 if it differs.
func (r *Findings) maximum() int64 {
	most := r.Capacities[0].Load.Max
	for i := range r.Capacities {
		if r.Capacities[i].Load.Max != most {
			return 0
		}
	}
	return most
}

func (r *Findings) numbers() string {
	return fmt.Sprintf("Numbers: %s; the first seed is %d.", r.Study, r.Scenario.Seed)
}
