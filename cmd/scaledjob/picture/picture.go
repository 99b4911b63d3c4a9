// Package picture draws simulations as SVG: items and Jobs over time, the waits of
// items, and the wait against the cost of the policies that a search tried.
//
// All policies are in one chart, each in the same colour everywhere. The colours differ
// for people with any kind of colour vision, and have a contrast of at least 3 to 1 on
// their background; text has at least 4.5 to 1 (WCAG 2.2, level AA). They follow the
// preferred colour scheme. Hovering over a chart shows its values. Nothing is loaded from
// a network, and no script runs.
package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/simulation"
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
.chart .measured { stroke: var(--ink); stroke-dasharray: 5 3; }
.chart .line { fill: none; stroke-linejoin: round; } 
.chart .dot { stroke: var(--paper); } .chart .own { fill: none; stroke: var(--ink); stroke-width: 2; }
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
		fmt.Fprintf(&b, ".chart .p%d { stroke: var(--p%d); } .chart .p%d.dot { fill: var(--p%d); }\n", i, i, i, i)
	}
	return b.String() + ".chart .again.line { stroke-dasharray: 2 2; } .chart .again.dot { fill: var(--paper); }\n"
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
	seconds float64
}

var units = []unit{{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}}

// unitOf returns the largest unit of which the longest result has at least three.
func unitOf(results []simulation.Result) unit {
	var longest float64
	for i := range results {
		longest = max(longest, results[i].Summary.Seconds)
	}
	best := units[0]
	for _, u := range units {
		if longest >= 3*u.seconds {
			best = u
		}
	}
	return best
}

// A Sample is a measured value.
type Sample struct {
	Seconds float64 `json:"seconds"` // since the start of the run
	Value   float64 `json:"value"`
}

// Measured draws the queue length that polls read over time, and the measured length, dashed.
func Measured(results []simulation.Result, measured []Sample) string {
	return overTime("Queue length; dashed: measured", results, 0, measured, func(t *simulation.Tick) float64 { return t.Metric })
}

// Items draws the waiting items over time.
func Items(results []simulation.Result) string {
	return overTime("Items waiting", results, 0, nil, func(t *simulation.Tick) float64 { return float64(t.Queued) })
}

// Jobs draws the unfinished Jobs over time, and their maximum.
func Jobs(results []simulation.Result, most int64) string {
	return overTime("Jobs", results, most, nil, func(t *simulation.Tick) float64 { return float64(t.Running) })
}

// points is the greatest number of points of a line: more would not be visible.
const points = 300

func overTime(title string, results []simulation.Result, most int64, measured []Sample, value func(*simulation.Tick) float64) string {
	u := unitOf(results)
	x, y := axis{name: u.name}, axis{}
	lines := make([][]simulation.Tick, len(results))
	for i := range results {
		lines[i] = simulation.Downsample(results[i].Ticks, points)
		x.to = max(x.to, results[i].Summary.Seconds/u.seconds)
		for k := range lines[i] {
			y.to = max(y.to, value(&lines[i][k]))
		}
	}
	var xs, ys []float64
	for _, m := range measured {
		if m.Seconds >= 0 && m.Seconds/u.seconds <= x.to {
			xs, ys = append(xs, m.Seconds/u.seconds), append(ys, m.Value)
			y.to = max(y.to, m.Value)
		}
	}
	limited := most > 0 && float64(most) <= 4*max(1, y.to)
	if limited {
		y.to = max(y.to, float64(most))
	}
	y.to = max(1, y.to) * 1.05
	c := newChart(title, x, y)
	c.legend(names(results))
	if limited {
		c.level(float64(most), fmt.Sprintf("maximum %d", most))
	}
	for i, ticks := range lines {
		xs, ys := make([]float64, len(ticks)), make([]float64, len(ticks))
		for k := range ticks {
			xs[k], ys[k] = ticks[k].Seconds/u.seconds, value(&ticks[k])
		}
		c.step(colour(i), 1.5+min(1.5*float64(len(lines)-1-i), 6), xs, ys)
	}
	if len(xs) > 0 {
		c.step("measured", 2, xs, ys)
	}
	c.hovers(results, lines, u, x.to, value)
	return c.end()
}

// hovers shows the value of every policy over each part of the plot.
func (c *chart) hovers(results []simulation.Result, lines [][]simulation.Tick, u unit, end float64, value func(*simulation.Tick) float64) {
	const parts = 60
	next := make([]int, len(lines))
	for part := range parts {
		from, to := end*float64(part)/parts, end*float64(part+1)/parts
		text := fmt.Sprintf("%s %s", number(float64(int(from*10))/10), u.name)
		for i, ticks := range lines {
			for next[i]+1 < len(ticks) && ticks[next[i]+1].Seconds/u.seconds <= from {
				next[i]++
			}
			if next[i] < len(ticks) {
				text += fmt.Sprintf("\n%s: %g", results[i].Summary.Policy, value(&ticks[next[i]]))
			}
		}
		c.hover(from, to, text)
	}
}

func names(results []simulation.Result) (all []string) {
	for i := range results {
		all = append(all, results[i].Summary.Policy)
	}
	return all
}

