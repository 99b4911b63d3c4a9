package results

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

// lines writes a list.
func (p *page) lines(class string, all []string) {
	p.add("<ul class=\"%s\">", class)
	for _, line := range all {
		p.add("<li>%s</li>\n", line)
	}
	p.add("</ul>\n")
}

// table writes a table that may be wider than the page.
func (p *page) table(head []string, rows [][]string) {
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

// folded writes a part that is hidden until the reader opens it.
func (p *page) folded(summary string, head []string, rows [][]string) {
	p.add("<details><summary>%s</summary>", summary)
	p.table(head, rows)
	p.add("</details>\n")
}

func writeHTML(w io.Writer, r *Findings) error {
	var p page
	p.add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	p.add("<title>%s: simulation</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", r.Scenario.Name)
	p.WriteString(":root { color-scheme: light dark; }\n" + picture.Style + style)
	p.add("</style>\n</head>\n<body>\n<h1>%s</h1>\n<p>%s</p>\n", r.Scenario.Name, r.Workload())
	heads := len(r.Capacities)
	p.lines("head", r.Verdict[:heads])
	if len(r.Objectives) > 0 {
		p.add("<ul class=\"objectives\">")
		for i := range r.Objectives {
			class := strings.ReplaceAll(r.Objectives[i].Result, " ", "-")
			p.add("<li class=\"%s\">%s</li>\n", class, r.Goals[i%len(r.Goals)].lineOf(&r.Objectives[i]))
		}
		p.add("</ul>\n")
	}
	p.lines("verdict", r.Verdict[heads+len(r.Objectives):])
	rows := r.table(onPage)
	p.table(rows[0], rows[1:])
	rows = r.table(folded)
	p.folded("More numbers", rows[0], rows[1:])
	p.add("<div class=\"charts\">")
	for _, chart := range r.charts() {
		p.WriteString("\n<figure style=\"margin: 0\">" + chart + "</figure>")
	}
	p.add("\n</div>\n<p>Lines are means of the runs; 90 %% of the runs are within a band.</p>\n")
	if len(r.Assumptions) > 0 {
		p.folded("Assumptions", []string{"parameter", "value", "source", "flag"}, assumed(r.Assumptions))
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
