package lint

import (
	"fmt"
	"strings"
)

// A Severity is how much a finding matters. The zero value is that of no
// finding.
type Severity uint8

const (
	// Note: works as it says, and is worth knowing.
	Note Severity = iota + 1
	// Warning: does something else than it seems to say.
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

// A Finding is one thing that a rule found at one place.
type Finding struct {
	Rule     string   `json:"rule"` // its ID
	Severity Severity `json:"severity"`
	File     string   `json:"file"`   // the name of the File
	Line     int      `json:"line"`   // from 1
	Column   int      `json:"column"` // from 1, in characters
	// Object is the ScaledJob's name, with its namespace and a slash in front
	// where the manifest has one; "" where it has no name, and in findings
	// that are not about one.
	Object string `json:"object,omitempty"`
	// Path is the field, such as spec.triggers[0].metadata.queueLength; "" is the
	// document.
	Path    string   `json:"path,omitempty"`
	Found   string   `json:"found"`   // what stands there
	Effects []Effect `json:"effects"` // what happens, at least one
	Fix     string   `json:"fix"`     // an imperative sentence without a full stop
}

// An Effect is what happens, and under which releases of KEDA.
type Effect struct {
	Releases string `json:"releases,omitempty"` // "since 2.11", "2.20.0 to 2.20.1"; "" is all that were asked about
	Text     string `json:"text"`
}

// Message returns two sentences: the problem with its consequences, and the fix.
func (f *Finding) Message() string { return f.Problem() + ". " + f.Fix + "." }

// Problem returns the field, its content and the consequences, in one sentence without a full
// stop.
func (f *Finding) Problem() string {
	var b strings.Builder
	switch {
	case f.Path == "":
		b.WriteString("There is " + f.Found)
	case f.Found == nothing:
		b.WriteString(f.Path + " is missing")
	default:
		b.WriteString(f.Path + " is " + f.Found)
	}
	b.WriteString(": ")
	for i, e := range f.Effects {
		if i > 0 {
			b.WriteString("; ")
		}
		if e.Releases != "" {
			b.WriteString(e.Releases + ", ")
		}
		b.WriteString(e.Text)
	}
	return b.String()
}
