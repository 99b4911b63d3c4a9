package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/simulation"
)

// The limits of a probe, and of the grid of loads.
const (
	mostItems   = 50_000
	fewestLoads = 20
	gridRatio   = 1.25 // of a load to the next
	refined     = 1.01 // of the ends of a change
)

// A Capacity has the loads at which the queue of a policy grows.
type Capacity struct {
	Policy string          `json:"policy"`
	Load   simulation.Load `json:"load"`
	// Present is the probe of the scenario's own load.
	Present Probe `json:"present"`
	// Probes are Present and those of the grid, by load. There are none before [Capacity.Measure].
	Probes []Probe `json:"probes,omitempty"`
	// Growing are the loads at which the queue grows, from an empty or from a long queue.
	Growing []Interval `json:"growing,omitempty"`
	// Sustained is the lower end of the first of them, in items per second. It is 0 if the
	// queue grows at the lowest load, and the highest load if it never grows.
	Sustained float64 `json:"sustained"`
	// Reason is why the capacity cannot be measured, or empty.
	Reason string `json:"reason,omitempty"`

	scenario simulation.Scenario
	unit     float64 // the load of the scenario
}

// An Interval holds the loads from Low to High, in items per second.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A Probe is a test at a load.
type Probe struct {
	Load  float64 `json:"load"`  // items per second
	Empty Trend   `json:"empty"` // from an empty queue
	Long  Trend   `json:"long"`  // from a long queue
}

// Grows reports whether the queue grows, from an empty or from a long queue.
func (p *Probe) Grows() bool { return p.Empty.Grows || p.Long.Grows }

// Depends reports whether the answer depends on the queue at the start.
func (p *Probe) Depends() bool { return p.Empty.Grows != p.Long.Grows }

// A Trend is the result of a run of a probe.
type Trend struct {
	Grows  bool    `json:"grows"`
	Growth float64 `json:"growth"` // growth of the queue in items per second, below 0 if it shrinks
	Start  int64   `json:"start"`  // items at the start
	// Summary is that of the run, whose wait has no meaning if the queue grows.
	Summary simulation.Summary `json:"summary"`
}

// Capacities tests the scenario's own load under each policy. [Capacity.Measure] finds the
// other loads. The scenario must be valid under each policy.
func Capacities(s simulation.Scenario, policies []simulation.Policy, o Options) ([]Capacity, error) {
	all := make([]Capacity, len(policies))
	var todo []task
	for i, p := range policies {
		c := &all[i]
		s.Policy = p
		settings := p.Settings()
		c.Policy, c.scenario, c.Load = settings.Name, s, s.Load()
		c.unit = c.Load.Arrivals
		c.Present.Load = c.unit
		if c.Reason = reason(s, c.Load, settings.Interval); c.Reason == "" {
			todo = append(todo, task{c, &c.Present, false}, task{c, &c.Present, true})
		}
	}
	return all, carryOut(todo, o)
}

// reason returns why a scenario has no capacity.
func reason(s simulation.Scenario, load simulation.Load, interval simulation.Duration) string {
	trace := slices.ContainsFunc(s.Queues, func(q simulation.Queue) bool { return len(q.Trace) > 0 })
	switch {
	case load.Arrivals == 0:
		return "no items arrive"
	case trace && load.Length < pollsOfABlock*cmp.Or(interval, defaultInterval):
		return "the trace is shorter than 20 polls"
	case load.Burst > load.Length:
		return "there is a single burst"
	}
	return ""
}

// A task is a run of a probe.
type task struct {
	of   *Capacity
	in   *Probe
	long bool
}

func carryOut(todo []task, o Options) error {
	var bar progress
	bar.tell, bar.stop = o.Progress, o.Stop
	return parallel(len(todo), o.Parallel, &bar, func(i int, tell func(float64) error) error {
		t := todo[i]
		trend, err := t.of.probe(t.in.Load/t.of.unit, t.long)
		if t.long {
			t.in.Long = trend
		} else {
			t.in.Empty = trend
		}
		if err == nil && tell != nil {
			err = tell(1)
		}
		return err
	})
}

