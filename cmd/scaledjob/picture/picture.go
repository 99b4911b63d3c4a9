// Package picture draws simulations: how a queue drains under each policy, and
// which policies are worth choosing among.
//
// The colours are those of Okabe and Ito, which people with any kind of colour
// vision can tell apart; lines differ in dash and weight as well. Every panel of a
// picture has the same axes.
package picture

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/scaledjob/scaledjob/simulation"
)

// A Theme is what a picture is drawn on. The zero value is Light.
type Theme uint8

const (
	Light Theme = iota
	Dark
)

// A Picture is panels in rows, all with the same axes in a column.
type Picture struct {
	panels [][]*plot.Plot
	theme  Theme
}

// The size of a panel, in points.
const (
	width  = 480
	height = 240
)

var (
	blue      = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	sky       = color.RGBA{0x56, 0xB4, 0xE9, 0xFF}
	orange    = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	vermilion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	shade     = color.NRGBA{0xD5, 0x5E, 0x00, 0x66} // vermilion, of areas
)

// ink is the colour of text and axes.
func (t Theme) ink() color.Color {
	if t == Dark {
		return color.RGBA{0xDD, 0xDD, 0xDD, 0xFF}
	}
	return color.RGBA{0x22, 0x22, 0x22, 0xFF}
}

func (t Theme) paper() color.Color {
	if t == Dark {
		return color.RGBA{0x16, 0x18, 0x1D, 0xFF}
	}
	return color.White
}

// running is the colour of the most important line.
func (t Theme) running() color.Color {
	if t == Dark {
		return sky
	}
	return blue
}

// muted is the colour of what matters less.
func (t Theme) muted() color.Color {
	if t == Dark {
		return color.RGBA{0xAA, 0xAA, 0xAA, 0xFF}
	}
	return color.RGBA{0x77, 0x77, 0x77, 0xFF}
}

// most is how many points a line has at most: more would not be seen.
const most = 600

// Runs has a row for each result: items on the left, Jobs on the right.
func Runs(results []simulation.Result, theme Theme) *Picture {
	p := &Picture{theme: theme}
	unit := unitOf(results)
	for i := range results {
		ticks := simulation.Condense(results[i].Ticks, most)
		items, jobs := p.panel(results[i].Policy.String(), unit, "items"), p.panel("", unit, "Jobs")
		p.line(items, "waiting", ticks, unit, style{p.theme.running(), 1.5, nil}, func(t simulation.Tick) int64 { return t.Queued })
		p.line(items, "in work", ticks, unit, style{p.theme.muted(), 1, dots}, func(t simulation.Tick) int64 { return t.InWork })
		p.line(jobs, "created in a poll", ticks, unit, style{shade, 0, nil}, func(t simulation.Tick) int64 { return t.Created })
		p.line(jobs, "pending", ticks, unit, style{orange, 1.25, dashes}, func(t simulation.Tick) int64 { return t.Pending })
		p.line(jobs, "running", ticks, unit, style{p.theme.running(), 1.5, nil}, func(t simulation.Tick) int64 { return t.Running })
		p.panels = append(p.panels, []*plot.Plot{items, jobs})
	}
	p.align()
	return p
}

var (
	dashes = []vg.Length{6, 3}
	dots   = []vg.Length{1.5, 2.5}
)

type style struct {
	color  color.Color
	width  vg.Length // 0 is an area
	dashes []vg.Length
}

// A unit is that of a time axis.
type unit struct {
	name    string
	seconds float64
}

var units = []unit{{"seconds", 1}, {"minutes", 60}, {"hours", 3600}, {"days", 86400}}

// unitOf is the largest in which the longest result is at least three long.
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

func (p *Picture) panel(title string, u unit, what string) *plot.Plot {
	panel := p.empty()
	panel.Title.Text = title
	panel.X.Label.Text = u.name
	panel.Y.Label.Text = what
	panel.Y.Min = 0
	return panel
}

