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

type unit struct {
	name    string
	seconds float64
}

// unitOf returns the largest unit of which a time has at least three.
func unitOf(seconds float64) (best unit) {
	for _, u := range []unit{{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}} {
		if best.name == "" || seconds >= 3*u.seconds {
			best = u
		}
	}
	return best
}

// An axis maps values from 0 on to places.
type axis struct{ to, low, high float64 }

func (a *axis) at(v float64) float64 { return a.low + min(v, a.to)/a.to*(a.high-a.low) }

func (a *axis) ticks(unit float64) (all []float64) {
	to := a.to / unit
	step := 1.0
	if to < 3 {
		step = math.Pow(10, math.Floor(math.Log10(to))-1)
	}
	for grow := 0; to/step > 6; grow++ {
		step *= []float64{2, 2.5, 2}[grow%3]
	}
	for i := 0.0; i*step <= to*(1+1e-9); i++ {
		all = append(all, i*step)
	}
	return all
}

type chart struct {
	b    strings.Builder
	x, y axis
	rows int // lines of text above the plot
}

// newChart begins a chart with a title, the names of policies, a time axis of so many seconds and an axis of numbers.
func newChart(title string, policies []string, seconds, highest float64) *chart {
	c := &chart{}
	c.head(title, policies)
	bottom := float64(c.top() + plot)
	c.x = axis{max(seconds, 1e-3), left, width - right}
	c.y = axis{highest, bottom, float64(c.top())}
	for _, v := range c.y.ticks(1) {
		at := c.y.at(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%d %sH%d"/>`, left, place(at), width-right)
		c.text(left-8, at+5, "end", number(v))
	}
	u, before := unitOf(seconds), -100.0
	for _, v := range c.x.ticks(u.seconds) {
		at := c.x.at(v * u.seconds)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%s %sv5"/>`, place(at), place(bottom))
		text := number(v)
		if middle := min(at, width-4.5*float64(len(text))); middle-before > 8*float64(len(text)) {
			c.text(middle, bottom+20, "middle", text)
			before = middle
		}
	}
	c.text((left+width-right)/2, float64(c.height()-8), "middle", u.name)
	return c
}

func (c *chart) head(title string, policies []string) {
	var in chart
	for _, text := range wrapped(title, bold) {
		in.rows++
		in.text(left, float64(2+line*in.rows), "title", text)
	}
	for i, policy := range policies {
		fmt.Fprintf(&in.b, `<circle class="%s dot" cx="%d" cy="%d" r="5"/>`, colour(i), left+5, line*(in.rows+1)-3)
		for _, text := range wrapped(policy, letters) {
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

func (c *chart) text(x, y float64, class, text string) {
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s">%s</text>`, class, place(x), place(y), html.EscapeString(text))
}

func (c *chart) path(class string, wide float64, points []string) {
	if len(points) > 0 {
		fmt.Fprintf(&c.b, `<path class="%s line" stroke-width="%s" d="M%s"/>`, class, place(wide), strings.Join(points, "L"))
	}
}

func (c *chart) points(xs, ys []float64) (all []string) {
	for i := range xs {
		all = append(all, place(c.x.at(xs[i]))+" "+place(c.y.at(ys[i])))
	}
	return all
}

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
