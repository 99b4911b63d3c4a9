package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// A report is the result of a run.
type report struct {
	Packages []*summary `json:"packages"`
	Seed     uint64     `json:"seed"`
	Least    float64    `json:"least"`
}

// A summary is the result of a package.
type summary struct {
	Package     string   `json:"package"`
	Candidates  int      `json:"candidates"`       // mutants that compile
	Sample      int      `json:"sample,omitempty"` // number of them that were drawn; 0 means all
	Mutants     int      `json:"mutants"`
	Killed      int      `json:"killed"`
	Survived    int      `json:"survived"`
	NotCovered  int      `json:"notCovered"` // part of Survived
	Equivalent  int      `json:"equivalent"`
	NotCompiled int      `json:"notCompiled"` // not in Mutants
	Score       float64  `json:"score"`       // percentage of killed mutants, without equivalent mutants
	Survivors   []record `json:"survivors"`
	Stale       []string `json:"stale"` // listed as equivalent, but no longer a mutant
	Wrong       []record `json:"wrong"` // listed as equivalent, but killed
}

// add adds the summary of a package.
func (r *report) add(t *task, reasons map[string]string) {
	s := &summary{Package: t.path, Candidates: t.valid, NotCompiled: t.invalid, Score: 100, Survivors: []record{}, Stale: []string{}, Wrong: []record{}}
	if len(t.drawn) < t.valid {
		s.Sample = len(t.drawn)
	}
	for _, m := range t.drawn {
		rec, _ := t.result(m)
		s.count(rec, reasons[m.key()] != "")
	}
	if n := s.Killed + s.Survived; n > 0 {
		s.Score = 100 * float64(s.Killed) / float64(n)
	}
	s.Stale = append(s.Stale, t.stale(reasons)...)
	byPosition := func(a, b record) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}
	slices.SortStableFunc(s.Survivors, byPosition)
	slices.SortStableFunc(s.Wrong, byPosition)
	r.Packages = append(r.Packages, s)
}

func (s *summary) count(rec record, equivalent bool) {
	s.Mutants++
	switch {
	case rec.Result == notCompiled:
		s.Mutants--
		s.NotCompiled++
	case rec.Result == killed:
		s.Killed++
		if equivalent {
			s.Wrong = append(s.Wrong, rec)
		}
	case equivalent:
		s.Equivalent++
	default:
		s.Survived++
		if rec.By == notCovered {
			s.NotCovered++
		}
		s.Survivors = append(s.Survivors, rec)
	}
}

// stale returns the listed mutants in the package's files that are no mutants.
func (t *task) stale(reasons map[string]string) (stale []string) {
	keys := map[string]bool{}
	for _, m := range t.all {
		keys[m.key()] = true
	}
	for key := range reasons {
		for _, f := range t.files {
			if !keys[key] && len(key) > len(f.path) && key[:len(f.path)+1] == f.path+" " {
				stale = append(stale, key)
			}
		}
	}
	slices.Sort(stale)
	return stale
}

// write prints the report. The error is errFailed if a package has a fault.
func (r *report) write(w io.Writer, asJSON bool) error {
	failed := false
	for _, s := range r.Packages {
		failed = failed || s.Score < r.Least || len(s.Stale)+len(s.Wrong) > 0
	}
	var err error
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.print(w)
	}
	if err == nil && failed {
		err = errFailed
	}
	return err
}

func (r *report) print(w io.Writer) error {
	for _, s := range r.Packages {
		for _, m := range s.Survivors {
			fmt.Fprintf(w, "%s: survived", m.position())
			if m.By == notCovered {
				fmt.Fprint(w, ", not covered")
			}
			fmt.Fprintf(w, ": %s\n", m.change())
		}
		for _, m := range s.Wrong {
			fmt.Fprintf(w, "%s: listed as equivalent, but killed by %s: %s\n", m.position(), m.By, m.change())
		}
		for _, key := range s.Stale {
			fmt.Fprintf(w, "listed as equivalent, but no mutant: %s\n", key)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "mutants\tkilled\tsurvived\tnot covered\tequivalent\tnot compiled\tscore\t  package\n")
	for _, s := range r.Packages {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t%.1f%%\t  %s", s.Mutants, s.Killed, s.Survived, s.NotCovered, s.Equivalent, s.NotCompiled, s.Score, s.Package)
		if s.Sample > 0 {
			fmt.Fprintf(t, " (sample of %d, seed %d)", s.Candidates, r.Seed)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
