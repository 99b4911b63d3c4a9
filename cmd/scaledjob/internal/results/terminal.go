package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// terminalCharts draws the means of the waiting items and the Jobs over time, a row for each
// policy with the same scale, and has the maxima in a line below.
func terminalCharts(r *Findings, columns int) string {
	wide, steps, length := 0, 0, 0.0
	for i := range r.Study.Samples {
		s := &r.Study.Samples[i]
		wide = max(wide, report.Wide(s.Policy))
		steps = max(steps, len(s.Queue.Mean))
		length = s.Step * float64(steps) // the step is the same in all
	}
	if wide > columns*2/5 {
		wide = 0 // names have lines of their own
	}
	title := "Jobs"
	if most := r.Capacities[0].Load.Max; most > 0 {
		title = fmt.Sprintf("Jobs (maximum %d)", most)
	}
	var b strings.Builder
	c := chart{r.Study, wide, steps, columns}
	c.draw(&b, "Items waiting", columnOf("queue"), func(s *study.Sample) []float64 { return s.Queue.Mean })
	c.draw(&b, title, columnOf("peak"), func(s *study.Sample) []float64 { return s.Jobs.Mean })
	fmt.Fprintf(&b, "%*s%*s\n", wide+2, "0", columns-wide-2, report.Span(length))
	return b.String()
}

// A chart has names of at most so many columns on its left.
type chart struct {
	of                   *study.Study
	wide, steps, columns int
}

func (c *chart) draw(b *strings.Builder, title string, peak *column, means func(*study.Sample) []float64) {
	of := c.of
	rows, highest := make([][]float64, len(of.Samples)), 0.0
	var most []string
	for i := range rows {
		s := &of.Samples[i]
		rows[i] = parts(means(s), c.steps, c.columns-c.wide-1)
		highest = max(highest, slices.Max(rows[i]))
		top := 0.0
		for k := range s.Runs {
			top = max(top, peak.value(&s.Runs[k]))
		}
		most = append(most, s.Policy+" "+peak.format(top))
	}
	fmt.Fprintf(b, "%s: means, a full block is %s\n", title, report.Short(highest))
	for i, row := range rows {
		name := of.Samples[i].Policy
		if c.wide == 0 {
			fmt.Fprintln(b, name)
			name = ""
		}
		fmt.Fprintf(b, "%s %s\n", name+strings.Repeat(" ", c.wide-report.Wide(name)), strings.TrimRight(bars(row, highest), " "))
	}
	fmt.Fprintf(b, "Highest of all runs: %s.\n", strings.Join(most, "; "))
}

// parts returns the mean of each of n parts of so many steps. There are no values after the
// end of a run.
func parts(values []float64, steps, n int) []float64 {
	all := make([]float64, n)
	for k := range all {
		from := k * steps / n
		to := max(from+1, (k+1)*steps/n)
		for _, v := range values[min(from, len(values)):min(to, len(values))] {
			all[k] += v / float64(to-from)
		}
	}
	return all
}

// bars draws values as bars of up to eight eighths of a line. A value above 0 has at least
// one eighth.
func bars(values []float64, highest float64) string {
	const eighths = "▁▂▃▄▅▆▇█"
	blocks := []rune(eighths)
	var b strings.Builder
	for _, v := range values {
		if v <= 0 || highest <= 0 {
			b.WriteRune(' ')
			continue
		}
		b.WriteRune(blocks[min(7, int(v/highest*8))])
	}
	return b.String()
}
