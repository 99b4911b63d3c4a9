package lint

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
