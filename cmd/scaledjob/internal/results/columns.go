package results

import (
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A column is a number of a policy: in the tables of a simulation, in the verdict, or with a
// bound in --objective.
type column struct {
	name     string // in tables
	goal     string // in --objective; "" has no bound
	verdict  string // in the verdict; "" is not compared
	value    func(*simulation.Summary) float64
	time     bool // a number of seconds
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

// Goals are the columns that --objective can bound.
const Goals = "mean, p50, p95, p99, max (of the wait), undone, queue, peak, idle"

// columns are all numbers, in their order in the table.
var columns = []column{
	seconds("mean wait", "mean", 0, func(s *simulation.Summary) float64 { return s.Wait.Mean }),
	seconds("wait p50", "p50", onTerminal|folded, func(s *simulation.Summary) float64 { return s.Wait.P50 }),
	seconds("p95", "p95", onTerminal|onPage, func(s *simulation.Summary) float64 { return s.Wait.P95 }).compared("Wait of 95 % of the items", true),
	seconds("p99", "p99", 0, func(s *simulation.Summary) float64 { return s.Wait.P99 }),
	seconds("longest wait", "max", folded, func(s *simulation.Summary) float64 { return s.Wait.Max }),
	number("undone", "undone", onTerminal|onPage, study.Undone).compared("Items left undone", false),
	number("peak queue", "queue", onTerminal|onPage, func(s *simulation.Summary) float64 { return float64(s.PeakQueue) }),
	number("Jobs", "", onTerminal|onPage, func(s *simulation.Summary) float64 { return float64(s.JobsCreated) }),
	number("idle Jobs", "", onTerminal|folded, func(s *simulation.Summary) float64 { return float64(s.IdleJobs) }),
	number("peak Jobs", "peak", onTerminal|onPage, func(s *simulation.Summary) float64 { return float64(s.PeakJobs) }),
	seconds("busy", "", folded, func(s *simulation.Summary) float64 { return s.BusySeconds }),
	seconds("idle", "idle", onTerminal|onPage, func(s *simulation.Summary) float64 { return s.IdleSeconds }).compared("Time in which Jobs do no work", true),
	seconds("drained after", "", folded, drained),
	number("above maximum", "", folded, func(s *simulation.Summary) float64 { return float64(s.ExcessOverMax) }),
	number("duplicated", "", folded, func(s *simulation.Summary) float64 { return float64(s.Duplicated) }),
}

func seconds(name, goal string, where places, value func(*simulation.Summary) float64) column {
	return column{name: name, goal: goal, where: where, value: value, time: true}
}

func number(name, goal string, where places, value func(*simulation.Summary) float64) column {
	return column{name: name, goal: goal, where: where, value: value}
}

func (c *column) format(n float64) string {
	if c.time {
		return report.Span(n)
	}
	return report.Count(n)
}

// columnOf returns the column of a name in --objective, or nil.
func columnOf(goal string) *column {
	i := slices.IndexFunc(columns, func(c column) bool { return c.goal == goal })
	if goal == "" || i < 0 {
		return nil
	}
	return &columns[i]
}

// compared returns the column with a line in the verdict.
func (c column) compared(verdict string, interval bool) column {
	c.verdict, c.interval = verdict, interval
	return c
}

// columnsAt returns the columns of a table.
func columnsAt(where places) (all []column) {
	for _, c := range columns {
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
