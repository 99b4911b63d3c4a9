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
	fatal bool
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
	if triggers.Placeholder.MatchString(position.found) && !slices.Contains(regardless, r.ID) {
		c.next = edit{}
		return // its form is unknown, which a note says
	}
	f := Finding{Rule: r.ID, Severity: r.Severity, File: position.file, Line: position.line, Column: position.column,
		Object: clean(c.object), Path: clean(position.path), Found: clean(position.found), Fix: clean(want), hidden: position.hidden}
	f.edit, c.next = c.next, edit{}
	for _, e := range effects {
		releases, affected := c.scope.affected(e.affected)
		if !affected {
			continue
		}
		f.Effects = append(f.Effects, Effect{releases, clean(e.text)})
		if e.fatal && c.scope.named {
			f.Severity = Error
		}
	}
	if len(f.Effects) > 0 {
		c.findings = append(c.findings, f)
	}
}

// clean returns a text from outside as a part of a line, with the braces of placeholders.
func clean(text string) string { return report.Clean(braces.Replace(text)) }

// scaledJobs checks each ScaledJob, and counts them.
func (c *collector) scaledJobs(all documents) int {
	n, x, firsts := 0, indexOf(all), map[seat]place{}
	c.used = x.used
	for _, d := range all {
		kind, want := d.kind(), manifest.GroupVersionKind
		if !d.isScaledJob() {
			continue
		}
		n++
		c.duplicateScaledJob(d, firsts)
		c.object, c.moved = d.name(), map[string]bool{}
		if kind != want.Kind {
			c.edit(d.node("kind"), kind, want.Kind)
			c.add(wrongKind, d.place("kind"), "Write "+want.Kind, effect{text: refusal})
		}
		if version := want.GroupVersion().String(); d.text("apiVersion") != version {
			if n := d.node("apiVersion"); n != nil {
				c.edit(n, n.Value, version)
			}
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

// isScaledJob reports whether an object is meant to be KEDA's: other groups have a kind of this name too.
func (d *document) isScaledJob() bool {
	group, _, _ := strings.Cut(d.text("apiVersion"), "/")
	kedaGroup := manifest.GroupVersionKind.Group
	similar := group == kedaGroup || group == "keda.k8s.io" || !strings.Contains(group, ".") || triggers.Misspells(group, kedaGroup) // a custom resource's group has a dot
	return strings.EqualFold(d.kind(), manifest.GroupVersionKind.Kind) && similar
}
