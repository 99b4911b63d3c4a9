package study

import (
	"cmp"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

// curves are those of one run: means over each step, and the quantiles of the wait.
type curves struct{ queue, jobs, waits []float64 }

// The parts of the time in which items arrive, and of the longest run, that curves have.
const (
	arrivalSteps = 240
	allSteps     = 960
)

// stepOf returns the seconds of a step.
func stepOf(s simulation.Scenario) float64 {
	length := s.Load().Length
	drain := max(length, simulation.Duration(time.Hour))
	if s.Drain != nil {
		drain = *s.Drain
	}
	return max(time.Duration(length).Seconds()/arrivalSteps, time.Duration(length+drain).Seconds()/allSteps, 1e-3)
}

// play runs a scenario, whose curves have the steps of another. A first run keeps its ticks.
func play(s, of simulation.Scenario, summaryOnly, first bool, tell func(float64) error) (*simulation.Result, curves, error) {
	var c curves
	o := simulation.Options{SummaryOnly: summaryOnly, Progress: tell}
	if summaryOnly {
		r, err := simulation.Run(s, o)
		return r, c, err
	}
	step, last, held := stepOf(of), simulation.Tick{}, 0.0
	hold := func(until float64) { // the state of the last poll until a time
		for held < until {
			at := int(held / step)
			for len(c.queue) <= at {
				c.queue, c.jobs = append(c.queue, 0), append(c.jobs, 0)
			}
			to := min(until, float64(at+1)*step)
			if to <= held {
				to = until
			}
			c.queue[at] += float64(last.Queued) * (to - held) / step
			c.jobs[at] += float64(last.Running) * (to - held) / step
			held = to
		}
	}
	var ticks []simulation.Tick
	o.SummaryOnly, o.Waits = true, true
	o.EachPoll = func(t simulation.Tick) error {
		hold(t.Seconds)
		if last = t; first {
			ticks = append(ticks, t)
		}
		return nil
	}
	r, err := simulation.Run(s, o)
	if err != nil {
		return nil, c, err
	}
	hold(r.Summary.Seconds)
	r.Ticks, c.waits = ticks, r.Waits
	return r, c, nil
}

// bandOf returns the band of curves, of which shorter ones continue with 0.
func bandOf(all []curves, of func(*curves) []float64) (b Band) {
	length := 0
	for i := range all {
		length = max(length, len(of(&all[i])))
	}
	values := make([]float64, len(all))
	for at := range length {
		sum := 0.0
		for i := range all {
			values[i] = 0
			if c := of(&all[i]); at < len(c) {
				values[i] = c[at]
			}
			sum += values[i]
		}
		slices.SortFunc(values, cmp.Compare[float64])
		n := len(values)
		b.Mean = append(b.Mean, sum/float64(n))
		b.Low, b.High = append(b.Low, values[n/20]), append(b.High, values[n-1-n/20])
	}
	return b
}