// Waits draws, for each policy, the wait of the items: half of them wait in the thick
// part at most, 95 % up to the first mark, 99 % up to the second, all up to the end.
func Waits(results []simulation.Result) string {
	x := axis{name: "seconds: thick 50 %, dots 95 % and 99 %, line all items", log: true}
	for i := range results {
		x.to = max(x.to, results[i].Summary.Wait.Max)
	}
	c := newChart("Wait of the items", x, axis{})
	c.legend(names(results))
	for i := range results {
		w := results[i].Summary.Wait
		at := place(top + (float64(i)+0.5)*float64(height-top-bottom)/float64(len(results)))
		fmt.Fprintf(&c.b, `<g><title>%s</title>`, html.EscapeString(fmt.Sprintf("%s: 50 %% %gs, 95 %% %gs, 99 %% %gs, all %gs", results[i].Summary.Policy, w.P50, w.P95, w.P99, w.Max)))
		fmt.Fprintf(&c.b, `<path class="%s line" stroke-width="2" d="M%d %sH%s"/>`, colour(i), left, at, place(c.x.at(w.Max)))
		fmt.Fprintf(&c.b, `<path class="%s line" stroke-width="6" d="M%d %sH%s"/>`, colour(i), left, at, place(c.x.at(w.P50)))
		for _, q := range []float64{w.P95, w.P99} {
			fmt.Fprintf(&c.b, `<circle class="%s dot" cx="%s" cy="%s" r="6"/>`, colour(i), place(c.x.at(q)), at)
		}
		c.b.WriteString("</g>")
	}
	return c.end()
}

// Front draws the wait against the cost of the policies that a search tried. The Pareto
// optimal points are connected and numbered in the order of [Best]; own, if not nil, is
// circled.
func Front(points []simulation.Point, own *simulation.Summary) string {
	x, y := axis{name: "cost, in Job-hours"}, axis{log: true}
	for i := range points {
		x.to, y.to = max(x.to, hours(&points[i].Summary)), max(y.to, points[i].Summary.Wait.P95)
	}
	if own != nil {
		x.to, y.to = max(x.to, hours(own)), max(y.to, own.Wait.P95)
	}
	x.to *= 1.05
	c := newChart("Wait of 95 % of the items, in seconds", x, y)
	for i := range points {
		if !points[i].ParetoOptimal {
			c.point(&points[i].Summary, "p6", 3)
		}
	}
	var xs, ys []float64
	best := Best(points)
	for i := range best {
		xs, ys = append(xs, hours(&best[i].Summary)), append(ys, best[i].Summary.Wait.P95)
	}
	c.step("p0", 1.5, xs, ys)
	for i := range best {
		c.point(&best[i].Summary, "p0", 5)
	}
	c.numbers(xs, ys)
	if own != nil {
		fmt.Fprintf(&c.b, `<circle class="own" cx="%s" cy="%s" r="10"/>`, place(c.x.at(hours(own))), place(c.y.at(own.Wait.P95)))
	}
	c.text(left, 45, "", "● optimal, numbered   ○ the manifest's own policy")
	return c.end()
}

// numbers writes numbers beside points, each at the nearest free place.
func (c *chart) numbers(xs, ys []float64) {
	type spot struct{ x, y float64 }
	var taken []spot
	for i := range xs {
		taken = append(taken, spot{c.x.at(xs[i]), c.y.at(ys[i]) + 5})
	}
	free := func(s spot) bool {
		return !slices.ContainsFunc(taken, func(t spot) bool { return math.Abs(s.x-t.x) < 17 && math.Abs(s.y-t.y) < 15 })
	}
	for i := range xs {
		for k := 0; ; k++ { // a spiral around the point
			angle, far := -math.Pi/2+float64(k)*0.7, 16+float64(k)
			s := spot{taken[i].x + far*math.Cos(angle), taken[i].y + far*math.Sin(angle)}
			inside := s.x > left && s.x < width-10 && s.y > top && s.y < height-bottom
			if inside && free(s) || k == 400 {
				taken = append(taken, s)
				c.text(s.x, s.y, "middle number", fmt.Sprint(i+1))
				break
			}
		}
	}
}

func hours(s *simulation.Summary) float64 { return s.Cost() / 3600 }

func (c *chart) point(s *simulation.Summary, class string, radius int) {
	fmt.Fprintf(&c.b, `<circle class="%s dot" cx="%s" cy="%s" r="%d"><title>%s</title></circle>`, class,
		place(c.x.at(hours(s))), place(c.y.at(s.Wait.P95)), radius, html.EscapeString(fmt.Sprintf("%s: wait %gs, %.4g Job-hours", s.Policy, s.Wait.P95, hours(s))))
}

// Best returns the Pareto optimal points, the cheapest first. Of several points at the
// same place it returns the first.
func Best(points []simulation.Point) []simulation.Point {
	front := slices.DeleteFunc(slices.Clone(points), func(p simulation.Point) bool { return !p.ParetoOptimal })
	slices.SortStableFunc(front, func(a, b simulation.Point) int {
		return cmp.Or(cmp.Compare(a.Summary.Cost(), b.Summary.Cost()), cmp.Compare(b.Summary.Wait.P95, a.Summary.Wait.P95))
	})
	return slices.CompactFunc(front, func(a, b simulation.Point) bool {
		return a.Summary.Cost() == b.Summary.Cost() && a.Summary.Wait.P95 == b.Summary.Wait.P95
	})
}

// Sheet returns an SVG file with the charts below each other.
func Sheet(charts ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d"><style>%s</style>`+"\n", width, height*len(charts), width, Style)
	b.WriteString(`<rect width="100%" height="100%" style="fill: var(--paper)"/>` + "\n")
	for i, c := range charts {
		b.WriteString(strings.Replace(c, "<svg ", fmt.Sprintf(`<svg y="%d" height="%d" `, i*height, height), 1) + "\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
