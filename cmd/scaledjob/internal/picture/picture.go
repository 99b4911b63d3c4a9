// Package picture draws simulations as SVG: items and Jobs over time, as means with bands over the
// replications.
//
// Each policy has the same colour everywhere. Names are shown whole. The colours differ
// for people with any kind of colour vision, and have a contrast of at least 3 to 1 on
// their background; text has at least 4.5 to 1 (WCAG 2.2, level AA). They follow the
// preferred colour scheme. Nothing is loaded from a network, and no script runs.
package picture

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/simulation/study"
)

// Colours is the number of policies that have a colour of their own.
const Colours = 8

// The colours of text, background, weak lines and policies, on light and on dark
// backgrounds.
var (
	light = [3 + Colours]string{"#222222", "#ffffff", "#d8d8d8",
		"#0060a0", "#b84a00", "#00735c", "#8f3f8a", "#7a6000", "#2b7fa8", "#666666", "#a02c4c"}
	dark = [3 + Colours]string{"#dddddd", "#16181d", "#3c4048",
		"#56b4e9", "#f0a04c", "#3cc9a0", "#dc96cc", "#e0c84c", "#9cb8ff", "#b4b4b4", "#f08ca4"}
)

// Style is the style sheet of the charts.
var Style = variables(light) + "@media (prefers-color-scheme: dark) {" + variables(dark) + "}\n@media print {" + variables(light) + "}\n" + `
.chart { width: 100%; height: auto; display: block; background: var(--paper); font: 13px system-ui, sans-serif; }
.chart text { fill: var(--ink); } .chart .title { font-weight: 600; font-size: 14px; }
.chart .middle { text-anchor: middle; } .chart .end { text-anchor: end; }
.chart .grid { stroke: var(--faint); fill: none; } .chart .level { stroke: var(--ink); stroke-dasharray: 6 4; fill: none; }
.chart .line { fill: none; stroke-linejoin: round; }
.chart .dot { stroke: var(--paper); }
` + policyStyle()

func variables(colours [3 + Colours]string) string {
	names := []string{"ink", "paper", "faint"}
	for i := range Colours {
		names = append(names, fmt.Sprintf("p%d", i))
	}
	var b strings.Builder
	b.WriteString(":root {")
	for i, name := range names {
		fmt.Fprintf(&b, " --%s: %s;", name, colours[i])
	}
	return b.String() + " }"
}

func policyStyle() string {
	var b strings.Builder
	for i := range Colours {
		fmt.Fprintf(&b, ".chart .p%d { stroke: var(--p%d); } .chart .p%d.dot, .chart .p%d.area { fill: var(--p%d); }\n", i, i, i, i, i)
	}
	return b.String() + ".chart .again.line { stroke-dasharray: 2 2; } .chart .again.dot { fill: var(--paper); } .chart path.area { stroke: none; fill-opacity: .2; }\n"
}

// colour returns the class of a policy's lines and dots. Further policies have the same
// colours again, with dotted lines and empty dots.
func colour(policy int) string {
	class := fmt.Sprintf("p%d", policy%Colours)
	if policy >= Colours {
		class += " again"
	}
	return class
}

// Items draws the waiting items over time.
func Items(s *study.Study) string {
	return overTime("Items waiting", s, 0, func(s *study.Sample) *study.Band { return &s.Queue })
}

// Jobs draws the unfinished Jobs over time, and their maximum, if it is not 0 and not far above.
func Jobs(s *study.Study, most int64) string {
	return overTime("Jobs", s, most, func(s *study.Sample) *study.Band { return &s.Jobs })
}

// banded is the greatest number of policies whose bands can be told apart.
const banded = 4

// overTime draws the mean of the runs, and the band of 90 % of them.
func overTime(title string, s *study.Study, most int64, band func(*study.Sample) *study.Band) string {
	length, highest := 0.0, 0.0
	var legend []string
	for i := range s.Samples {
		b := band(&s.Samples[i])
		length = max(length, s.Samples[i].Step*float64(len(b.Mean)))
		for _, high := range b.High {
			highest = max(highest, high)
		}
		legend = append(legend, s.Samples[i].Policy)
	}
	limited := most > 0 && float64(most) <= 4*max(1, highest)
	if limited {
		highest = max(highest, float64(most))
	}
	c := newChart(title, legend, length, max(1, highest)*1.05)
	if limited {
		c.level(float64(most), fmt.Sprintf("maximum %d", most))
	}
	for i := range s.Samples {
		b := band(&s.Samples[i])
		xs := make([]float64, len(b.Mean))
		for k := range xs {
			xs[k] = s.Samples[i].Step * (float64(k) + 0.5)
		}
		if len(legend) <= banded {
			c.area(colour(i), c.points(xs, b.High), c.points(xs, b.Low))
		}
		c.path(colour(i), 1.5+min(1.5*float64(len(legend)-1-i), 6), c.points(xs, b.Mean))
	}
	return c.end()
}
