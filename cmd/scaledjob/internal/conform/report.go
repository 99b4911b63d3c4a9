package conform

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
)

// WriteText writes each difference, and a table of the levels.
func (r *Report) WriteText(out io.Writer) {
	for i := range r.Levels {
		for _, d := range r.Levels[i].Differences {
			fmt.Fprintf(out, "%s: %s\n%s\n", r.Levels[i].Name, d.Name, d)
		}
	}
	fmt.Fprint(out, report.Aligned("", true, r.rows()))
	for i := range r.Levels {
		if l := &r.Levels[i]; l.Verdict == "unsupported" {
			fmt.Fprintf(out, "\n%s: most of it is unsupported, and nothing unsupported passes; leave it out with --level\n", l.Name)
		}
	}
	if r.Stderr != "" {
		fmt.Fprintf(out, "\nThe program's standard error ends with:\n%s\n", r.Stderr)
	}
}

// String returns the lines of a difference.
func (d Difference) String() string {
	var b strings.Builder
	add := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s%s\n", name, strings.ReplaceAll(text, "\n", "\n            "))
		}
	}
	add("question", d.Question.String())
	add("answer", d.Answer)
	add("right", d.Right)
	for i, rule := range d.Rules {
		if i == 0 {
			add("rule", rule.Text)
		} else {
			add(" ", fmt.Sprintf("or rule %d (%s)", rule.Number, rule.Name))
		}
	}
	add("trace", d.Trace)
	return b.String()
}

func (r *Report) rows() [][]string {
	rows := [][]string{{"level", "vectors", "random", "properties", "unsupported", "verdict"}}
	for _, l := range r.Levels {
		row := []string{l.Name}
		for _, t := range []Tally{l.Vectors, l.Random, l.Properties} {
			row = append(row, fmt.Sprintf("%d/%d", t.Right, t.Right+t.Wrong))
		}
		rows = append(rows, append(row, fmt.Sprint(l.Vectors.Unsupported+l.Random.Unsupported), l.Verdict))
	}
	return rows
}

// WriteMarkdown writes the table of the levels for a page.
func (r *Report) WriteMarkdown(out io.Writer) {
	for i, row := range r.rows() {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintln(out, strings.Repeat("|---", len(row))+"|")
		}
	}
}

// WriteJSON writes the report.
func (r *Report) WriteJSON(out io.Writer) error { return json.NewEncoder(out).Encode(r) }

// WriteJUnit writes a suite for each level. A case without a right answer is skipped.
func (r *Report) WriteJUnit(out io.Writer) error {
	var suites []report.Suite
	for i := range r.Levels {
		l, s := &r.Levels[i], report.Suite{Name: r.Levels[i].Name}
		for _, part := range []struct {
			name  string
			tally Tally
		}{{"vectors", l.Vectors}, {"random questions", l.Random}, {"properties", l.Properties}} {
			c, t := report.Case{Name: part.name}, part.tally
			switch {
			case t.Wrong > 0:
				var texts []string
				for _, d := range l.Differences {
					texts = append(texts, d.Name+"\n"+d.String())
				}
				c.Failure = &report.Message{Message: fmt.Sprintf("%d of %d wrong", t.Wrong, t.Right+t.Wrong), Text: strings.Join(texts, "\n")}
			case t.Right == 0 || l.Verdict == "unsupported":
				c.Skipped = &report.Message{Message: fmt.Sprintf("unsupported: %d", t.Unsupported)}
			}
			s.Add(c)
		}
		suites = append(suites, s)
	}
	if r.Failure != "" {
		s := report.Suite{Name: "program"}
		s.Add(report.Case{Name: strings.Join(r.Program, " "), Failure: &report.Message{Message: "the program failed", Text: strings.TrimSpace(r.Failure + "\n" + r.Stderr)}})
		suites = append(suites, s)
	}
	return report.WriteJUnit(out, suites)
}
