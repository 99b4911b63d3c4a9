package lint

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
)

// A collector gathers findings.
type collector struct {
	scope      scope
	partitions int64  // of each topic; 0 is not known
	object     string // of the ScaledJob that is being looked at
	findings   []Finding
	ignored    int
	compared   int // letters of names
	used       map[*document]bool
	moved      map[string]bool // fields of the ScaledJob that another finding moves to their place
	next       edit            // of the next finding
	judged     map[string]bool // files with a ScaledJob or ScheduledJob
	perFile    map[string]int  // findings
	overflown  bool            // findings were over a bound
}

// Bounds of the findings, which are kept until they are sorted: nobody reads so many.
const (
	maxFindings        = 20_000
	maxFindingsPerFile = 5_000
	maxText            = 1_000 // bytes of a path, a consequence or a fix
)

// keep adds a finding within the bounds.
func (c *collector) keep(f Finding) {
	if c.perFile == nil {
		c.perFile = map[string]int{}
	}
	if c.full(f.File) {
		return
	}
	c.perFile[f.File]++
	c.findings = append(c.findings, f)
}

// full reports whether no more findings of a file are kept.
func (c *collector) full(file string) bool {
	full := c.perFile[file] >= maxFindingsPerFile || len(c.findings) >= maxFindings
	c.overflown = c.overflown || full
	return full
}

// overflow adds the finding for those that are not kept.
func (c *collector) overflow() {
	if c.overflown {
		last := c.findings[len(c.findings)-1]
		c.perFile, c.findings = nil, c.findings[:min(len(c.findings), maxFindings-1)]
		c.add(overBound, place{file: last.File, line: last.Line, column: 1, found: fmt.Sprintf("more than %d findings in a file, or %d in all", maxFindingsPerFile, maxFindings)},
			"Fix these first", effect{text: "lint shows no more"})
	}
}

// tooLarge adds the finding for what is over a bound.
func (c *collector) tooLarge(file string, line int, found, fix string) {
	c.add(overBound, place{file: file, line: line, column: 1, found: found}, fix, effect{text: "lint does not read it"})
}

// near returns the name of the files that got misspells, or "". All comparisons of a check together are bounded.
func (c *collector) near(got string, names []string) string {
	budget := mostCompared - c.compared
	if budget < 0 {
		return ""
	}
	name := triggers.NearestWithin(got, names, &budget)
	c.compared = mostCompared - budget
	return name
}

const mostCompared = 500_000_000

// An effect is a consequence in the releases that meet a condition.
type effect struct {
	affected condition // nil is every release
	text     string
	// fatal makes the finding an error if the caller named the releases and a release
	// among them has this effect.
	fatal      bool
	neverPolls bool // see Effect
	sinceData  bool // see Effect
}

// regardless are the rules that do not judge the form of a value, so that a tool that replaces a variable in it makes
// no difference: they find a key, a name that occurs twice, or fields that exclude or require each other.
var regardless = []string{
	"annotation-unknown", "authentication-rejected", "placeholder", "custom-parameters-unused", "duplicate-object", "job-selector", "pending-condition-duplicate",
	"rollout-deprecated", "rollout-deprecated-wins", "trigger-key-deprecated", "trigger-key-ineffective", "trigger-key-misplaced", "trigger-key-release",
	"trigger-key-removed", "trigger-key-unknown", "trigger-metric-type", "trigger-name-duplicate", "trigger-parameter-missing", "trigger-rejected",
	"unknown-field", "unsupported-feature", "variable-duplicate", "variable-unknown",
}

// add adds a finding, unless no effect holds in the releases in question.
func (c *collector) add(r Rule, position place, want string, effects ...effect) {
	if position.found == noValue && c.moved[position.path] {
		return // one mistake is one finding
	}
	inName := r.ID == "name-invalid" && strings.Contains(position.found, "$") // which no name may have
	if (inName || triggers.Placeholder.MatchString(position.found) || triggers.Placeholder.MatchString(position.text)) && !slices.Contains(regardless, r.ID) {
		c.next = edit{}
		return // its form is unknown, which a note says
	}
	position.hide(&want)
	f := Finding{Rule: r.ID, Severity: r.Severity, File: position.file, Line: position.line, Column: position.column,
		Object: clean(c.object), Path: clean(shortened(position.path)), Found: clean(position.found), Fix: clean(shortened(want)), hidden: position.hidden}
	f.edit, c.next = c.next, edit{}
	for _, e := range effects {
		releases, affected := c.scope.affected(e.affected)
		if !affected {
			continue
		}
		f.Effects = append(f.Effects, Effect{releases, clean(shortened(e.text)), e.neverPolls, e.sinceData})
		if e.fatal && c.scope.named {
			f.Severity = Error
		}
	}
	if len(f.Effects) > 0 {
		c.keep(f)
	}
}

