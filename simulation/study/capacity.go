package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/simulation"
)

// The limits of a probe, and of the grid of loads.
const (
	maxItems  = 50_000
	minLoads  = 20
	gridRatio = 1.25 // of a load to the next
	refined   = 1.01 // of the ends of a change
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
func Capacities(s simulation.Scenario, policies []simulation.Autoscaler, o Options) ([]Capacity, error) {
	capacities := make([]Capacity, len(policies))
	for i, p := range policies {
		c := &capacities[i]
		s.Autoscaler = p
		c.Policy, c.scenario, c.Load = p.Settings().Name, s, s.Load()
		present := []Probe{{Load: c.Load.Arrivals}}
		if c.Reason = reason(s, c.Load); c.Reason == "" {
			if err := c.test(present, o); err != nil {
				return nil, err
			}
		}
		c.Present = present[0]
	}
	return capacities, nil
}

// reason returns why a scenario has no capacity.
func reason(s simulation.Scenario, load simulation.Load) string {
	switch {
	case load.Arrivals == 0:
		return "no items arrive"
	case slices.ContainsFunc(s.Queues, func(q simulation.Queue) bool { return len(q.Trace) > 0 }):
		return "a recording is played as it was"
	case load.Burst > load.Length:
		return "there is a single burst"
	}
	return ""
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
	if err := c.test(c.Probes, o); err != nil {
		return err
	}
	byLoad := func(a, b Probe) int { return cmp.Compare(a.Load, b.Load) }
	place, _ := slices.BinarySearchFunc(c.Probes, c.Present, byLoad)
	c.Probes = slices.Insert(c.Probes, place, c.Present) // so that its answer is in Growing
	for probes := c.changes(); len(probes) > 0; probes = c.changes() {
		if err := c.test(probes, o); err != nil {
			return err
		}
		c.Probes = append(c.Probes, probes...)
		slices.SortFunc(c.Probes, byLoad)
	}
	c.conclude()
	return nil
}

// test tests loads, each from an empty and from a long queue.
func (c *Capacity) test(probes []Probe, o Options) error {
	return parallel(2*len(probes), o, func(i int) (err error) {
		p := &probes[i/2]
		if long := i%2 == 1; long {
			p.Long, err = c.probe(p.Load, long, o.Stop)
		} else {
			p.Empty, err = c.probe(p.Load, long, o.Stop)
		}
		return err
	})
}

// grid returns loads from far below to above the present load and the load that keeps the
// maximum busy.
func (c *Capacity) grid() []float64 {
	unit := c.Load.Arrivals
	full := unit
	if c.Load.Service > 0 && c.Load.Max > 0 {
		full = float64(c.Load.Max) / c.Load.Service
	}
	low, high := min(unit, full)/16, 2*max(unit, min(full, 100*unit))
	low = max(low, high/1000)
	n := max(minLoads, int(math.Ceil(math.Log(high/low)/math.Log(gridRatio))))
	loads := make([]float64, n)
	for i := range loads {
		loads[i] = low * math.Pow(high/low, float64(i)/float64(n-1))
	}
	return loads
}

// changes returns a load between each two neighbours with different answers.
func (c *Capacity) changes() (probes []Probe) {
	for i := range c.Probes[1:] {
		a, b := &c.Probes[i], &c.Probes[i+1]
		if a.Grows() != b.Grows() && b.Load/a.Load > refined {
			probes = append(probes, Probe{Load: math.Sqrt(a.Load * b.Load)})
		}
	}
	return probes
}

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

// probe tests whether the queue grows at a load.
func (c *Capacity) probe(load float64, long bool, stop func() error) (t Trend, err error) {
	if long {
		t.Start = max(200, 20*min(c.Load.Max, 500))
	}
	share := load / c.Load.Arrivals
	s, cycle, work := c.scenario.Repeated(share, maxItems-t.Start)
	for i := range s.Queues {
		s.Queues[i].Backlog = 0
	}
	s.Queues[0].Backlog = t.Start
	w := watch{cycle: seconds(cycle), work: work, whole: share == 1, stop: stop}
	if work == 0 { // items that take no time are counted
		w.items, w.work = true, load
	}
	r, err := simulation.Run(s, simulation.Options{SummaryOnly: true, EachPoll: w.record})
	if err != nil {
		return t, err
	}
	t.Summary = r.Summary
	result := w.test()
	t.Grows, t.Growth = result.grows(), result.mean
	if !w.items && c.Load.Service > 0 {
		t.Growth /= c.Load.Service
	}
	return t, nil
}
