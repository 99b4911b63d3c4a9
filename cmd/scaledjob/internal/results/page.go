package results

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/picture"
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

func (p *page) lines(class string, lines []string) {
	p.add("<ul class=\"%s\">", class)
	for _, line := range lines {
		p.add("<li>%s</li>\n", line)
	}
	p.add("</ul>\n")
}

func (p *page) table(head []string, rows [][]string) {
	p.add("<table>\n<thead><tr>")
	for _, name := range head {
		p.add("<th>%s</th>", name)
	}
	p.add("</tr></thead>\n<tbody>")
	for _, row := range rows {
		p.add("\n<tr>")
		for i, cell := range row {
			p.add("<td data-head=\"%s\">%s</td>", head[i], cell)
		}
		p.add("</tr>")
	}
	p.add("\n</tbody></table>\n")
}

func writeHTML(w io.Writer, r *Findings) error {
	var p page
	p.add("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	p.add("<title>%s: simulation</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", r.Scenario.Name)
	p.WriteString(":root { color-scheme: light dark; }\n" + picture.Style + style)
	p.add("</style>\n</head>\n<body>\n<h1>%s</h1>\n", r.Scenario.Name)
	p.add("<p class=\"verdict\">%s</p>\n", strings.Join(r.Verdict, " "))
	rows := r.table(false)
	p.table(rows[0], rows[1:])
	p.add("<div class=\"charts\">\n")
	p.WriteString("<figure>" + picture.Items(r.Study) + "</figure>\n<figure>" + picture.Jobs(r.Study, r.maximum()) + "</figure>\n")
	p.add("</div>\n<p>%s Lines are means of the runs; 90 %% of the runs are within a band.</p>\n", r.numbers())
	if len(r.Reasons) > 0 {
		p.add("<h2>What goes wrong</h2>\n")
		p.lines("details", r.Reasons)
	}
	p.add("<h2>Assumed</h2>\n")
	if r.File != "" {
		p.add("<pre>%s</pre>\n", r.File)
	} else {
		p.table([]string{"assumption", "value", "source", "flag"}, assumptionRows(r))
	}
	if r.Patch != "" {
		p.add("<h2>Patch</h2>\n<pre>%s</pre>\n", r.Patch)
	}
	p.add("<details><summary>How certain each number is, and what the search tried</summary>\n")
	p.lines("details", r.Details)
	rows = r.table(true)
	p.table(rows[0], rows[1:])
	p.add("</details>\n")
	if r.Command != "" {
		p.add("<h2>Run it again, or with other assumptions</h2>\n<pre>")
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
