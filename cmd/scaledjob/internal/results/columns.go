package results

import (
	"fmt"
	"slices"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A column is a number of a policy: in the tables of a simulation, in the verdict, or with a
// bound in --objective. This file is the only one to edit for another.
type column struct {
	name     string // in tables
	goal     string // in --objective; "" has no bound
	value    func(*simulation.Summary) float64
	quantity quantity
	detail   bool // below the fold, or with --details
	optional bool // only if a policy has more than 0
}

// Goals are the columns that --objective can bound.
const Goals = "mean, p50, p95, p99, max (of the wait), undone, queue, peak, idle"

// columns are the numbers, in their order in the table.
var columns = []column{
	{name: "mean wait", goal: "mean", quantity: wait, detail: true, value: func(s *simulation.Summary) float64 { return s.Wait.Mean }},
	{name: "median wait", goal: "p50", quantity: wait, detail: true, value: func(s *simulation.Summary) float64 { return s.Wait.P50 }},
	{name: "95 % wait at most", goal: "p95", quantity: wait, value: func(s *simulation.Summary) float64 { return s.Wait.P95 }},
	{name: "99 % wait at most", goal: "p99", quantity: wait, detail: true, value: func(s *simulation.Summary) float64 { return s.Wait.P99 }},
	{name: "longest wait", goal: "max", quantity: wait, detail: true, value: func(s *simulation.Summary) float64 { return s.Wait.Max }},
	{name: "not done", goal: "undone", value: study.Undone},
	{name: "peak queue", goal: "queue", value: func(s *simulation.Summary) float64 { return float64(s.PeakQueue) }},
	{name: "Jobs", detail: true, value: func(s *simulation.Summary) float64 { return float64(s.JobsCreated) }},
	{name: "Jobs without an item", detail: true, value: func(s *simulation.Summary) float64 { return float64(s.IdleJobs) }},
	{name: "peak Jobs", goal: "peak", value: func(s *simulation.Summary) float64 { return float64(s.PeakJobs) }},
	{name: "waiting agents", optional: true, value: func(s *simulation.Summary) float64 { return s.WaitingSeconds / max(s.Seconds, 1) }},
	{name: "pod time", quantity: podTime, value: (*simulation.Summary).Cost},
	{name: "idle", goal: "idle", quantity: podTime, value: func(s *simulation.Summary) float64 { return s.IdleSeconds }},
}

// columnOf returns the column of a name in --objective, or nil.
func columnOf(goal string) *column {
	i := slices.IndexFunc(columns, func(c column) bool { return c.goal == goal })
	if goal == "" || i < 0 {
		return nil
	}
	return &columns[i]
}

// table returns the columns of the table, or of the details, a row for each policy, after the heads.
func (r *Findings) table(detail bool) [][]string {
	rows := [][]string{{"policy"}}
	for i := range r.Study.Samples {
		name := r.Study.Samples[i].Policy
		if name == scenario.Today {
			name += ": " + r.Policies[i].Settings()
		}
		rows = append(rows, []string{name})
	}
	add := func(head string, cell func(policy int) string) {
		rows[0] = append(rows[0], head)
		for i := range r.Study.Samples {
			rows[i+1] = append(rows[i+1], cell(i))
		}
	}
	for _, c := range columns {
		mean := func(policy int) float64 { return r.Study.Estimate(policy, c.value).Mean }
		used := false
		for i := range r.Study.Samples {
			used = used || mean(i) > 0
		}
		if c.detail == detail && (used || !c.optional) {
			add(r.units.head(c.name, c.quantity), func(i int) string { return r.units.number(mean(i), c.quantity) })
		}
	}
	if r.Price > 0 && !detail {
		add("cost", func(i int) string { return fmt.Sprintf("%.2f", r.podTime(i)/3600*r.Price) })
	}
	return rows
}
