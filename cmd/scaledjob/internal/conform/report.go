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

// WriteJUnit writes a case for each level, and one for a program that failed.
func (r *Report) WriteJUnit(out io.Writer) error {
	suite, rows := report.Suite{Name: "conform"}, r.rows()
	for i, l := range r.Levels {
		c, m := report.Case{Name: l.Name}, &report.Message{Message: l.Verdict}
		for column, cell := range rows[i+1][1:5] {
			m.Message += fmt.Sprintf(", %s %s", rows[0][column+1], cell)
		}
		for _, d := range l.Differences {
			m.Text += d.Name + "\n" + d.String()
		}
		switch l.Verdict {
		case "differs", "failed":
			c.Failure = m
		case "unsupported":
			c.Skipped = m
		}
		suite.Add(c)
	}
	if r.Failure != "" {
		suite.Add(report.Case{Name: strings.Join(r.Program, " "), Failure: &report.Message{Message: "the program failed", Text: strings.TrimSpace(r.Failure + "\n" + r.Stderr)}})
	}
	return report.WriteJUnit(out, []report.Suite{suite})
}
