package simulation

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Options control a run. The zero value only returns the result.
type Options struct {
	// Progress receives the completed share of the work, from 0 to 1, in increasing order. It
	// is never called by two goroutines at once. An error ends the work, and is returned.
	Progress func(part float64) error
	// Observe receives each event of a Run. Compare, Replicate and Search do not call it.
	Observe func(Event)
	// SummaryOnly leaves out the ticks.
	SummaryOnly bool
	// Parallel is the number of simultaneous runs in Compare, Replicate and Search; below 1 it
	// is the number of processors. It has no effect on the results.
	Parallel int
}

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
	if err := w.run(); err != nil {
		return nil, err
	}
	if o.Progress != nil && w.told < 100 {
		if err := o.Progress(1); err != nil {
			return nil, err
		}
	}
	return &Result{Scenario: s.Name, Summary: w.summary(), Ticks: w.ticks}, nil
}

// Compare plays the scenario under each policy in place of its own, and returns the
// results in the order of the policies. All meet the same items. An error joins
// the problems of the scenario and of each policy, after its name or policies[i];
// otherwise it is the error of a run.
func Compare(s Scenario, policies []Policy, o Options) ([]Result, error) {
	all, err := Replicate(s, policies, 1, o)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(all))
	for i := range all {
		results[i] = all[i][0]
	}
	return results, nil
}

// problems returns the problems of the scenario under each of the policies.
func problems(s *Scenario, policies []Policy) error {
	var r report
	r.world(s)
	for i, p := range policies {
		scenario := *s
		scenario.Policy = p
		var of report
		of.decisions(&scenario)
		if err := of.Err(); err != nil {
			r.Join("", fmt.Errorf("%s: %w", cmp.Or(scenario.settings().Name, fmt.Sprintf("policies[%d]", i)), err))
		}
	}
	return r.Err()
}

// runAll runs scenarios without problems, some at the same time. The first ones have
// ticks, if the options want them.
func runAll(scenarios []Scenario, ticks int, o Options) ([]Result, error) {
	results := make([]Result, len(scenarios))
	errs := make([]error, len(scenarios))
	shared := &sharedProgress{tell: o.Progress, parts: make([]float64, len(scenarios))}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(o.parallel(), len(scenarios)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(scenarios)); i = next.Add(1) - 1 {
				one := Options{SummaryOnly: o.SummaryOnly || int(i) >= ticks, Progress: shared.of(int(i))}
				result, err := Run(scenarios[i], one)
				if errs[i] = err; err == nil {
					results[i] = *result
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

func (o *Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	return runtime.GOMAXPROCS(0)
}

// A sharedProgress makes one progress of that of several runs.
type sharedProgress struct {
	mutex sync.Mutex
	tell  func(float64) error
	parts []float64
	told  float64
	err   error
}

// of is the Progress of the run at i.
func (p *sharedProgress) of(i int) func(float64) error {
	if p.tell == nil {
		return nil
	}
	return func(part float64) error {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.parts[i] = part
		all := 0.0
		for _, part := range p.parts {
			all += part
		}
		all /= float64(len(p.parts))
		if p.err == nil && all > p.told {
			p.told = all
			p.err = p.tell(all)
		}
		return p.err
	}
}
