package lint

import (
	"cmp"
	"fmt"
	"io"
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

// WriteText writes each finding on a line, however long, then the line at fault, and a summary
// at the end. Width is that of the lines at fault, and Color adds colors, for a terminal.
//
//	job.yaml:9:20: error: spec.minReplicaCount is 5: …. Write at most maxReplicaCount, 2. [min-above-max]
//	  9 |   minReplicaCount: 5
//	    |                    ^
//	1 error in 1 ScaledJob
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i := range r.Findings {
		r.writeFinding(&b, &r.Findings[i])
	}
	b.WriteString(r.Summary() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeFinding(b *strings.Builder, f *Finding) {
	at := fmt.Sprintf("%s:%d:%d:", report.Clean(f.File), f.Line, f.Column)
	severity := f.Severity.String()
	if r.Color {
		at, severity = bold+at+reset, severityColors[f.Severity]+severity+reset
	}
	b.WriteString(at + " " + severity + ": " + report.Clean(f.Message()) + " [" + f.Rule + "]\n")
	r.writeExcerpt(b, f)
}

// writeExcerpt writes the line at fault, and marks the word at the finding's column.
func (r *Report) writeExcerpt(b *strings.Builder, f *Finding) {
	lines := r.sources[f.File]
	if f.Line > len(lines) {
		return
	}
	found := []rune(lines[f.Line-1])
	start := min(f.Column-1, len(found))
	end := start
	for end < len(found) && !unicode.IsSpace(found[end]) {
		end++
	}
	number := fmt.Sprintf("%4d | ", f.Line)
	bar := "     | "
	// A long line is cut before and behind the word.
	room := max(cmp.Or(r.Width, report.Columns)-len(number), 20)
	from := 0
	if end > room {
		from = max(0, min(start, end-room))
	}
	to := min(len(found), from+room)
	line := make([]rune, 0, room)
	for _, c := range found[from:to] {
		if !unicode.IsPrint(c) {
			c = ' '
		}
		line = append(line, c)
	}
	mark := strings.Repeat(" ", start-from) + "^" + strings.Repeat("~", max(0, min(end, to)-start-1))
	if r.Color {
		number, bar, mark = faint+number+reset, faint+bar+reset, severityColors[f.Severity]+mark+reset
	}
	b.WriteString(number + string(line) + "\n" + bar + mark + "\n")
}
