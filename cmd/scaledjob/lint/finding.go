package lint

import (
	"fmt"
	"strings"
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