func (p *Picture) empty() *plot.Plot {
	panel := plot.New()
	ink := p.theme.ink()
	panel.BackgroundColor = p.theme.paper()
	sans := func(s *text.Style, size vg.Length) {
		s.Color = ink
		s.Font.Variant = "Sans"
		s.Font.Size = size
	}
	sans(&panel.Title.TextStyle, 12)
	panel.Title.Padding = 6
	sans(&panel.Legend.TextStyle, 10)
	panel.Legend.Top, panel.Legend.Left = true, true // text that a browser draws wider then has room
	panel.Legend.XOffs, panel.Legend.Padding, panel.Legend.ThumbnailWidth = 8, 2, 24
	for _, axis := range []*plot.Axis{&panel.X, &panel.Y} {
		sans(&axis.Label.TextStyle, 10)
		sans(&axis.Tick.Label, 10)
		axis.Color, axis.Tick.Color = ink, ink
		axis.Padding = 2
	}
	grid := plotter.NewGrid()
	faint := color.NRGBA{0x88, 0x88, 0x88, 0x38}
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	panel.Add(grid)
	return panel
}

// line draws a value, which holds from its tick to the next.
func (p *Picture) line(on *plot.Plot, name string, ticks []simulation.Tick, u unit, s style, value func(simulation.Tick) int64) {
	points := make(plotter.XYs, len(ticks))
	for i, t := range ticks {
		points[i] = plotter.XY{X: t.Seconds / u.seconds, Y: float64(value(t))}
	}
	line := &plotter.Line{XYs: points, StepStyle: plotter.PostStep}
	line.Color, line.Width, line.Dashes = s.color, s.width, s.dashes
	if s.width == 0 {
		line.Color, line.FillColor = nil, s.color
	}
	on.Add(line)
	on.Legend.Add(name, line)
}

// align gives all panels of a column the same axes.
func (p *Picture) align() {
	if len(p.panels) == 0 {
		return
	}
	for column := range p.panels[0] {
		var x, y float64
		for _, row := range p.panels {
			x, y = max(x, row[column].X.Max), max(y, row[column].Y.Max)
		}
		for _, row := range p.panels {
			row[column].X.Min, row[column].Y.Min = 0, 0
			row[column].X.Max, row[column].Y.Max = atLeast(x, 1), atLeast(y, 1)*1.4 // room for the legend
			row[column].Y.Tick.Marker = whole{}
		}
	}
}

func atLeast(x, least float64) float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return least
	}
	return max(x, least)
}

// whole marks whole numbers only: there is no half Job.
type whole struct{}

// Ticks are at a round step, at most six of them.
func (whole) Ticks(_, high float64) []plot.Tick {
	step := 1.0
	for _, grow := 1.0, 0; high/step > 6; grow++ {
		step *= []float64{2, 2.5, 2}[grow%3]
	}
	var ticks []plot.Tick
	for v := 0.0; v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: number(v)})
	}
	return ticks
}

func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}

// Front shows what each policy of a search costs against how long items wait,
// with a line through those that nothing beats, numbered as Best lists them.
func Front(points []simulation.Point, theme Theme) *Picture {
	p := &Picture{theme: theme}
	panel := p.empty()
	panel.X.Label.Text, panel.Y.Label.Text = "Job-hours", "wait p95, seconds"
	var rest plotter.XYs
	for i := range points {
		if !points[i].Front {
			rest = append(rest, place(&points[i]))
		}
	}
	var front plotter.XYs
	var numbers []string
	for i, at := range Best(points) {
		front, numbers = append(front, place(&at)), append(numbers, fmt.Sprint(i+1))
	}
	p.scatter(panel, "others", rest, theme.muted(), 2)
	line := &plotter.Line{XYs: front, StepStyle: plotter.PostStep}
	line.Color, line.Width = theme.running(), 1.5
	panel.Add(line)
	p.scatter(panel, "nothing beats these", front, vermilion, 4)
	p.label(panel, front, numbers)
	panel.Legend.Left = false
	panel.X.Min, panel.X.Max = 0, atLeast(panel.X.Max, 0.1)*1.1
	panel.Y.Scale, panel.Y.Tick.Marker = plot.LogScale{}, decades{}
	panel.Y.Min, panel.Y.Max = math.Pow(10, math.Floor(math.Log10(atLeast(panel.Y.Min, shortest)))), atLeast(panel.Y.Max, 1)*4
	p.panels = [][]*plot.Plot{{panel}}
	return p
}

