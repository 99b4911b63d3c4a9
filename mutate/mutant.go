package main

import (
	"fmt"
	"strings"
)

// A span is a part of a file, as byte offsets. The end is exclusive.
type span struct{ start, end int }

// A mutant is a small change of a source file.
type mutant struct {
	Package  string `json:"package"`
	File     string `json:"file"` // relative to the directory of the run, with slashes
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Function string `json:"function"` // enclosing function, or the package-level name
	Operator string `json:"operator"`
	Before   string `json:"before"`        // changed line of the source
	After    string `json:"after"`         // the same line after the change
	Nth      int    `json:"nth,omitempty"` // occurrence, if a function has the same change several times

	lastLine int
	edit     span   // part of the file to replace
	text     string // replacement
	body     span   // body of the enclosing function; zero if the mutant needs a build of its own
}

// key identifies the mutant when lines move.
func (m *mutant) key() string { return m.File + " " + m.change() }

// position returns file:line:column.
func (m *mutant) position() string { return fmt.Sprintf("%s:%d:%d", m.File, m.Line, m.Column) }

// change describes the mutant without its file.
func (m *mutant) change() string {
	s := fmt.Sprintf("%s %s: %s -> %s", m.Function, m.Operator, m.Before, m.After)
	if m.Nth > 0 {
		s += fmt.Sprintf(" (%d)", m.Nth+1)
	}
	return s
}

// apply returns the part of the source with the mutant in it.
func (m *mutant) apply(src []byte, part span) string {
	return string(src[part.start:m.edit.start]) + m.text + string(src[m.edit.end:part.end])
}

// show sets Before and After to the lines of the edit, with shown in its place.
func (m *mutant) show(src []byte, shown string) {
	text := string(src)
	first := strings.LastIndexByte(text[:m.edit.start], '\n') + 1
	last := len(text)
	if i := strings.IndexByte(text[m.edit.end:], '\n'); i >= 0 {
		last = m.edit.end + i
	}
	m.Before = oneLine(text[first:last])
	m.After = oneLine(text[first:m.edit.start] + shown + text[m.edit.end:last])
	if m.After == "" {
		m.After = "(removed)"
	}
}

// oneLine returns the first line of s without the white space around it. An
// ellipsis stands for the other lines.
func oneLine(s string) string {
	first, _, several := strings.Cut(strings.TrimSpace(s), "\n")
	if first = strings.TrimSpace(first); several {
		first += " …"
	}
	return first
}
