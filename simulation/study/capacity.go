package study

import (
	"cmp"
	"math"
	"slices"
	"sync"

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
func Capacities(s simulation.Scenario, policies []simulation.Autoscaler, o Options) ([]Capacity, error) {
	capacities := make([]Capacity, len(policies))
	var todo []probeRun
	for i, p := range policies {
		c := &capacities[i]
		s.Autoscaler = p
		settings := p.Settings()
		c.Policy, c.scenario, c.Load = settings.Name, s, s.Load()
		c.unit = c.Load.Arrivals
		c.Present.Load = c.unit
		if c.Reason = reason(s, c.Load, intervalOf(settings)); c.Reason == "" {
			todo = append(todo, probeRun{c, &c.Present, false}, probeRun{c, &c.Present, true})
		}
	}
	return capacities, carryOut(todo, o)
}

// reason returns why a scenario has no capacity.
func reason(s simulation.Scenario, load simulation.Load, interval simulation.Duration) string {
	hasTrace := slices.ContainsFunc(s.Queues, func(q simulation.Queue) bool { return len(q.Trace) > 0 })
	switch {
	case load.Arrivals == 0:
		return "no items arrive"
	case hasTrace && load.Length < blockPolls*interval:
		return "the trace is shorter than 20 polls"
	case load.Burst > load.Length:
		return "there is a single burst"
	}
	return ""
}

// A probeRun is a run of a probe.
type probeRun struct {
	capacity *Capacity
	probe    *Probe
	long     bool
}

func carryOut(todo []probeRun, o Options) error {
	var mutex sync.Mutex
	completed := 0
	return parallel(len(todo), o.Parallel, func(i int) error {
		t := todo[i]
		trend, err := t.capacity.probe(t.probe.Load/t.capacity.unit, t.long, o.Stop)
		if t.long {
			t.probe.Long = trend
		} else {
			t.probe.Empty = trend
		}
		mutex.Lock()
		defer mutex.Unlock()
		completed++
		if o.Progress != nil {
			o.Progress(float64(completed) / float64(len(todo)))
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
	if err := c.test(c.Probes, o, 0); err != nil {
		return err
	}
	byLoad := func(a, b Probe) int { return cmp.Compare(a.Load, b.Load) }
	place, _ := slices.BinarySearchFunc(c.Probes, c.Present, byLoad)
	c.Probes = slices.Insert(c.Probes, place, c.Present) // so that its answer is in Growing
	for start := 0.5; ; start = (1 + start) / 2 {
		probes := c.changes()
		if len(probes) == 0 {
			c.conclude()
			return nil
		}
		if err := c.test(probes, o, start); err != nil {
			return err
		}
		c.Probes = append(c.Probes, probes...)
		slices.SortFunc(c.Probes, byLoad)
	}
}

// test tests loads. Its progress is half of the work that is left after a start.
func (c *Capacity) test(probes []Probe, o Options, start float64) error {
	if report := o.Progress; report != nil {
		o.Progress = func(part float64) { report(start + (1-start)*part/2) }
	}
	var todo []probeRun
	for i := range probes {
		todo = append(todo, probeRun{c, &probes[i], false}, probeRun{c, &probes[i], true})
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
func (c *Capacity) probe(load float64, long bool, stop func() error) (Trend, error) {
	t := Trend{}
	if long {
		t.Start = max(200, 20*min(c.Load.Max, 500))
	}
	s, cycle, work := c.scenario.Repeated(load, maxItems-t.Start)
	for i := range s.Queues {
		s.Queues[i].Backlog = 0
	}
	if len(s.Queues) > 0 {
		s.Queues[0].Backlog = t.Start
	}
	w := watch{cycle: seconds(cycle), work: work, whole: load == 1, stop: stop}
	if work == 0 { // items that take no time are counted
		w.items, w.work = true, c.unit*load
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
