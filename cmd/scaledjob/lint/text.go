package lint

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

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
