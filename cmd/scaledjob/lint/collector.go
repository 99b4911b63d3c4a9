package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/triggers"
	"github.com/scaledjob/scaledjob/field"
)

// A collector gathers findings.
type collector struct {
	scope      scope
	partitions int64 // of each topic; 0 is not known
	objects    *index
	firsts     map[seat]place // of ScaledJobs
	scheduled  func(object []byte) (surprising []*field.Error, rejected error)
	object     string // of the ScaledJob that is being looked at
	findings   []Finding
	ignored    int
	compared   int             // letters of names
	moved      map[string]bool // fields of the ScaledJob that another finding moves to their place
	next       edit            // of the next finding
	judged     bool            // the file has a ScaledJob or ScheduledJob: of others, broken YAML is nobody's business here
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

// find adds a finding of the rule that is being checked.
func (j *job) find(position place, want string, effects ...effect) {
	j.add(j.rule, position, want, effects...)
}

// check adds a finding with one effect if there is a problem.
func (j *job) check(problem bool, position place, want, text string) {
	if problem {
		j.find(position, want, effect{text: text})
	}
}

// checkPolls is check for a problem with which KEDA never polls.
func (j *job) checkPolls(problem bool, position place, want, text string) {
	if problem {
		j.find(position, want, effect{text: text, neverPolls: true})
	}
}

// note is find with the severity Note.
func (j *job) note(position place, want string, effects ...effect) {
	r := j.rule
	r.Severity = Note
	j.add(r, position, want, effects...)
}
