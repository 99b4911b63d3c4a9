package picture

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The width of a chart, the height of its plot, and the margins around it, in the units of
// its viewBox. A phone shows a chart at three quarters of this size.
const (
	width, plot         = 480, 178
	left, right, bottom = 52, 16, 46
	line                = 18     // height of a line of text
	letters, bold       = 54, 44 // of a line
)

// A chart is an SVG element in the making.
type chart struct {
	b    strings.Builder
	x, y axis
	rows int // lines of text above the plot
}

// An axis maps values to places.
type axis struct {
	name     string
	from, to float64
	low      float64 // first place
	high     float64 // last place
	log      bool
	times    bool // in seconds
	unit     unit // of times on a linear axis
}

func (a *axis) at(v float64) float64 {
	from, to := a.from, a.to
	if a.log {
		v, from, to = math.Log10(max(v, a.from)), math.Log10(from), math.Log10(to)
	}
	return a.low + (min(v, to)-from)/(to-from)*(a.high-a.low)
}

// ticks returns at most seven round values, or those of a logarithmic axis.
func (a *axis) ticks() (all []float64) {
	if a.log {
		return a.logTicks()
	}
	to := a.to / a.scale()
	step := 1.0
	if to < 3 {
		step = math.Pow(10, math.Floor(math.Log10(to))-1)
	}
	for grow := 0; to/step > 6; grow++ {
		step *= []float64{2, 2.5, 2}[grow%3]
	}
	for i := 0.0; i*step <= to*(1+1e-9); i++ {
		all = append(all, i*step*a.scale())
	}
	return all
}

func (a *axis) logTicks() (all []float64) {
	digits := []float64{1}
	if a.to/a.from <= 100 {
		digits = []float64{1, 2, 5}
	}
	add := func(v float64) {
		if v >= a.from*(1-1e-9) && v <= a.to*(1+1e-9) {
			all = append(all, v)
		}
	}
	if a.times {
		for _, v := range []float64{0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 360_000, 3_600_000, 36_000_000, 360_000_000} {
			add(v)
		}
		return all
	}
	for power := math.Floor(math.Log10(a.from)); power <= math.Log10(a.to)+1; power++ {
		for _, d := range digits {
			add(d * math.Pow(10, power))
		}
	}
	return all
}

func (a *axis) scale() float64 {
	if a.unit.seconds > 0 {
		return a.unit.seconds
	}
	return 1
}

// label formats a tick.
func (a *axis) label(v float64) string {
	if !a.log || !a.times {
		return number(v / a.scale())
	}
	for _, u := range slices.Backward(units) {
		if v >= u.seconds {
			return number(v/u.seconds) + u.short
		}
	}
	return number(v*1000) + "ms"
}

// A name is a policy in a legend.
type name struct{ text, class string }

// newChart begins a chart with a title, names with their colours, and axes from 0, or from a
// number above 0 if logarithmic.
func newChart(title string, names []name, x, y axis) *chart {
	c := &chart{}
	c.head(title, names)
	x.low, x.high, y.low, y.high = left, width-right, float64(c.top()+plot), float64(c.top())
	for _, a := range []*axis{&x, &y} {
		if a.to = atLeast(a.to, 1e-3); a.log {
			a.from = min(a.from, a.to/10)
		}
	}
	c.x, c.y = x, y
	for _, v := range y.ticks() {
		at := c.y.at(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%d %sH%d"/>`, left, place(at), width-right)
		c.text(left-8, at+5, "end", y.label(v))
	}
	before := -100.0
	for _, v := range x.ticks() {
		at := c.x.at(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%s %dv5"/>`, place(at), c.top()+plot)
		text := x.label(v)
		if middle := min(at, width-4.5*float64(len(text))); middle-before > 8*float64(len(text)) {
			c.text(middle, float64(c.top()+plot+20), "middle", text)
			before = middle
		}
	}
	c.text((left+width-right)/2, float64(c.height()-8), "middle", x.name)
	return c
}

// head writes the title and the legend above the plot.
func (c *chart) head(title string, names []name) {
	var in chart
	for _, text := range wrapped(title, bold) {
		in.rows++
		in.text(left, float64(2+line*in.rows), "title", text)
	}
	for _, n := range names {
		at := float64(2 + line*(in.rows+1))
		fmt.Fprintf(&in.b, `<circle class="%s dot" cx="%d" cy="%s" r="5"/>`, n.class, left+5, place(at-5))
		for _, text := range wrapped(n.text, letters) {
			in.rows++
			in.text(left+16, float64(2+line*in.rows), "name", text)
		}
	}
	c.rows = in.rows
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %d" role="img" aria-label="%[3]s"><title>%[3]s</title>%[4]s`,
		width, c.height(), html.EscapeString(title), in.b.String())
}

func (c *chart) top() int    { return 20 + line*c.rows }
func (c *chart) height() int { return c.top() + plot + bottom }

// wrapped breaks a text at spaces, and words that are longer than a line.
func wrapped(text string, letters int) (all []string) {
	row := ""
	for word := range strings.SplitSeq(text, " ") {
		for runes := []rune(word); len(runes) > letters; runes = []rune(word) {
			if row != "" {
				all = append(all, row)
				row = ""
			}
			all, word = append(all, string(runes[:letters])), string(runes[letters:])
		}
		switch {
		case row == "":
			row = word
		case len([]rune(row))+1+len([]rune(word)) > letters:
			all, row = append(all, row), word
		default:
			row += " " + word
		}
	}
	return append(all, row)
}

func atLeast(x, least float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return least
	}
	return max(x, least)
}

func (c *chart) text(x, y float64, class, text string) {
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s">%s</text>`, class, place(x), place(y), html.EscapeString(text))
}

// path draws a line through points.
func (c *chart) path(class string, wide float64, xs, ys []float64) {
	if len(xs) == 0 {
		return
	}
	fmt.Fprintf(&c.b, `<path class="%s line" stroke-width="%s" d="M%s"/>`, class, place(wide), strings.Join(c.points(xs, ys), "L"))
}

func (c *chart) points(xs, ys []float64) (all []string) {
	for i := range xs {
		all = append(all, place(c.x.at(xs[i]))+" "+place(c.y.at(ys[i])))
	}
	return all
}

// area fills the area between two lines of points.
func (c *chart) area(class string, one, other []string) {
	if slices.Equal(one, other) {
		return
	}
	slices.Reverse(other)
	fmt.Fprintf(&c.b, `<path class="%s area" d="M%sL%sZ"/>`, class, strings.Join(one, "L"), strings.Join(other, "L"))
}

// level draws a dashed line across the plot, with a text at its right end.
func (c *chart) level(v float64, text string) {
	at := c.y.at(v)
	fmt.Fprintf(&c.b, `<path class="level" d="M%d %sH%d"/>`, left, place(at), width-right)
	c.text(width-right-4, at-5, "end", text)
}

// hover shows a text over the part of the plot between two values of the x axis.
func (c *chart) hover(from, to float64, text string) {
	a, b := c.x.at(from), c.x.at(to)
	fmt.Fprintf(&c.b, `<rect class="hover" x="%s" y="%d" width="%s" height="%d"><title>%s</title></rect>`,
		place(a), c.top(), place(max(0, b-a)), plot, html.EscapeString(text))
}

func (c *chart) end() string {
	c.b.WriteString("</svg>")
	return c.b.String()
}

// place formats a coordinate to a tenth.
func place(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func number(v float64) string {
	v = math.Round(v*1e6) / 1e6
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
