package main

import (
	"math"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
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
	{"wait p50", func(s *simulation.Summary) float64 { return s.Wait.P50 }, report.Span, onTerminal | folded, false},
	{"p95", func(s *simulation.Summary) float64 { return s.Wait.P95 }, report.Span, onTerminal | onPage, true},
	{"longest wait", func(s *simulation.Summary) float64 { return s.Wait.Max }, report.Span, folded, false},
	{"undone", study.Undone, report.Count, onTerminal | onPage, false},
	{"peak queue", func(s *simulation.Summary) float64 { return float64(s.PeakQueue) }, report.Count, onTerminal | onPage, false},
	{"Jobs", func(s *simulation.Summary) float64 { return float64(s.JobsCreated) }, report.Count, onTerminal | onPage, false},
	{"idle Jobs", func(s *simulation.Summary) float64 { return float64(s.IdleJobs) }, report.Count, onTerminal | folded, false},
	{"peak Jobs", func(s *simulation.Summary) float64 { return float64(s.PeakJobs) }, report.Count, onTerminal | onPage, false},
	{"busy", func(s *simulation.Summary) float64 { return s.BusySeconds }, report.Span, onTerminal | folded, false},
	{"idle", func(s *simulation.Summary) float64 { return s.IdleSeconds }, report.Span, onTerminal | onPage, true},
	{"drained after", drained, report.Span, folded, false},
	{"above maximum", func(s *simulation.Summary) float64 { return float64(s.ExcessOverMax) }, report.Count, folded, false},
	{"duplicated", func(s *simulation.Summary) float64 { return float64(s.Duplicated) }, report.Count, folded, false},
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
