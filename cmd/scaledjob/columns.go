package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A column is a number of a policy in the tables of a simulation.
type column struct {
	name     string
	value    func(*simulation.Summary) float64
	format   func(float64) string
	where    places
	interval bool // shown with half of its confidence interval
}

// places are the tables that have a column.
type places uint8

const (
	onTerminal places = 1 << iota
	onPage
	folded // on the page, below the fold
)

// tableColumns are all columns, in their order in the table.
var tableColumns = []column{
	{"wait p50", func(s *simulation.Summary) float64 { return s.Wait.P50 }, span, onTerminal | folded, false},
	{"p95", func(s *simulation.Summary) float64 { return s.Wait.P95 }, span, onTerminal | onPage, true},
	{"longest wait", func(s *simulation.Summary) float64 { return s.Wait.Max }, span, folded, false},
	{"undone", study.Undone, count, onTerminal | onPage, false},
	{"peak queue", func(s *simulation.Summary) float64 { return float64(s.PeakQueue) }, count, onTerminal | onPage, false},
	{"Jobs", func(s *simulation.Summary) float64 { return float64(s.JobsCreated) }, count, onTerminal | onPage, false},
	{"idle Jobs", func(s *simulation.Summary) float64 { return float64(s.IdleJobs) }, count, onTerminal | folded, false},
	{"peak Jobs", func(s *simulation.Summary) float64 { return float64(s.PeakJobs) }, count, onTerminal | onPage, false},
	{"busy", func(s *simulation.Summary) float64 { return s.BusySeconds }, span, onTerminal | folded, false},
	{"idle", func(s *simulation.Summary) float64 { return s.IdleSeconds }, span, onTerminal | onPage, true},
	{"drained after", drained, span, folded, false},
	{"above maximum", func(s *simulation.Summary) float64 { return float64(s.ExcessOverMax) }, count, folded, false},
	{"duplicated", func(s *simulation.Summary) float64 { return float64(s.Duplicated) }, count, folded, false},
}

// columnsAt returns the columns of a table.
func columnsAt(where places) (all []column) {
	for _, c := range tableColumns {
		if c.where&where != 0 {
			all = append(all, c)
		}
	}
	return all
}

// drained returns the seconds from the last arrival until the end of the last item.
func drained(s *simulation.Summary) float64 {
	if s.DrainSeconds == nil {
		return math.Inf(1)
	}
	return *s.DrainSeconds
}

// cell returns the mean of a column over the runs of a policy, and half of its interval if
// that is shown.
func (c *column) cell(s *study.Study, policy int) string {
	e := s.Estimate(policy, c.value)
	text := c.format(e.Mean)
	if half := c.format((e.High - e.Low) / 2); c.interval && e.Interval && e.High > e.Low && half != c.format(0) {
		text += " ±" + half
	}
	return text
}

// count formats a number of items or Jobs, or a mean of such numbers.
func count(n float64) string {
	if n >= 10 || n == math.Trunc(n) {
		return wholeNumber(n)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
}

func wholeNumber(n float64) string { return fmt.Sprintf("%.0f", n) }

// span formats a number of seconds.
func span(seconds float64) string {
	switch {
	case math.IsInf(seconds, 1):
		return "never"
	case seconds < 0:
		return "-" + span(-seconds)
	}
	d := time.Duration(math.Min(seconds*float64(time.Second), math.MaxInt64))
	switch {
	case d < time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", seconds)
	case d < 100*time.Hour:
		text := d.Round(time.Second).String()
		if d >= 10*time.Hour {
			text = d.Round(time.Minute).String()
		}
		text = strings.TrimSuffix(text, "0s")
		if strings.HasSuffix(text, "h0m") {
			return strings.TrimSuffix(text, "0m")
		}
		if !strings.HasSuffix(text, "m") {
			return d.Round(time.Second).String()
		}
		return text
	}
	return fmt.Sprintf("%.0fh", d.Hours())
}
