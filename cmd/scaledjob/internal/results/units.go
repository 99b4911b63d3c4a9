package results

import (
	"fmt"
	"math"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A quantity has the same unit everywhere in an output.
type quantity int

const (
	count   quantity = iota // of items or Jobs
	wait                    // seconds
	podTime                 // seconds of pods
	rate                    // items a second
)

// A unit is a multiple of a quantity.
type unit struct {
	name string
	size float64
}

// units are those of an output, by quantity.
type units [4]unit

// newUnits chooses the units in which the longest wait of 95 % of the items, the pod time of the
// most expensive policy and the rate of arrivals are easy to read.
func newUnits(s *study.Study, load simulation.Load) units {
	longest, cost := 0.0, 0.0
	for i := range s.Samples {
		longest = max(longest, s.Estimate(i, func(s *simulation.Summary) float64 { return s.Wait.P95 }).Mean)
		cost = max(cost, s.Estimate(i, (*simulation.Summary).Cost).Mean)
	}
	return units{
		wait:    largest(longest, unit{"ms", 1e-3}, unit{"s", 0.2}, unit{"min", 600}, unit{"h", 3 * 3600}),
		podTime: largest(cost, unit{"pod-min", 0}, unit{"pod-h", 3600}),
		rate:    largest(load.Arrivals, unit{"items/h", 0}, unit{"items/min", 1. / 60}, unit{"items/s", 1}),
	}.sized()
}

// largest returns the last of the units from whose size on it is used.
func largest(value float64, candidates ...unit) unit {
	chosen := candidates[0]
	for _, u := range candidates[1:] {
		if value >= u.size {
			chosen = u
		}
	}
	return chosen
}

// sized replaces the sizes from which units are used by those of the units.
func (u units) sized() units {
	sizes := map[string]float64{"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "pod-min": 60, "pod-h": 3600, "items/s": 1, "items/min": 1. / 60, "items/h": 1. / 3600}
	for q := range u {
		u[q].size = sizes[u[q].name]
	}
	u[count].size = 1
	return u
}

// number formats a number without its unit.
func (u *units) number(v float64, q quantity) string {
	v /= u[q].size
	switch {
	case math.IsInf(v, 0):
		return "never"
	case q == rate:
		return report.Short(v)
	case v < 0:
		return "-" + report.Count(-v)
	}
	return report.Count(v)
}

// text formats a number with its unit.
func (u *units) text(v float64, q quantity) string {
	text := u.number(v, q)
	if q == count || math.IsInf(v, 0) {
		return text
	}
	return text + " " + u[q].name
}

// interval formats the ends of an interval.
func (u *units) interval(e study.Estimate, q quantity, signed bool) string {
	low, high := u.number(e.Low, q), u.text(e.High, q)
	if signed {
		low, high = plus(e.Low, low), plus(e.High, high)
	}
	return low + " to " + high
}

func plus(v float64, text string) string {
	if v > 0 {
		return "+" + text
	}
	return text
}

// head is the head of a column.
func (u *units) head(name string, q quantity) string {
	if q == count {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, u[q].name)
}
