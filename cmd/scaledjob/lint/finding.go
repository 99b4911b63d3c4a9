package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Severity is the weight of a finding. The zero value belongs to no finding.
type Severity uint8

const (
	// Note: the manifest works as written, with an effect that may surprise.
	Note Severity = iota + 1
	// Warning: the manifest does not do what it seems to do.
	Warning
	// Error: is refused, never creates a Job, creates or deletes Jobs without
	// bound, or ends KEDA's operator.
	Error
)

var severities = [...]string{"none", "note", "warning", "error"}

// String returns "note", "warning", "error", or "none" for the zero value.
func (s Severity) String() string {
	if int(s) < len(severities) {
		return severities[s]
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// MarshalText returns the same as String.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Finding is a problem at a position.
type Finding struct {
	Rule     string   `json:"rule"` // its ID
	Severity Severity `json:"severity"`
	File     string   `json:"file"`   // the name of the File
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // from 1, in characters
	// Object is the ScaledJob's name, after its namespace and a slash if the manifest has
	// a namespace. It is "" if the ScaledJob has no name, and in findings about no
	// ScaledJob.
	Object string `json:"object,omitempty"`
	// Path is the field, such as spec.triggers[0].metadata.queueLength; "" is the
	// document.
	Path    string   `json:"path,omitempty"`
	Found   string   `json:"found"`   // the value
	Effects []Effect `json:"effects"` // the consequences, at least one
	Fix     string   `json:"fix"`     // an imperative sentence without a full stop

	hidden bool // the line may have a password
	named  bool // the message names the object
	edit   edit // that mends it and cannot change a running ScaledJob; zero if there is none
}

// An Effect is a consequence in some releases of KEDA.
type Effect struct {
	Releases string `json:"releases,omitempty"` // "since 2.11", "2.20.0 to 2.20.1"; "" is all that were asked about
	Text     string `json:"text"`
	// NeverPolled is true if KEDA rejects what it would poll, in these releases.
	NeverPolled bool `json:"-"`

	sinceData bool // the releases are those whose parameters are known, so that the message does not name them
}

// Message returns two sentences: the problem with its consequences, and the fix.
func (f *Finding) Message() string {
	if f.Fix == correctYAML { // the problem says it
		return f.Problem()
	}
	return f.Problem() + ". " + f.Fix + "."
}

// Problem returns the field, its value and the consequences, without a full stop.
func (f *Finding) Problem() string {
	if strings.HasPrefix(f.Found, "invalid YAML: ") {
		return f.Found
	}
	var b strings.Builder
	if f.named && f.Object != "" {
		b.WriteString(f.Object + ": ")
	}
	switch {
	case f.Path == "":
		b.WriteString(f.Found)
	case f.Found == noValue:
		b.WriteString(f.Path + " is missing")
	case (f.Found == "a map" || f.Found == "a list") && f.Rule != "wrong-type": // its form is not the problem
		b.WriteString(f.Path)
	default:
		b.WriteString(f.Path + " is " + f.Found)
	}
	b.WriteString(": ")
	for i, e := range f.Effects {
		if i > 0 {
			b.WriteString("; ")
		}
		if e.Releases != "" && !e.sinceData {
			b.WriteString(period(e.Releases) + ", ")
		}
		text, reason, _ := strings.Cut(e.Text, ", because ")
		if last := i+1 == len(f.Effects); last || !strings.HasSuffix(f.Effects[i+1].Text, ", because "+reason) {
			text = e.Text
		}
		b.WriteString(text)
	}
	return b.String()
}

// period returns "in 2.2 to 2.5 and since 2.7" for "2.2 to 2.5, since 2.7".
func period(releases string) string {
	if last := strings.LastIndex(releases, ", "); last >= 0 {
		releases = releases[:last] + " and" + releases[last+1:]
	}
	if strings.HasPrefix(releases, "since ") {
		return releases
	}
	return "in " + strings.Replace(releases, "until ", "releases up to ", 1)
}

// An edit replaces a scalar of a file. It changes no running ScaledJob: the API server rejects the file without it.
type edit struct {
	line, column int // from 1, in characters
	old, text    string
	quotes       yaml.Style // of the old value
}

// edit remembers how to mend the next finding. An empty old text is the value in its quotes.
func (c *collector) edit(n *yaml.Node, old, text string) {
	c.next = edit{n.Line, n.Column, old, text, n.Style}
	if old == "" {
		c.next.old = n.Value
	}
}

// Fixed returns a file with the edits of its findings that cannot change a running ScaledJob, and their number: quotes, and
// values with which the API server rejects the file. Comments and the order of fields stay.
func (r *Report) Fixed(name string, data []byte) (fixed []byte, n int) {
	var edits []edit
	for i := range r.Findings {
		if f := &r.Findings[i]; f.File == name && f.edit != (edit{}) {
			edits = append(edits, f.edit)
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(cmp.Compare(b.line, a.line), cmp.Compare(b.column, a.column)) })
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, e := range edits {
		if e.line <= len(lines) {
			if line, ok := e.apply(string(lines[e.line-1])); ok {
				lines[e.line-1] = []byte(line)
				n++
			}
		}
	}
	return bytes.Join(lines, nil), n
}

// apply returns a line with the edit. It fails if the line does not have the value as the parser read it, such as a value
// with escapes or of several lines.
func (e edit) apply(line string) (string, bool) {
	runes := []rune(line)
	if e.column > len(runes) {
		return "", false
	}
	before, remainder := string(runes[:e.column-1]), string(runes[e.column-1:])
	old := e.old
	switch {
	case e.quotes&yaml.DoubleQuotedStyle != 0:
		old = `"` + old + `"`
	case e.quotes&yaml.SingleQuotedStyle != 0:
		old = "'" + old + "'"
	}
	after, found := strings.CutPrefix(remainder, old)
	return before + e.text + after, found
}

// ignorePattern matches a comment at the start of a line or after a space.
var ignorePattern = regexp.MustCompile(`(?:^|\s)#\s*scaledjob:ignore\s+(\S+)`)

// ignores drops the findings that a comment silences: on their line, or above it on lines that have
// nothing but comments.
func (c *collector) ignores(files []File) {
	silenced, unknown := map[position][]string{}, collector{scope: c.scope}
	for i := range c.findings {
		silenced[position{c.findings[i].File, c.findings[i].Line}] = nil
	}
	for _, f := range files {
		if !bytes.Contains(f.Data, []byte("scaledjob:ignore")) {
			continue
		}
		number := 0
		var rules []string // of this line and of comments above
		for line := range strings.SplitSeq(lineBreaks.Replace(string(f.Data)), "\n") {
			number++
			for _, id := range ignored(line) {
				if !isRule(id) {
					spot := place{file: f.Name, line: number, column: column(line, id), found: "no rule named " + id}
					fix := "Write a rule that scaledjob lint --rules lists"
					if near := nearest(id, ruleIDs()); near != "" {
						fix = "Write " + near
					}
					unknown.add(unknownIgnore, spot, fix, effect{text: "the comment silences nothing"})
				} else if !slices.Contains(rules, id) {
					rules = append(rules, id)
				}
			}
			if _, needed := silenced[position{f.Name, number}]; needed {
				silenced[position{f.Name, number}] = slices.Clone(rules)
			}
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				rules = nil
			}
		}
	}
	before := len(c.findings)
	c.findings = slices.DeleteFunc(c.findings, func(f Finding) bool { return slices.Contains(silenced[position{f.File, f.Line}], f.Rule) })
	c.ignored += before - len(c.findings)
	c.findings = append(c.findings, unknown.findings...)
}

// ignored are the rules that a line's comment names, separated by commas.
func ignored(line string) []string {
	m := ignorePattern.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	return strings.FieldsFunc(m[1], func(r rune) bool { return r == ',' })
}

// column returns the position of a word in a line, in characters from 1.
func column(line, word string) int {
	before, _, _ := strings.Cut(line, word)
	return 1 + len([]rune(before))
}
