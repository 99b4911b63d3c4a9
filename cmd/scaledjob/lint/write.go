package lint

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/field"
)

// Summary returns the numbers of findings and ScaledJobs in a sentence.
func (r *Report) Summary() string {
	var counts []string
	for s := Error; s >= Note; s-- {
		if n := r.count(s); n > 0 {
			counts = append(counts, field.Plural(n, s.String()))
		}
	}
	if counts == nil {
		counts = []string{"no findings"}
	}
	text := strings.Join(counts, ", ")
	var objects []string
	if r.ScaledJobs > 0 {
		objects = append(objects, field.Plural(r.ScaledJobs, "ScaledJob"))
	}
	if r.Scheduled > 0 {
		objects = append(objects, field.Plural(r.Scheduled, "ScheduledJob"))
	}
	if objects == nil {
		text += "; no ScaledJob found"
	} else {
		text += " in " + strings.Join(objects, " and ")
	}
	if r.Ignored > 0 {
		text += fmt.Sprintf(", and %d ignored", r.Ignored)
	}
	return text
}

func (r *Report) count(s Severity) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Severity == s {
			n++
		}
	}
	return n
}

// WriteJSON writes an object. Its version is 1 until a field changes its meaning; fields
// may be added. findings is never null, and has the fields of [Finding].
//
//	{
//	  "version": 1,
//	  "scaledJobs": 1, "scheduledJobs": 0, "errors": 1, "warnings": 0, "notes": 0, "ignored": 0,
//	  "findings": [{
//	    "rule": "min-above-max", "severity": "error",
//	    "file": "job.yaml", "line": 9, "column": 20,
//	    "object": "shop/orders", "path": "spec.minReplicaCount", "found": "5",
//	    "effects": [{"releases": "since 2.11", "text": "…"}],
//	    "fix": "…"
//	  }]
//	}
func (r *Report) WriteJSON(w io.Writer) error {
	out := struct {
		Version    int       `json:"version"`
		ScaledJobs int       `json:"scaledJobs"`
		Scheduled  int       `json:"scheduledJobs"`
		Errors     int       `json:"errors"`
		Warnings   int       `json:"warnings"`
		Notes      int       `json:"notes"`
		Ignored    int       `json:"ignored"`
		Findings   []Finding `json:"findings"`
	}{1, r.ScaledJobs, r.Scheduled, r.count(Error), r.count(Warning), r.count(Note), r.Ignored, append([]Finding{}, r.Findings...)}
	return encode(w, out)
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// WriteGitHub writes a workflow command for each finding, which GitHub shows beside the
// line: ::error, ::warning, or ::notice for a note. Without findings it writes nothing.
func (r *Report) WriteGitHub(w io.Writer) error {
	commands := map[Severity]string{Note: "notice", Warning: "warning", Error: "error"}
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	b := bufio.NewWriter(w)
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", commands[f.Severity],
			property.Replace(f.File), f.Line, f.Column, property.Replace(f.Rule), message.Replace(f.Message()))
	}
	return b.Flush()
}

// ANSI escape codes.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	faint  = "\x1b[2m"
	reset  = "\x1b[0m"
)

var severityColors = map[Severity]string{Error: red, Warning: yellow, Note: cyan}

// WriteText writes each finding on a line, however long, then the line at fault unless it is a Secret's,
// and a summary at the end. Width is that of the lines at fault, and Color adds colors, for a terminal.
//
//	job.yaml:9:20: error: spec.minReplicaCount is 5: …. Write at most maxReplicaCount, 2. [min-above-max]
//	  9 |   minReplicaCount: 5
//	    |                    ^
//	1 error in 1 ScaledJob
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	var l line
	for i := range r.Findings {
		f := &r.Findings[i]
		if at := (position{f.File, f.Line}); l.position != at {
			text, found := r.sources[at]
			l = line{at, found, []rune(text)}
		}
		r.writeFinding(b, f, l)
	}
	b.WriteString(r.Summary() + "\n")
	return b.Flush()
}

