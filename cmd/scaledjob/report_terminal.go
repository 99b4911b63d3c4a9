package main

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/internal/wrap"
	"github.com/scaledjob/scaledjob/simulation"
)

// terminalCharts draws the waiting items and the Jobs over time, a row for each policy
// with the same scale.
func terminalCharts(r *report) string {
	wide, names, end := 0, make([]string, len(r.Results)), 0.0
	for i := range r.Results {
		names[i] = cut(name(&r.Results[i]), 40)
		wide = max(wide, len([]rune(names[i])))
		end = max(end, r.Results[i].Summary.Seconds)
	}
	var b strings.Builder
	columns := wrap.Columns - wide - 1
	chart := func(title string, value func(*simulation.Tick) float64) {
		rows, highest := make([][]float64, len(r.Results)), 0.0
		for i := range r.Results {
			rows[i] = column(r.Results[i].Ticks, columns, end, value)
			for _, v := range rows[i] {
				highest = max(highest, v)
			}
		}
		fmt.Fprintf(&b, "%s, at most %s\n", title, short(highest))
		for i, row := range rows {
			fmt.Fprintf(&b, "%-*s %s\n", wide, names[i], strings.TrimRight(bars(row, highest), " "))
		}
	}
	chart("Items waiting", func(t *simulation.Tick) float64 { return float64(t.Queued) })
	title := "Jobs"
	if r.Capacity.Max > 0 {
		title = fmt.Sprintf("Jobs (maximum %d)", r.Capacity.Max)
	}
	chart(title, func(t *simulation.Tick) float64 { return float64(t.Running) })
	until := span(end)
	fmt.Fprintf(&b, "%*s%*s\n", wide+2, "0", columns-1, until)
	return b.String()
}

// column returns the largest value of each of n parts of the time, and -1 after the end
// of the run. A part without a poll has the value of the part before.
func column(ticks []simulation.Tick, n int, end float64, value func(*simulation.Tick) float64) []float64 {
	all := make([]float64, n)
	last := -1
	for i := range ticks {
		at := min(n-1, int(ticks[i].Seconds/max(end, 1e-9)*float64(n)))
		v := value(&ticks[i])
		for ; last < at-1 && last >= 0; last++ {
			all[last+1] = all[last]
		}
		if at == last {
			v = max(v, all[at])
		}
		all[at], last = v, at
	}
	for i := last + 1; i < n; i++ {
		all[i] = -1
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
