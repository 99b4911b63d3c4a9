package lint

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scaledjob/scaledjob/adapter/manifest"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
	"github.com/scaledjob/scaledjob/field"
)

// A collector gathers findings.
type collector struct {
	scope    scope
	object   string // of the ScaledJob that is being looked at
	findings []Finding
	ignored  int
	compared int // letters of names
	used     map[*document]bool
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

const mostCompared = 1_000_000_000

// An effect is a consequence in the releases that meet a condition.
type effect struct {
	affected condition // nil is every release
	text     string
	// fatal makes the finding an error if the caller named the releases and a release
	// among them has this effect.
	fatal bool
}

// regardless are the rules that do not judge the form of a value, so that a tool that replaces a variable in it makes
// no difference: they find a key, a name that occurs twice, or fields that exclude or require each other.
var regardless = []string{
	"annotation-unknown", "authentication-rejected", "custom-parameters-unused", "duplicate-object", "job-selector", "pending-condition-duplicate",
	"rollout-deprecated", "rollout-deprecated-wins", "trigger-key-deprecated", "trigger-key-ineffective", "trigger-key-misplaced", "trigger-key-release",
	"trigger-key-removed", "trigger-key-unknown", "trigger-metric-type", "trigger-name-duplicate", "trigger-parameter-missing", "trigger-rejected",
	"unknown-field", "unsupported-feature", "variable-duplicate", "variable-unknown",
}

// add adds a finding, unless no effect holds in the releases in question.
func (c *collector) add(r Rule, position place, want string, effects ...effect) {
	f := Finding{Rule: r.ID, Severity: r.Severity, File: position.file, Line: position.line, Column: position.column,
		Object: report.Clean(c.object), Path: report.Clean(position.path), Found: report.Clean(position.found), Fix: report.Clean(want), hidden: position.hidden}
	for _, e := range effects {
		releases, affected := c.scope.affected(e.affected)
		if !affected {
			continue
		}
		f.Effects = append(f.Effects, Effect{releases, report.Clean(e.text)})
		if e.fatal && c.scope.named {
			f.Severity = Error
		}
	}
	if len(f.Effects) > 0 && triggers.Replaced.MatchString(position.found) && !slices.Contains(regardless, r.ID) {
		f.Severity, f.Effects[0].Text = Note, "unless a tool replaces ${…}, "+f.Effects[0].Text
	}
	if len(f.Effects) > 0 {
		c.findings = append(c.findings, f)
	}
}

// scaledJobs checks each ScaledJob, and counts them.
func (c *collector) scaledJobs(all documents) int {
	n, x := 0, indexOf(all)
	c.used = x.used
	for _, d := range all {
		kind, want := d.kind(), manifest.GroupVersionKind
		if !strings.EqualFold(kind, want.Kind) {
			continue
		}
		n++
		c.object = d.name()
		if kind != want.Kind {
			c.add(wrongKind, d.place("kind"), "Write "+want.Kind, effect{text: refusal})
		}
		if version := want.GroupVersion().String(); d.text("apiVersion") != version {
			c.add(wrongVersion, d.place("apiVersion"), "Write "+version, effect{text: "the API server rejects it, or takes it for another kind of object"})
		}
		c.check(d, x)
	}
	c.object = ""
	return n
}

// scheduledJobs checks each ScheduledJob, and counts them.
func (c *collector) scheduledJobs(all documents, check func([]byte) ([]*field.Error, error)) (n int) {
	for _, d := range all {
		if check == nil || d.kind() != "ScheduledJob" || !strings.HasPrefix(d.text("apiVersion"), "scaledjob.github.io/") {
			continue
		}
		n++
		c.object = d.name()
		text, rejected := yaml.Marshal(d.root) // which fails for a tag that does not fit its value
		var surprising []*field.Error
		if rejected == nil {
			surprising, rejected = check(text)
		}
		if rejected != nil && field.All(rejected) == nil { // such as a key that is no string
			c.add(scheduledInvalid, d.place("kind"), "Correct the YAML", effect{text: rejected.Error()})
		}
		for rule, problems := range map[Rule][]*field.Error{scheduledInvalid: field.All(rejected), scheduledSurprise: surprising} {
			for _, p := range problems {
				position := d.place(d.path(p.Path)...)
				position.path = p.Path
				if strings.HasPrefix(p.Found, position.found) { // and says more
					position.found = p.Found
				}
				c.add(rule, position, "Use "+p.Fix, effect{text: rule.Doc})
			}
		}
	}
	c.object = ""
	return n
}

// noScaledJob adds a finding to each file about its content.
func (c *collector) noScaledJob(files []File, all documents) {
	found, first := map[string]bool{}, map[string]*document{}
	for i := range c.findings {
		found[c.findings[i].File] = true
	}
	for _, d := range slices.Backward(all) {
		first[d.file] = d
	}
	for _, f := range files {
		if found[f.Name] {
			continue
		}
		position := place{file: f.Name, line: 1, column: 1, found: "no object"}
		if d := first[f.Name]; d != nil {
			if position = d.place("kind"); position.found == noValue {
				position.found = "an object without a kind"
			}
		}
		c.add(wrongKind, position, "Give a file with a ScaledJob of keda.sh/v1alpha1", effect{text: "there is nothing to lint"})
	}
}
