// Package picture draws simulations as SVG: items and Jobs over time as bands over the
// replications, and the distribution of the wait.
//
// Up to four policies are in one chart, each in the same colour everywhere. More have a
// chart each, with equal axes. Names are shown whole. The colours differ
// for people with any kind of colour vision, and have a contrast of at least 3 to 1 on
// their background; text has at least 4.5 to 1 (WCAG 2.2, level AA). They follow the
// preferred colour scheme. Hovering over a chart shows its values. Nothing is loaded from
// a network, and no script runs.
package picture

import (
	"fmt"
	"math"
	"strconv"
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
.chart .hover { fill: transparent; } .chart .hover:hover { fill: var(--faint); fill-opacity: .35; }
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

// A unit divides a time axis.
type unit struct {
	name    string
	short   string
	seconds float64
}

var units = []unit{{"seconds", "s", 1}, {"minutes", "m", 60}, {"hours", "h", 3600}, {"days", "d", 86400}}

// unitOf returns the largest unit of which a time has at least three.
func unitOf(seconds float64) unit {
	best := units[0]
	for _, u := range units {
		if seconds >= 3*u.seconds {
			best = u
		}
	}
	return best
}

// together is the greatest number of policies in one chart.
const together = 4

// panels draws a chart of all policies, or one for each, with a legend. A single policy of several
// is in the title.
func panels(title string, policies []string, draw func(title string, legend []name, policies []int) string) (all []string) {
	var every []int
	var legend []name
	for i, policy := range policies {
		every, legend = append(every, i), append(legend, name{policy, colour(i)})
	}
	if len(every) <= together {
		return []string{draw(title, legend, every)}
	}
	for i, policy := range policies {
		all = append(all, draw(title+", "+policy, nil, every[i:i+1]))
	}
	return all
}

// policiesOf returns the names of the policies.
func policiesOf(s *study.Study) (all []string) {
	for i := range s.Samples {
		all = append(all, s.Samples[i].Policy)
	}
	return all
}

// Items draws the waiting items over time.
func Items(s *study.Study) []string {
	return overTime("Items waiting", s, 0, func(s *study.Sample) *study.Band { return &s.Queue })
}

// Jobs draws the unfinished Jobs over time, and their maximum.
func Jobs(s *study.Study, most int64) []string {
	return overTime("Jobs", s, most, func(s *study.Sample) *study.Band { return &s.Jobs })
}

// overTime draws the mean of the runs, and the band of 90 % of them.
func overTime(title string, s *study.Study, most int64, band func(*study.Sample) *study.Band) []string {
	length, y := 0.0, axis{}
	for i := range s.Samples {
		b := band(&s.Samples[i])
		length = max(length, s.Samples[i].Step*float64(len(b.Mean)))
		y.to = max(y.to, highest(b.High))
	}
	limited := most > 0 && float64(most) <= 4*max(1, y.to)
	if limited {
		y.to = max(y.to, float64(most))
	}
	y.to = max(1, y.to) * 1.05
	u := unitOf(length)
	return panels(title, policiesOf(s), func(title string, legend []name, policies []int) string {
		c := newChart(title, legend, axis{name: u.name, to: length, unit: u}, y)
		if limited {
			c.level(float64(most), fmt.Sprintf("maximum %d", most))
		}
		for at, i := range policies {
			sample := &s.Samples[i]
			b := band(sample)
			xs := make([]float64, len(b.Mean))
			for k := range xs {
				xs[k] = sample.Step * (float64(k) + 0.5)
			}
			c.area(colour(i), c.points(xs, b.High), c.points(xs, b.Low))
			c.path(colour(i), 1.5+min(1.5*float64(len(policies)-1-at), 6), xs, b.Mean)
		}
		c.hovers(s, policies, u, length, band)
		return c.end()
	})
}

func highest(all []float64) float64 {
	most := 0.0
	for _, v := range all {
		most = max(most, v)
	}
	return most
}

// hovers shows the mean of every policy over each part of the plot.
func (c *chart) hovers(s *study.Study, policies []int, u unit, length float64, band func(*study.Sample) *study.Band) {
	const parts = 60
	for part := range parts {
		from, to := length*float64(part)/parts, length*float64(part+1)/parts
		text := fmt.Sprintf("%s %s", number(math.Floor(from/u.seconds*10)/10), u.name)
		for _, i := range policies {
			sample := &s.Samples[i]
			b := band(sample)
			if at := int(from / max(sample.Step, 1e-9)); at < len(b.Mean) {
				text += fmt.Sprintf("\n%s: %.3g (%.3g to %.3g)", sample.Policy, b.Mean[at], b.Low[at], b.High[at])
			}
		}
		c.hover(from, to, text)
	}
}

// Waits draws the share of the items that wait at most so long.
func Waits(s *study.Study) []string {
	x := axis{name: "wait", times: true}
	shortest := math.Inf(1)
	for i := range s.Samples {
		if w := s.Samples[i].Waits.Mean; len(w) > 100 {
			x.to, shortest = max(x.to, w[99]), min(shortest, w[95])
		}
	}
	if x.to > 20*max(shortest, 1) { // a linear axis would hide the shortest
		x.log, x.from = true, 1
		x.name = "wait, from 1 s on"
	} else {
		x.unit = unitOf(x.to)
		x.name = "wait in " + x.unit.name + ", up to that of 99 % of the items"
	}
	return panels("Items served within a given wait (%)", policiesOf(s), func(title string, legend []name, policies []int) string {
		c := newChart(title, legend, x, axis{to: 100})
		for at, i := range policies {
			w := &s.Samples[i].Waits
			ys := make([]float64, len(w.Mean))
			for k := range ys {
				ys[k] = float64(k)
			}
			if len(ys) == 0 {
				continue
			}
			c.area(colour(i), c.points(w.Low, ys), c.points(w.High, ys))
			c.path(colour(i), 2+1.5*float64(len(policies)-1-at), w.Mean, ys)
		}
		return c.end()
	})
}

// Sheet returns an SVG file with the charts below each other.
func Sheet(charts ...string) []byte {
	var b, in strings.Builder
	at := 0
	for _, c := range charts {
		var height int
		if _, size, found := strings.Cut(c, `viewBox="0 0 `+strconv.Itoa(width)+" "); found {
			_, _ = fmt.Sscan(strings.SplitN(size, `"`, 2)[0], &height)
		}
		in.WriteString(strings.Replace(c, "<svg ", fmt.Sprintf(`<svg y="%d" height="%d" `, at, height), 1) + "\n")
		at += height
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d"><style>%s</style>`+"\n", width, at, width, Style)
	b.WriteString(`<rect width="100%" height="100%" style="fill: var(--paper)"/>` + "\n" + in.String() + "</svg>\n")
	return []byte(b.String())
}
