package picture

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The size of a chart, and the margins around its plot, in the units of its viewBox. A
// phone shows a chart at three quarters of this size.
const (
	width, height            = 480, 280
	left, right, top, bottom = 52, 16, 56, 46
)

// A chart is an SVG element in the making.
type chart struct {
	b    strings.Builder
	x, y axis
}

// An axis maps values to places.
type axis struct {
	name     string
	from, to float64
	low      float64 // first place
	high     float64 // last place
	log      bool
}

func (a *axis) at(v float64) float64 {
	from, to := a.from, a.to
	if a.log {
		v, from, to = math.Log10(max(v, a.from)), math.Log10(from), math.Log10(to)
	}
	return a.low + (v-from)/(to-from)*(a.high-a.low)
}

// ticks returns at most seven round values, or the powers of ten of a logarithmic axis.
func (a *axis) ticks() (all []float64) {
	if a.log {
		for v := math.Pow(10, math.Ceil(math.Log10(a.from)-1e-9)); v <= a.to*(1+1e-9); v *= 10 {
			all = append(all, v)
		}
		return all
	}
	step := 1.0
	if a.to < 3 {
		step = math.Pow(10, math.Floor(math.Log10(a.to))-1)
	}
	for grow := 0; a.to/step > 6; grow++ {
		step *= []float64{2, 2.5, 2}[grow%3]
	}
	for i := 0.0; i*step <= a.to*(1+1e-9); i++ {
		all = append(all, i*step)
	}
	return all
}

// newChart begins a chart with a title and axes from 0, or from 0.1 if logarithmic. A y
// axis without an end has no ticks.
func newChart(title string, x, y axis) *chart {
	x.low, x.high, y.low, y.high = left, width-right, height-bottom, top
	ranged := y.to > 0
	for _, a := range []*axis{&x, &y} {
		if a.log {
			a.from = 0.1
			a.to = math.Pow(10, math.Ceil(math.Log10(max(a.to, 1))))
		} else {
			a.to = atLeast(a.to, 1e-3)
		}
	}
	c := &chart{x: x, y: y}
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(title))
	fmt.Fprintf(&c.b, `<title>%s</title>`, html.EscapeString(title))
	c.text(left, 20, "title", title)
	for _, v := range y.ticks() {
		if !ranged {
			break
		}
		at := c.y.at(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%d %sH%d"/>`, left, place(at), width-right)
		c.text(left-8, at+5, "end", number(v))
	}
	for _, v := range x.ticks() {
		at := c.x.at(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%s %dv5"/>`, place(at), height-bottom)
		text := number(v)
		c.text(min(at, width-4.5*float64(len(text))), height-bottom+20, "middle", text)
	}
	c.text((left+width-right)/2, height-8, "middle", x.name)
	return c
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

// legend writes names with a dot each in a row above the plot. Names that do not fit
// are cut off; hovering shows the whole.
func (c *chart) legend(names []string) {
	const perLetter, dot = 7, 26
	each := float64(width-left-right) / float64(max(1, len(names)))
	x := float64(left)
	for i, name := range names {
		shown := []rune(name)
		if most := max(3, int((each-dot)/perLetter)); len(shown) > most {
			shown = append(shown[:most-1], '…')
		}
		fmt.Fprintf(&c.b, `<g><title>%s</title><circle class="%s dot" cx="%s" cy="40" r="5"/>`, html.EscapeString(name), colour(i), place(x+5))
		c.text(x+15, 45, "", string(shown))
		c.b.WriteString("</g>")
		x += min(each, dot+perLetter*float64(len(shown)))
	}
}

// step draws values that hold until the next. A wide line shows below a narrow one
// with the same values.
func (c *chart) step(class string, wide float64, xs, ys []float64) {
	fmt.Fprintf(&c.b, `<path class="%s line" stroke-width="%s" d="`, class, place(wide))
	for i := range xs {
		x, y := place(c.x.at(xs[i])), place(c.y.at(ys[i]))
		if i == 0 {
			fmt.Fprintf(&c.b, "M%s %s", x, y)
		} else {
			fmt.Fprintf(&c.b, "H%sV%s", x, y)
		}
	}
	c.b.WriteString(`"/>`)
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
		place(a), top, place(max(0, b-a)), height-top-bottom, html.EscapeString(text))
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
