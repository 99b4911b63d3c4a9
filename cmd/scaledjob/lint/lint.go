package lint

import (
	"cmp"
	"fmt"
	"regexp"
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
	// Unread says which bound the file is over; Data is empty then.
	Unread string
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

	sources map[position]string // lines of the findings
}

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
	c := &collector{scope: scopeOf(k.Releases), partitions: k.Partitions, scheduled: k.ScheduledJob,
		objects: newIndex(), firsts: map[seat]place{}, moved: map[string]bool{}}
	reader := &collector{scope: c.scope} // whose findings are dropped: the second reading makes them
	for i := range files {
		if files[i].Unread != "" {
			c.tooLarge(files[i].Name, 1, files[i].Unread, "Use smaller files, or fewer at once")
		}
		reader.eachDocument(&files[i], func(d *document) { c.objects.note(d, c) })
	}
	var report Report
	for i := range files { // again, so that one tree is in memory
		c.checkFile(&files[i], &report)
	}
	c.others()
	c.ignores(files)
	c.overflow()
	report.Findings, report.Ignored = sorted(c.findings, files), c.ignored
	report.sources = linesOf(report.Findings, files)
	return report
}

// eachDocument calls a function with each document of a file, and keeps none.
func (c *collector) eachDocument(f *File, visit func(*document)) {
	c.judged = kindPattern.Match(f.Data)
	for _, p := range tree.Split(withoutBraces(lineBreaks.Replace(string(f.Data)))) {
		for _, d := range c.parse(f.Name, p) {
			visit(d)
		}
	}
}

// lineBreaks are the line breaks of YAML 1.1, which the parser counts.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Letters of no language stand for braces while the text is parsed: YAML reads {NAME} and {{NAME}} without quotes as maps.
const (
	opening = "\uE000"
	closing = "\uE001"
)

var (
	bracePattern = regexp.MustCompile(`\{\{[^{}\n]*\}\}|[$%#]?\{[A-Za-z_]\w*\}`)
	fieldPattern = regexp.MustCompile(`^\{\{-?\s*\.`) // {{ .x }} is no placeholder's form
	braces       = strings.NewReplacer(opening, "{", closing, "}")
	letters      = strings.NewReplacer("{", opening, "}", closing)
)

// withoutBraces replaces the braces of placeholders, but not of a template's actions. The columns stay.
func withoutBraces(text string) string {
	return bracePattern.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] != '{' || actionPattern.MatchString(found) || brokenPattern.MatchString(found) || fieldPattern.MatchString(found) {
			return found
		}
		return letters.Replace(found)
	})
}

// kindPattern matches a document that is judged.
var kindPattern = regexp.MustCompile(`(?m)^[\s\-{"']*kind["']?\s*:\s*["']?(?:ScaledJob|ScheduledJob|RunRequest)\b`)

// sorted returns the findings in their order, each once, with what the forms of output need of the files.
func sorted(findings []Finding, files []File) []Finding {
	order, rendered := map[string]int{}, map[string]bool{}
	for i, f := range files {
		order[f.Name], rendered[f.Name] = i, f.Rendered
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Path, b.Path), strings.Compare(a.Found, b.Found),
			cmp.Compare(b.Severity, a.Severity))
	})
	// A problem that two triggers or ScaledJobs share is found twice. The worst is kept.
	findings = slices.CompactFunc(findings, func(a, b Finding) bool {
		samePlace := a.File == b.File && a.Line == b.Line && a.Column == b.Column
		return samePlace && a.Rule == b.Rule && a.Path == b.Path && a.Found == b.Found
	})
	findings = withoutMoot(findings)
	type value struct{ seat, path string }
	count := map[value]int{}
	at := func(f *Finding) value { return value{fmt.Sprintf("%s:%d", f.File, f.Line), f.Path} }
	for i := range findings {
		count[at(&findings[i])]++
	}
	for i := range findings {
		f := &findings[i]
		f.named = rendered[f.File]
		for k := range f.Effects { // beside another finding of the value, its releases are named
			f.Effects[k].sinceData = f.Effects[k].sinceData && count[at(f)] == 1
		}
	}
	return findings
}

// withoutMoot leaves out the advice about a value that every release rejects, and that a missing value is null: one mistake
// has one finding.
func withoutMoot(findings []Finding) []Finding {
	type value struct{ file, object, path, found string }
	rejected, others := map[value]bool{}, map[value]bool{}
	of := func(f *Finding) value { return value{f.File, f.Object, f.Path, f.Found} }
	for i := range findings {
		f := &findings[i]
		others[of(f)] = true
		if f.Severity == Error && f.Effects[0].Releases == "" {
			rejected[of(f)] = true
		}
	}
	return slices.DeleteFunc(findings, func(f Finding) bool {
		if f.Rule == nullValue.ID {
			return others[value{f.File, f.Object, f.Path, noValue}]
		}
		return f.Severity != Error && f.Path != "" && rejected[of(&f)]
	})
}

// A position is a line of a file, from 1.
type position struct {
	file string
	line int
}

// linesOf returns the lines of findings that are sorted.
func linesOf(findings []Finding, files []File) map[position]string {
	lines := map[position]string{}
	for _, f := range files {
		end := 0
		for end < len(findings) && findings[end].File == f.Name {
			lines[position{f.Name, findings[end].Line}] = ""
			end++
		}
		if findings = findings[end:]; end == 0 {
			continue
		}
		number := 0
		for line := range strings.SplitSeq(lineBreaks.Replace(string(f.Data)), "\n") {
			number++
			if _, found := lines[position{f.Name, number}]; found {
				lines[position{f.Name, number}] = strings.Clone(line[:min(len(line), maxLine)])
			}
		}
	}
	return lines
}

// maxLine is the length of the part of a line that is kept, in bytes.
const maxLine = 16 << 10

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
