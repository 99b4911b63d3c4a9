package main

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/picture"
)

//go:embed report.css
var style string

// A page is an HTML document that is being written.
//
// It does without html/template, which calls methods by their names: the linker then keeps
// every method of every Kubernetes type, 9 MB in all.
type page struct{ strings.Builder }

// add writes HTML in which each argument replaces %s, escaped.
func (p *page) add(format string, args ...any) {
	escaped := make([]any, len(args))
	for i, arg := range args {
		escaped[i] = html.EscapeString(fmt.Sprint(arg))
	}
	fmt.Fprintf(p, format, escaped...)
}

// table writes a table that may be wider than the page.
func (p *page) table(head []string, rows [][]any) {
	p.add("<div class=\"wide\"><table>\n<thead><tr>")
	for _, name := range head {
		p.add("<th>%s</th>", name)
	}
	p.add("</tr></thead>\n<tbody>")
	for _, row := range rows {
		p.add("\n<tr>")
		for _, cell := range row {
			p.add("<td>%s</td>", cell)
		}
		p.add("</tr>")
	}
	p.add("\n</tbody></table></div>\n")
}

// folded writes what is hidden until the reader opens it.
func (p *page) folded(summary string, head []string, rows [][]any) {
	p.add("<details><summary>%s</summary>", summary)
	p.table(head, rows)
	p.add("</details>\n")
}

func writeHTML(w io.Writer, r *report) error {
	var p page
	p.add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	p.add("<title>%s: simulation</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", r.Scenario.Name)
	p.WriteString(":root { color-scheme: light dark; }\n" + picture.Style + style)
	p.add("</style>\n</head>\n<body>\n<h1>%s</h1>\n<p>%s</p>\n<ul class=\"verdict\">", r.Scenario.Name, r.Workload())
	for _, line := range r.Verdict {
		p.add("<li>%s</li>\n", line)
	}
	p.add("</ul>\n")
	var first, more [][]any
	for i := range r.Results {
		c := rowOf(&r.Results[i])
		first = append(first, []any{c.Policy, c.P95, c.PeakQueue, c.Jobs, c.PeakJobs, c.Idle})
		more = append(more, []any{c.Policy, c.P50, c.Max, c.Drained, c.Empty, c.Over, c.Left, c.Duplicated, c.Used})
	}
	p.table([]string{"policy", "wait of 95 %", "peak queue", "Jobs", "peak Jobs", "idle"}, first)
	p.folded("More numbers", []string{"policy", "wait of 50 %", "longest wait", "drained after", "idle Jobs", "above maximum", "undone", "duplicated", "busy"}, more)
	p.add("<div class=\"charts\">")
	for _, chart := range r.charts() {
		p.WriteString("\n<figure style=\"margin: 0\">" + chart + "</figure>")
	}
	p.add("\n</div>\n")
	if best := picture.Best(r.Points); len(best) > 0 {
		p.add("<h2>Best policies of %s</h2>\n<p>A shorter wait costs more. The numbers are those of the chart.</p>\n<ol>", len(r.Points))
		for _, point := range best {
			p.add("<li>%s</li>", point.Summary.Policy)
		}
		p.add("</ol>\n")
	}
	if len(r.Assumptions) > 0 {
		var rows [][]any
		for _, a := range r.Assumptions {
			rows = append(rows, []any{a.Name, a.Value, a.Source, a.Flag})
		}
		p.folded("Assumptions", []string{"parameter", "value", "source", "flag"}, rows)
	}
	if r.Command != "" {
		p.add("<h2>Repeat</h2>\n<pre>")
		for i, word := range strings.Split(r.Command, " ") {
			if i > 0 {
				p.add(" ")
			}
			p.add("<span>%s</span>", word) // which breaks only if it is longer than a line
		}
		p.add("</pre>\n")
	}
	p.add("</body>\n</html>\n")
	_, err := io.WriteString(w, p.String())
	return err
}
