package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A File is the text of a manifest with any number of documents.
type File struct {
	Name string // name for findings; Check does not open it
	Data []byte
	// Rendered is the output of a program: its findings name the object, because nobody edits its lines.
	Rendered bool
}

// A Report is the result of Check. The zero value is the result for no files.
type Report struct {
	Findings   []Finding // by file, line, column and rule
	ScaledJobs int       // how many were looked at
	Scheduled  int       // the same of ScheduledJobs
	Ignored    int       // how many findings comments and Filter have silenced
	Color      bool      // WriteText uses the colors of a terminal
	OneLine    bool      // WriteText leaves out the lines at fault
	Width      int       // columns for the lines at fault of WriteText; 0 is 100

	sources map[string][]string // lines of the files
}

// lineBreaks are the line breaks of YAML 1.1, which the parser counts.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Check checks every ScaledJob of the files for the given releases, or for all known
// releases if none is given. It is the method of a [Checker] that checks no ScheduledJobs.
func Check(files []File, releases ...keda.Profile) Report {
	return Checker{Releases: releases}.Check(files)
}

// A Checker checks files. The zero value checks ScaledJobs for all releases.
type Checker struct {
	Releases []keda.Profile // of KEDA; none is all that are known
	// Partitions is the number of partitions of each topic; 0 is not known.
	Partitions int64
	// ScheduledJob reads the YAML of a ScheduledJob, the resource of controllers/scheduled, and returns
	// what its controller rejects, as [field.Error], and what may surprise its author. nil checks no
	// ScheduledJob.
	ScheduledJob func(object []byte) (surprising []*field.Error, rejected error)
}

// Check checks every ScaledJob and ScheduledJob of the files. It looks up references in the
// documents of all files.
//
// Check does not fail: text that cannot be read is a finding. The cost grows with the
// size of the files and the number of releases.
func (k Checker) Check(files []File) Report {
	c := &collector{scope: scopeOf(k.Releases), partitions: k.Partitions, judged: judged(files), moved: map[string]bool{}}
	var all documents
	files = slices.Clone(files)
	for i := range files {
		f := &files[i]
		f.Data = []byte(lineBreaks.Replace(string(f.Data)))
		for _, p := range tree.Split(withoutBraces(string(f.Data))) {
			all = append(all, c.parse(f.Name, p)...)
		}
	}
	report := Report{ScaledJobs: c.scaledJobs(all), Scheduled: c.scheduledJobs(all, k.ScheduledJob)}
	c.others(all)
	c.placeholders(all)
	c.ignores(files)
	order := map[string]int{}
	for i, f := range files {
		order[f.Name] = i
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Path, b.Path), strings.Compare(a.Found, b.Found),
			cmp.Compare(b.Severity, a.Severity))
	})
	// A problem that two triggers or ScaledJobs share is found twice. The worst is kept.
	report.Findings = slices.CompactFunc(c.findings, func(a, b Finding) bool {
		samePlace := a.File == b.File && a.Line == b.Line && a.Column == b.Column
		return samePlace && a.Rule == b.Rule && a.Path == b.Path && a.Found == b.Found
	})
	report.Ignored = c.ignored
	report.sources = map[string][]string{}
	for i := range c.findings {
		if f := &c.findings[i]; slices.ContainsFunc(files, func(file File) bool { return file.Name == f.File && file.Rendered }) {
			f.named = true
		}
	}
	for _, f := range files {
		report.sources[f.Name] = strings.Split(string(f.Data), "\n")
	}
	return report
}

// Drop removes the findings of a file that [Report.Fixed] has mended.
func (r *Report) Drop(file string) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.File == file && f.edit != (edit{}) })
}

// Worst returns the highest severity among the findings, or the zero value if
// there are none.
func (r *Report) Worst() Severity {
	var worst Severity
	for i := range r.Findings {
		worst = max(worst, r.Findings[i].Severity)
	}
	return worst
}

// Filter drops the findings of the rules in ignore, which count as ignored, and the
// findings below a severity. It returns an error if a rule is unknown.
func (r *Report) Filter(ignore []string, threshold Severity) error {
	for _, id := range ignore {
		if !isRule(id) {
			return unknownRule(id)
		}
	}
	before := len(r.Findings)
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return slices.Contains(ignore, f.Rule) })
	r.Ignored += before - len(r.Findings)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Severity < threshold })
	return nil
}

// SetSeverities gives the findings of rules another severity. It returns an error if a rule is
// unknown.
func (r *Report) SetSeverities(severities map[string]Severity) error {
	for id := range severities {
		if !isRule(id) {
			return unknownRule(id)
		}
	}
	for i := range r.Findings {
		if s, ok := severities[r.Findings[i].Rule]; ok {
			r.Findings[i].Severity = s
		}
	}
	return nil
}

func isRule(id string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.ID == id })
}

func unknownRule(id string) error {
	fix := "use a rule that lint --rules lists"
	if near := nearest(id, ruleIDs()); near != "" {
		fix = "use " + near
	}
	return fmt.Errorf("unknown rule %q; %s", id, fix)
}
