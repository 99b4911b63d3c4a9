package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/tree"
	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A File is the text of a manifest with any number of documents.
type File struct {
	Name string // name for findings; Check does not open it
	Data []byte
}

// A Report is the result of Check. The zero value is the result for no files.
type Report struct {
	Findings   []Finding // by file, line, column and rule
	ScaledJobs int       // how many were looked at
	Ignored    int       // how many findings comments and Filter have silenced
	Color      bool      // WriteText uses the colors of a terminal
	Width      int       // columns of WriteText; 0 leaves lines whole

	sources map[string][]string // lines of the files
}

// lineBreaks are the line breaks of YAML 1.1, which the parser counts.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Check checks every ScaledJob of the files for the given releases, or for all known
// releases if none is given. It looks up references in the documents of all files.
//
// Check does not fail: text that cannot be read is a finding. The cost grows with the
// size of the files and the number of releases.
func Check(files []File, releases ...keda.Profile) Report {
	c := &collector{scope: scopeOf(releases)}
	var all documents
	files = slices.Clone(files)
	for i := range files {
		f := &files[i]
		f.Data = []byte(lineBreaks.Replace(string(f.Data)))
		for _, p := range tree.Split(string(f.Data)) {
			all = append(all, c.parse(f.Name, p)...)
		}
	}
	report := Report{ScaledJobs: c.scaledJobs(all)}
	c.others(all)
	if report.ScaledJobs == 0 {
		c.noScaledJob(files, all)
	}
	for _, f := range files {
		c.ignores(f)
	}
	order := map[string]int{}
	for i, f := range files {
		order[f.Name] = i
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule))
	})
	// A problem that two triggers share is found twice.
	report.Findings = slices.CompactFunc(c.findings, func(a, b Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Rule == b.Rule && a.Path == b.Path
	})
	report.Ignored = c.ignored
	report.sources = map[string][]string{}
	for _, f := range files {
		report.sources[f.Name] = strings.Split(string(f.Data), "\n")
	}
	return report
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
func (r *Report) Filter(ignore []string, least Severity) error {
	for _, id := range ignore {
		if !isRule(id) {
			return unknownRule(id)
		}
	}
	before := len(r.Findings)
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return slices.Contains(ignore, f.Rule) })
	r.Ignored += before - len(r.Findings)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Severity < least })
	return nil
}

// SetSeverities gives the findings of rules another severity. It returns an error if a rule is
// unknown.
func (r *Report) SetSeverities(of map[string]Severity) error {
	for id := range of {
		if !isRule(id) {
			return unknownRule(id)
		}
	}
	for i := range r.Findings {
		if s, ok := of[r.Findings[i].Rule]; ok {
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

// A collector gathers findings.
type collector struct {
	scope    scope
	object   string // of the ScaledJob that is being looked at
	findings []Finding
	ignored  int
}

// An effect is a consequence in the releases that meet a condition.
type effect struct {
	when condition // nil is every release
	text string
	// fatal makes the finding an error if the caller named the releases and a release
	// among them has this effect.
	fatal bool
}

// add adds a finding, unless no effect holds in the releases in question.
func (c *collector) add(r Rule, at place, want string, effects ...effect) {
	f := Finding{Rule: r.ID, Severity: r.Severity, File: at.file, Line: at.line, Column: at.column,
		Object: report.Clean(c.object), Path: report.Clean(at.path), Found: report.Clean(at.found), Fix: report.Clean(want)}
	for _, e := range effects {
		releases, any := c.scope.affected(e.when)
		if !any {
			continue
		}
		f.Effects = append(f.Effects, Effect{releases, report.Clean(e.text)})
		if e.fatal && c.scope.named {
			f.Severity = Error
		}
	}
	if len(f.Effects) > 0 {
		c.findings = append(c.findings, f)
	}
}

// scaledJobs checks each ScaledJob, and counts them.
func (c *collector) scaledJobs(all documents) int {
	n, x := 0, indexOf(all)
	for _, d := range all {
		kind, want := d.kind(), manifest.GroupVersionKind
		if !strings.EqualFold(kind, want.Kind) {
			continue
		}
		n++
		c.object = strings.TrimPrefix(d.text("metadata", "namespace")+"/"+d.text("metadata", "name"), "/")
		if kind != want.Kind {
			c.add(wrongKind, d.at("kind"), "Write "+want.Kind, effect{text: refusal})
		}
		if version := want.GroupVersion().String(); d.text("apiVersion") != version {
			c.add(wrongVersion, d.at("apiVersion"), "Write "+version, effect{text: "the API server rejects it, or takes it for another kind of object"})
		}
		c.check(d, x)
	}
	c.object = ""
	return n
}

// noScaledJob adds a finding to each file about its content.
func (c *collector) noScaledJob(files []File, all documents) {
	for _, f := range files {
		if slices.ContainsFunc(c.findings, func(found Finding) bool { return found.File == f.Name }) {
			continue
		}
		at := place{file: f.Name, line: 1, column: 1, found: "no object"}
		if i := slices.IndexFunc(all, func(d *document) bool { return d.file == f.Name }); i >= 0 {
			if at = all[i].at("kind"); at.found == nothing {
				at.found = "an object without a kind"
			}
		}
		c.add(wrongKind, at, "Give a file with a ScaledJob of keda.sh/v1alpha1", effect{text: "there is nothing to lint"})
	}
}

// A job is a ScaledJob that is being checked, with the inputs of the rules.
type job struct {
	*document
	*collector
	rule Rule

	manifest *manifest.ScaledJob
	spec     *manifest.Spec
	model    *keda.ScaledJob // the same, as package keda reads it
	config   manifest.Config
	problems []*field.Error // of config
	all      *index
	// Found once, when a rule asks.
	authentications func() []authentication
	references      func() []reference

	inMetadata []*metadataProblem
	checked    bool // inMetadata is filled in
}

func (c *collector) check(d *document, all *index) {
	s := c.read(d)
	j := &job{document: d, collector: c, manifest: s, spec: &s.Spec, model: s.KEDA(), all: all}
	j.authentications, j.references = sync.OnceValue(j.findAuthentications), sync.OnceValue(j.findReferences)
	j.config, j.problems = configOf(s)
	for _, r := range rules {
		if r.check != nil {
			j.rule = r.Rule
			r.check(j)
		}
	}
}

// configOf reads the ScaledJob as adapter does, with any target for types of
// triggers that it does not know.
func configOf(s *manifest.ScaledJob) (manifest.Config, []*field.Error) {
	targets := map[string]float64{}
	for _, t := range s.Spec.Triggers {
		if !slices.Contains(manifest.TriggerTypes(), t.Type) {
			targets[t.Type] = 1
		}
	}
	config, err := s.Config(targets)
	return config, field.All(err)
}

// find adds a finding of the rule that is being checked.
func (j *job) find(at place, want string, effects ...effect) {
	j.add(j.rule, at, want, effects...)
}

// note is find with the severity Note.
func (j *job) note(at place, want string, effects ...effect) {
	r := j.rule
	r.Severity = Note
	j.add(r, at, want, effects...)
}

// refused returns the condition that the API server rejects the field's value.
func (j *job) refused(path string) condition {
	return func(p keda.Profile) bool {
		return slices.ContainsFunc(field.All(p.Validate(j.model)), func(e *field.Error) bool { return e.Path == path })
	}
}

// unwrap returns the errors that were joined.
func unwrap(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return nil
}
