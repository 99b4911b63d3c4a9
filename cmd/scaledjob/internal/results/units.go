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

// A unit is a multiple of a quantity, and used from a value on.
type unit struct {
	name       string
	size, from float64
}

// units are those of an output, by quantity.
type units [4]unit

// newUnits chooses the units in which the longest wait of 95 % of the items, the pod time of the
// most expensive policy and the rate of arrivals are easy to read.
func newUnits(s *study.Study, load simulation.Load) units {
	longest, cost := 0.0, 0.0
	for i := range s.Samples {
		longest = max(longest, s.Estimate(i, columnOf("p95").value).Mean)
		cost = max(cost, s.Estimate(i, (*simulation.Summary).Cost).Mean)
	}
	return units{
		count:   {size: 1},
		wait:    largest(longest, unit{"ms", 1e-3, 0}, unit{"s", 1, 0.2}, unit{"min", 60, 600}, unit{"h", 3600, 3 * 3600}),
		podTime: largest(cost, unit{"pod-min", 60, 0}, unit{"pod-h", 3600, 3600}),
		rate:    largest(load.Arrivals, unit{"items/h", 1. / 3600, 0}, unit{"items/min", 1. / 60, 1. / 60}, unit{"items/s", 1, 1}),
	}
}

// largest returns the last of the units that are used for a value.
func largest(value float64, candidates ...unit) (chosen unit) {
	for _, u := range candidates {
		if value >= u.from {
			chosen = u
		}
	}
	return chosen
}

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

func (u *units) text(v float64, q quantity) string {
	text := u.number(v, q)
	if q == count || math.IsInf(v, 0) {
		return text
	}
	return text + " " + u[q].name
}

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

func (u *units) head(name string, q quantity) string {
	if q == count {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, u[q].name)
}
