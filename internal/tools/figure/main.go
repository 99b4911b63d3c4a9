// Figure draws a decision of package scaling as an SVG. The README shows it.
//
//	go run ./internal/tools/figure > internal/tools/figure/decision.svg
package main

import (
	"fmt"
	"strings"

	"github.com/scaledjob/scaledjob/scaling"
)

func main() { fmt.Print(draw(decide())) }

// decide returns the decision of the README.
func decide() scaling.Decision {
	return scaling.Decide(scaling.Policy{Bounds: scaling.Bounds{Min: 1, Max: 6}}, scaling.Observation{
		Metrics: []scaling.Metric{{Name: "orders", Value: 47, Target: 5}},
		Jobs:    &scaling.JobCounts{Running: 4, Pending: 1},
	})
}

// Sizes in pixels.
const (
	width, height = 900, 216
	card, gap     = 164, 20
	slot          = 34
)

// style has the colors of both schemes; the page has the background.
const style = `
  text { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 13px; text-anchor: middle; fill: #59636e }
  .number { font-size: 30px; font-weight: 600; fill: #1f2328 }
  .card { fill: #f6f8fa; stroke: #d1d9e0 }
  .arrow { stroke: #59636e; fill: none; stroke-width: 1.5 }
  .running { fill: #0969da } .pending { fill: #bf8700 } .created { fill: #1a7f37 }
  .left { text-anchor: start }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 } .number { fill: #f0f6fc } .card { fill: #151b23; stroke: #3d444d } .arrow { stroke: #9198a1 }
    .running { fill: #4493f8 } .pending { fill: #d29922 } .created { fill: #3fb950 }
  }
`

// A stage is a card: a name, its number, and the calculation.
type stage struct {
	name   string
	number any
	text   string
}

func stages(d scaling.Decision) []stage {
	t := d.Trace
	return []stage{
		{"queue", t.Demand.Queue, fmt.Sprintf("items, %g per Job", t.Demand.Queue/t.Demand.Quotient)},
		{"demand", t.Demand.Jobs, fmt.Sprintf("%g Jobs, rounded up", t.Demand.Quotient)},
		{"bounds", t.Load.Target, fmt.Sprintf("max - min = %d - %d", t.Bounds.Max, t.Bounds.Min)},
		{"strategy", t.Proposal, fmt.Sprintf("T - R = %d - %d", t.Load.Target, t.Load.Running)},
		{"create", d.Create, fmt.Sprintf("at most %d - %d", t.Bounds.Max, t.Jobs.Running)},
	}
}

// draw returns the stages as cards, and below them the Jobs up to the maximum.
func draw(d scaling.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>One decision: from a queue of %g items to %d created Jobs</title>\n<style>%s</style>\n", d.Trace.Demand.Queue, d.Create, style)
	for i, s := range stages(d) {
		x := i * (card + gap)
		middle := x + card/2
		fmt.Fprintf(&b, `<rect class="card" x="%d.5" y="0.5" width="%d" height="112" rx="8"/>`+"\n", x, card-1)
		fmt.Fprintf(&b, `<text x="%d" y="26">%s</text><text class="number" x="%d" y="66">%v</text><text x="%d" y="96">%s</text>`+"\n",
			middle, s.name, middle, s.number, middle, s.text)
		if i > 0 {
			fmt.Fprintf(&b, `<path class="arrow" d="M%d 56h12m-5 -5l5 5l-5 5"/>`+"\n", x-gap+4)
		}
	}
	drawJobs(&b, d)
	return b.String() + "</svg>\n"
}

// drawJobs draws a square for each Job, with a legend.
func drawJobs(b *strings.Builder, d scaling.Decision) {
	j := d.Trace.Jobs
	x := 0
	for _, jobs := range []struct {
		class string
		n     int64
	}{{"running", j.Running - j.Pending}, {"pending", j.Pending}, {"created", d.Create}} {
		from := x
		for range jobs.n {
			fmt.Fprintf(b, `<rect class="%s" x="%d" y="144" width="%d" height="%d" rx="5"/>`+"\n", jobs.class, x, slot, slot)
			x += slot + 8
		}
		fmt.Fprintf(b, `<text class="left" x="%d" y="202">%d %s</text>`+"\n", from, jobs.n, jobs.class)
		x += 48
	}
	fmt.Fprintf(b, `<text class="left" x="%d" y="166">%d Jobs, max %d</text>`+"\n", x, j.Running+d.Create, d.Trace.Bounds.Max)
}