// A line is the text of a line at fault, which findings may share.
type line struct {
	position
	found bool
	text  []rune
}

// credentialLine matches a line that may have a credential beside what the finding is about.
var credentialLine = regexp.MustCompile(`(?i)://[^\s/@"']*:[^\s@"']+@|(?:pass(?:wor|wr|w)?d?|pwd|token|secret|api_?key)["']?\s*[:=]\s*["']?[^\s"'{$]`)

func (r *Report) writeFinding(b *bufio.Writer, f *Finding, l line) {
	position := fmt.Sprintf("%s:%d:%d:", report.Clean(f.File), f.Line, f.Column)
	severity := f.Severity.String()
	if r.Color {
		position, severity = bold+position+reset, severityColors[f.Severity]+severity+reset
	}
	b.WriteString(position + " " + severity + ": " + report.Clean(f.Message()) + " [" + f.Rule + "]\n")
	width := max(r.Width, report.Columns)
	near := l.text[min(max(f.Column-width, 0), len(l.text)):min(f.Column+width, len(l.text))] // an excerpt shows less
	if l.found && !f.hidden && !r.OneLine && !credentialLine.MatchString(string(near)) {
		r.writeExcerpt(b, f, l.text)
	}
}

// writeExcerpt writes the line at fault, and marks the word at the finding's column.
func (r *Report) writeExcerpt(b *bufio.Writer, f *Finding, found []rune) {
	number := fmt.Sprintf("%4d | ", f.Line)
	bar := "     | "
	// A long line is cut before and behind the word.
	room := max(cmp.Or(r.Width, report.Columns)-len(number), 20)
	start := min(f.Column-1, len(found))
	from, end, used := start, start, 0
	fits := func(i, steps int) bool { // the character beside the excerpt
		if i < 0 || i == len(found) || steps > 4*room || used+columns(found[i:i+1]) > room {
			return false
		}
		used += columns(found[i : i+1])
		return true
	}
	for end < len(found) && !unicode.IsSpace(found[end]) && fits(end, end-start) {
		end++
	}
	for fits(from-1, start-from) {
		from--
	}
	last := end
	for fits(last, last-end) {
		last++
	}
	mark := strings.Repeat(" ", columns(found[from:start])) + "^" + strings.Repeat("~", max(0, columns(found[start:end])-1))
	if r.Color {
		number, bar, mark = faint+number+reset, faint+bar+reset, severityColors[f.Severity]+mark+reset
	}
	b.WriteString(number + printable(found[from:last]) + "\n" + bar + mark + "\n")
}

// printable returns a text with a space for each character that is none of a line.
func printable(text []rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, string(text))
}

func columns(text []rune) int { return report.Wide(printable(text)) }

// WriteSARIF writes a SARIF 2.1.0 log with all rules. File names become relative URIs.
// GitHub's code scanning resolves them from the root of the repository.
func (r *Report) WriteSARIF(w io.Writer) error {
	type object = map[string]any
	index, rules, results := map[string]int{}, []object{}, []object{}
	for i, rule := range Rules() {
		index[rule.ID] = i
		rules = append(rules, object{"id": rule.ID, "shortDescription": object{"text": rule.Doc}, "helpUri": rule.URL(),
			"defaultConfiguration": object{"level": rule.Severity}}) // SARIF has the same names of severities
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		uri := url.URL{Path: filepath.ToSlash(f.File)}
		location := object{"artifactLocation": object{"uri": uri.String()}, "region": object{"startLine": f.Line, "startColumn": f.Column}}
		results = append(results, object{"ruleId": f.Rule, "ruleIndex": index[f.Rule], "level": f.Severity,
			"message": object{"text": f.Message()}, "locations": []object{{"physicalLocation": location}}})
	}
	tool := object{"driver": object{"name": "scaledjob lint", "informationUri": "https://github.com/scaledjob/scaledjob", "rules": rules}}
	return encode(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []object{{"tool": tool, "columnKind": "unicodeCodePoints", "results": results}},
	})
}