// shortened cuts a text that grows with the names of a file.
func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// clean returns a text from outside as a part of a line, with the braces of placeholders.
func clean(text string) string { return report.Clean(braces.Replace(text)) }

// A judge checks the ScaledJobs and ScheduledJobs of files.
type judge struct {
	*collector
	objects   *index
	firsts    map[seat]place // of ScaledJobs
	scheduled func([]byte) ([]*field.Error, error)
}

// file checks each ScaledJob and ScheduledJob of a file, and counts them.
func (j judge) file(reader *collector, f *File, report *Report) {
	placeholders, first := map[string]bool{}, place{}
	reader.eachDocument(f, func(d *document) {
		switch {
		case j.full(f.Name):
		case d.isScaledJob():
			report.ScaledJobs++
			j.scaledJob(d)
			placeholdersOf(d, placeholders, &first)
		case j.scheduled != nil && d.isScheduledJob():
			report.Scheduled++
			j.scheduledJob(d)
		}
		j.object = ""
	})
	reader.findings = nil
	j.notePlaceholders(placeholders, first)
}

func (j judge) scaledJob(d *document) {
	kind, want := d.kind(), manifest.GroupVersionKind
	j.duplicateScaledJob(d, j.firsts)
	j.object, j.moved = d.name(), map[string]bool{}
	if kind != want.Kind {
		j.edit(d.node("kind"), kind, want.Kind)
		j.add(wrongKind, d.place("kind"), "Write "+want.Kind, effect{text: refusal})
	}
	if version := want.GroupVersion().String(); d.text("apiVersion") != version {
		if n := d.node("apiVersion"); n != nil {
			j.edit(n, n.Value, version)
		}
		j.add(wrongVersion, d.place("apiVersion"), "Write "+version, effect{text: "the API server rejects it, or takes it for another kind of object"})
	}
	j.check(d, j.objects)
}

func (j judge) scheduledJob(d *document) {
	j.object = d.name()
	text, rejected := yaml.Marshal(d.root) // which fails for a tag that does not fit its value
	var surprising []*field.Error
	if rejected == nil {
		surprising, rejected = j.scheduled(text)
	}
	if rejected != nil && field.All(rejected) == nil { // such as a key that is no string
		j.add(scheduledInvalid, d.place("kind"), "Correct the YAML", effect{text: rejected.Error()})
	}
	for rule, problems := range map[Rule][]*field.Error{scheduledInvalid: field.All(rejected), scheduledSurprise: surprising} {
		for _, p := range problems {
			position := d.place(d.path(p.Path)...)
			position.path = p.Path
			if strings.HasPrefix(p.Found, position.found) { // and says more
				position.found = p.Found
			}
			fix, text := p.Fix, rule.Doc
			if before, reason, found := strings.Cut(fix, "; "); found && rule == scheduledSurprise {
				fix, text = before, reason
			}
			j.add(rule, position, "Use "+fix, effect{text: text})
		}
	}
}

func (d *document) isScheduledJob() bool {
	return d.kind() == "ScheduledJob" && strings.HasPrefix(d.text("apiVersion"), "scaledjob.github.io/")
}

// isScaledJob reports whether an object is meant to be KEDA's: other groups have a kind of this name too.
func (d *document) isScaledJob() bool {
	group, _, _ := strings.Cut(d.text("apiVersion"), "/")
	kedaGroup := manifest.GroupVersionKind.Group
	similar := group == kedaGroup || group == "keda.k8s.io" || !strings.Contains(group, ".") || triggers.Misspells(group, kedaGroup) // a custom resource's group has a dot
	return strings.EqualFold(d.kind(), manifest.GroupVersionKind.Kind) && similar
}