// shortest is the least wait that a logarithmic axis shows.
const shortest = 0.1

func place(at *simulation.Point) plotter.XY {
	return plotter.XY{X: at.Summary.Cost() / 3600, Y: max(shortest, at.Summary.Wait.P95)}
}

// Best are the points of the front, the cheapest first, and of several at one place the
// first.
func Best(points []simulation.Point) []simulation.Point {
	front := slices.DeleteFunc(slices.Clone(points), func(p simulation.Point) bool { return !p.Front })
	slices.SortStableFunc(front, func(a, b simulation.Point) int {
		return cmp.Or(cmp.Compare(a.Summary.Cost(), b.Summary.Cost()), cmp.Compare(b.Summary.Wait.P95, a.Summary.Wait.P95))
	})
	return slices.CompactFunc(front, func(a, b simulation.Point) bool { return place(&a) == place(&b) })
}

// decades marks powers of ten.
type decades struct{}

// Ticks are at 1, 10, 100 and so on.
func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for v := shortest; v <= high; v *= 10 {
		if v >= low {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%g", math.Round(v*10)/10)})
		}
	}
	return ticks
}

func (p *Picture) scatter(on *plot.Plot, name string, at plotter.XYs, c color.Color, radius vg.Length) {
	if len(at) == 0 {
		return
	}
	dots := &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}}
	on.Add(dots)
	on.Legend.Add(name, dots)
}

// label writes above each point.
func (p *Picture) label(on *plot.Plot, at plotter.XYs, names []string) {
	styles := make([]text.Style, len(at))
	for i := range styles {
		styles[i] = on.Legend.TextStyle
	}
	on.Add(&plotter.Labels{XYs: at, Labels: names, TextStyle: styles, Offset: vg.Point{X: -3, Y: 6}})
}

// Size is the picture's, in points.
func (p *Picture) Size() (w, h int) {
	if len(p.panels) == 0 {
		return 0, 0
	}
	return width * len(p.panels[0]), height * len(p.panels)
}

var errNothing = errors.New("no results to draw")

// WriteSVG writes the picture as SVG. A picture without panels is an error.
func (p *Picture) WriteSVG(w io.Writer) error {
	x, y := p.Size()
	if x == 0 {
		return errNothing
	}
	c := vgsvg.New(vg.Length(x), vg.Length(y))
	p.draw(draw.New(c))
	_, err := c.WriteTo(w)
	return err
}

// WritePNG writes the picture as PNG, with two pixels to a point. A picture without
// panels is an error.
func (p *Picture) WritePNG(w io.Writer) error {
	x, y := p.Size()
	if x == 0 {
		return errNothing
	}
	c := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(vg.Length(x), vg.Length(y)), vgimg.UseDPI(144))}
	p.draw(draw.New(c))
	_, err := c.WriteTo(w)
	return err
}

func (p *Picture) draw(c draw.Canvas) {
	tiles := draw.Tiles{Rows: len(p.panels), Cols: len(p.panels[0]), PadX: 8, PadY: 8, PadTop: 4, PadBottom: 4, PadLeft: 4, PadRight: 12}
	c.SetColor(p.theme.paper())
	c.Fill(c.Rectangle.Path())
	canvases := plot.Align(p.panels, tiles, c)
	for i, row := range p.panels {
		for j, panel := range row {
			panel.Draw(canvases[i][j])
		}
	}
}

// Panels are the single panels, row by row, as pictures of their own.
func (p *Picture) Panels() []*Picture {
	var all []*Picture
	for _, row := range p.panels {
		for _, panel := range row {
			all = append(all, &Picture{panels: [][]*plot.Plot{{panel}}, theme: p.theme})
		}
	}
	return all
}
