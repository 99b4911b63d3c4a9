package results

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// terminalCharts draws the means of the waiting items and the Jobs over time, a row for each
// policy with the same scale, and has the maxima in a line below.
func terminalCharts(r *Findings) string {
	wide, length := 0, 0.0
	names := make([]string, len(r.Study.Samples))
	for i := range r.Study.Samples {
		s := &r.Study.Samples[i]
		names[i] = s.Policy
		wide = max(wide, len([]rune(names[i])))
		length = max(length, s.Step*float64(len(s.Queue.Mean)))
	}
	own := wide > 40 // names have lines of their own
	if own {
		wide = 0
	}
	var b strings.Builder
	columns := report.Columns - wide - 1
	chart := func(title string, band func(*study.Sample) *study.Band) {
		rows, highest := make([][]float64, len(names)), 0.0
		var most []string
		for i := range rows {
			s := &r.Study.Samples[i]
			rows[i] = parts(band(s).Mean, s.Step, columns, length)
			peak := 0.0
			for k := range rows[i] {
				highest = max(highest, rows[i][k])
			}
			for _, v := range band(s).High {
				peak = max(peak, v)
			}
			most = append(most, fmt.Sprintf("%s %s", names[i], report.Short(peak)))
		}
		fmt.Fprintf(&b, "%s: means, a full block is %s\n", title, report.Short(highest))
		for i, row := range rows {
			line := strings.TrimRight(bars(row, highest), " ")
			if own {
				fmt.Fprintf(&b, "%s\n %s\n", strings.Join(report.Lines(names[i], "    ", report.Columns), "\n"), line)
			} else {
				fmt.Fprintf(&b, "%-*s %s\n", wide, names[i], line)
			}
		}
		fmt.Fprintln(&b, strings.Join(report.Lines("Highest: "+strings.Join(most, "; ")+".", "    ", report.Columns), "\n"))
	}
	chart("Items waiting", func(s *study.Sample) *study.Band { return &s.Queue })
	title := "Jobs"
	if most := r.Capacities[0].Load.Max; most > 0 {
		title = fmt.Sprintf("Jobs (maximum %d)", most)
	}
	chart(title, func(s *study.Sample) *study.Band { return &s.Jobs })
	until := report.Span(length)
	fmt.Fprintf(&b, "%*s%*s\n", wide+2, "0", columns-1, until)
	return b.String()
}

// parts returns the mean of each of n parts of the time.
func parts(values []float64, step float64, n int, length float64) []float64 {
	all, weights := make([]float64, n), make([]float64, n)
	part := length / float64(n)
	for i, v := range values {
		for at := float64(i) * step; at < float64(i+1)*step-1e-9; {
			k := min(n-1, int(at/part+1e-9))
			to := min(float64(i+1)*step, float64(k+1)*part)
			if to <= at {
				break
			}
			all[k] += v * (to - at)
			weights[k] += to - at
			at = to
		}
	}
	for k := range all {
		if weights[k] > 0 {
			all[k] /= weights[k]
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