// Measure tests a grid of loads around the scenario's own, and refines each change.
func (c *Capacity) Measure(o Options) error {
	if c.Reason != "" {
		return nil
	}
	c.Probes = nil
	for _, load := range c.grid() {
		if math.Abs(load/c.Present.Load-1) > 1e-9 {
			c.Probes = append(c.Probes, Probe{Load: load})
		}
	}
	share := func(from, to float64) Options {
		of := o
		if o.Progress != nil {
			of.Progress = func(part float64) error { return o.Progress(from + (to-from)*part) }
		}
		return of
	}
	if err := c.test(c.Probes, share(0, 0.7)); err != nil {
		return err
	}
	byLoad := func(a, b Probe) int { return cmp.Compare(a.Load, b.Load) }
	at, _ := slices.BinarySearchFunc(c.Probes, c.Present, byLoad)
	c.Probes = slices.Insert(c.Probes, at, c.Present) // so that its answer is in Growing
	for part := 0.7; ; part += (1 - part) / 3 {
		between := c.changes()
		if len(between) == 0 {
			break
		}
		if err := c.test(between, share(part, part+(1-part)/3)); err != nil {
			return err
		}
		c.Probes = append(c.Probes, between...)
		slices.SortFunc(c.Probes, byLoad)
	}
	c.conclude()
	return nil
}

func (c *Capacity) test(probes []Probe, o Options) error {
	var todo []task
	for i := range probes {
		todo = append(todo, task{c, &probes[i], false}, task{c, &probes[i], true})
	}
	return carryOut(todo, o)
}

// grid returns loads from far below to above the present load and the load that keeps the
// maximum busy.
func (c *Capacity) grid() []float64 {
	full := c.unit
	if c.Load.Service > 0 && c.Load.Max > 0 {
		full = float64(c.Load.Max) / c.Load.Service
	}
	low, high := min(c.unit, full)/16, 2*max(c.unit, min(full, 100*c.unit))
	low = max(low, high/1000)
	n := max(fewestLoads, int(math.Ceil(math.Log(high/low)/math.Log(gridRatio))))
	all := make([]float64, n)
	for i := range all {
		all[i] = low * math.Pow(high/low, float64(i)/float64(n-1))
	}
	return all
}

// changes returns a load between each two neighbours with different answers.
func (c *Capacity) changes() (between []Probe) {
	for i := range c.Probes[1:] {
		a, b := &c.Probes[i], &c.Probes[i+1]
		if a.Grows() != b.Grows() && b.Load/a.Load > refined {
			between = append(between, Probe{Load: math.Sqrt(a.Load * b.Load)})
		}
	}
	return between
}

// conclude collects the intervals in which the queue grows.
func (c *Capacity) conclude() {
	c.Growing, c.Sustained = nil, c.Probes[len(c.Probes)-1].Load
	for i := range c.Probes {
		if !c.Probes[i].Grows() {
			continue
		}
		low, high := 0.0, c.Probes[i].Load
		if i > 0 {
			low = c.Probes[i-1].Load
		}
		if i+1 < len(c.Probes) {
			high = c.Probes[i+1].Load
		}
		if n := len(c.Growing); n > 0 && c.Growing[n-1].High >= c.Probes[i].Load {
			c.Growing[n-1].High = high
		} else {
			c.Growing = append(c.Growing, Interval{low, high})
		}
	}
	if len(c.Growing) > 0 {
		c.Sustained = c.Growing[0].Low
	}
}

// probe tests whether the queue grows at a load, relative to the scenario's own.
func (c *Capacity) probe(load float64, long bool) (Trend, error) {
	t := Trend{}
	if long {
		t.Start = max(200, 20*min(c.Load.Max, 500))
	}
	s, cycle, work := c.scenario.Repeated(load, mostItems-t.Start)
	for i := range s.Queues {
		s.Queues[i].Backlog = 0
	}
	if len(s.Queues) > 0 {
		s.Queues[0].Backlog = t.Start
	}
	w := watch{cycle: seconds(cycle), work: work, whole: load == 1}
	if work == 0 { // items that take no time are counted
		w.items, w.work = true, c.unit*load
	}
	r, err := simulation.Run(s, simulation.Options{SummaryOnly: true, EachPoll: w.see})
	if err != nil {
		return t, err
	}
	t.Summary = r.Summary
	last := w.test()
	t.Grows, t.Growth = last.grows(), last.mean
	if !w.items && c.Load.Service > 0 {
		t.Growth /= c.Load.Service
	}
	return t, nil
}
