package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// printTerminal prints the verdict, the table, the charts, what was assumed and, if wanted, the details.
func printTerminal(out io.Writer, r *Findings) error {
	report.Fit(out, report.Columns)
	columns := report.Width(out)
	for _, line := range r.Verdict {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "\n%s\n%s\n\n%s", report.Tabulated(r.table(false), columns), r.numbers(), terminalCharts(r, columns))
	if len(r.Reasons) > 0 {
		fmt.Fprintf(out, "\nWhat goes wrong:\n  %s\n", strings.Join(r.Reasons, "\n  "))
	}
	if rows := assumptionRows(r); len(rows) > 0 {
		table := report.Aligned("  ", false, rows)
		if !report.Fits(table, columns) {
			table = ""
			for _, row := range rows {
				table += "  " + strings.Join(row, "  ") + "\n"
			}
		}
		fmt.Fprintf(out, "\nAssumptions, their sources, and the flags that change them:\n%s", table)
	}
	if r.AllDetails {
		fmt.Fprintf(out, "\nDetails:\n%s\n", report.Tabulated(r.table(true), columns))
		for _, line := range r.Details {
			fmt.Fprintln(out, line)
		}
	} else {
		fmt.Fprintln(out, "\nHow certain each number is, and what the search tried: --details.")
	}
	if r.Patch != "" {
		fmt.Fprintf(out, "\n%s", r.Patch)
	}
	return nil
}

func assumptionRows(r *Findings) (rows [][]string) {
	for _, a := range r.Assumptions {
		rows = append(rows, []string{a.Name, a.Value, a.Source, a.Flag})
	}
	return rows
}

// terminalCharts draws the means of the waiting items and the Jobs over time, a row for each
// policy with the same scale, and has the maxima in a line below.
func terminalCharts(r *Findings, columns int) string {
	c := chart{study: r.Study, columns: columns}
	length := 0.0
	for i := range r.Study.Samples {
		s := &r.Study.Samples[i]
		c.names = max(c.names, report.Wide(s.Policy))
		c.steps = max(c.steps, len(s.Queue.Mean))
		length = s.Step * float64(c.steps) // the step is the same in each
	}
	if c.names > columns*2/5 {
		c.names = 0 // names have lines of their own
	}
	title := "Unfinished Jobs"
	if limit := r.maximum(); limit > 0 {
		title = fmt.Sprintf("Unfinished Jobs, maximum %d", limit)
	}
	var b strings.Builder
	c.draw(&b, "Waiting items", columnOf("queue"), func(s *study.Sample) []float64 { return s.Queue.Mean })
	c.draw(&b, title, columnOf("peak"), func(s *study.Sample) []float64 { return s.Jobs.Mean })
	fmt.Fprintf(&b, "%*s%*s\n", c.names+2, "0", columns-c.names-2, report.Span(length))
	return b.String()
}

// A chart has names of at most so many columns on its left.
type chart struct {
	study                 *study.Study
	names, steps, columns int
}

func (c *chart) draw(b *strings.Builder, title string, peak *column, means func(*study.Sample) []float64) {
	rows, highest := make([][]float64, len(c.study.Samples)), 0.0
	var peaks []string
	for i := range rows {
		s := &c.study.Samples[i]
		rows[i] = averages(means(s), c.steps, c.columns-c.names-1)
		highest = max(highest, slices.Max(rows[i]))
		top := 0.0
		for k := range s.Runs {
			top = max(top, peak.value(&s.Runs[k]))
		}
		peaks = append(peaks, s.Policy+": "+report.Count(top))
	}
	fmt.Fprintf(b, "%s (average; a full bar is %s)\n", title, report.Short(highest))
	for i, row := range rows {
		name := c.study.Samples[i].Policy
		if c.names == 0 {
			fmt.Fprintln(b, name)
			name = ""
		}
		fmt.Fprintf(b, "%s %s\n", name+strings.Repeat(" ", c.names-report.Wide(name)), strings.TrimRight(bars(row, highest), " "))
	}
	fmt.Fprintf(b, "Highest in any run: %s.\n", strings.Join(peaks, "; "))
}

// averages returns the mean of each of n parts of so many steps. There are no values after the
// end of a run.
func averages(values []float64, steps, n int) []float64 {
	means := make([]float64, n)
	for k := range means {
		from := k * steps / n
		to := max(from+1, (k+1)*steps/n)
		for _, v := range values[min(from, len(values)):min(to, len(values))] {
			means[k] += v / float64(to-from)
		}
	}
	return means
}

// bars draws values as bars of up to eight eighths of a line. A value above 0 has at least
// one eighth.
func bars(values []float64, highest float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		if v <= 0 {
			b.WriteRune(' ')
			continue
		}
		b.WriteRune(blocks[min(7, int(v/highest*8))])
	}
	return b.String()
}
