package lint

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

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
