package simulation

import "errors"

// Options control a run. The zero value only returns the result.
type Options struct {
	// Progress receives the completed share of the work, from 0 to 1, in increasing order. It
	// is never called by two goroutines at once. An error ends the work, and is returned.
	Progress func(part float64) error
	// Observe receives each event.
	Observe func(Event)
	// EachPoll receives the state after each poll. An error ends the run, and is returned,
	// unless it is [Stop].
	EachPoll func(Tick) error
	// SummaryOnly leaves out the ticks, and the quantiles of the wait unless Waits is true.
	SummaryOnly bool
	Waits       bool
}

// Stop is returned by [Options].EachPoll to end a run early, without an error.
var Stop = errors.New("stop") //lint:ignore ST1012 it is no failure, like fs.SkipAll

// Run plays the scenario. An error is that of [Scenario.Validate], or of Progress, or
// reports that a policy has more than a million Jobs at one time.
//
// Equal scenarios have equal results. A run takes about a microsecond for each item with a
// Job of its own. It keeps two times for each item, and a tick for each poll.
func Run(s Scenario, o Options) (*Result, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	w := newWorld(&s, o)
	if err := w.run(); err != nil && err != Stop {
		return nil, err
	}
	if o.Progress != nil && w.told < 100 {
		if err := o.Progress(1); err != nil {
			return nil, err
		}
	}
	r := &Result{Scenario: s.Name, Summary: w.summary(), Ticks: w.ticks}
	if !o.SummaryOnly || o.Waits {
		r.Waits = percentiles(w.waits)
	}
	return r, nil
}
