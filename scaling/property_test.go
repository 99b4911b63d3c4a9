package scaling_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/test/premise"
)

// same compares decisions; a NaN would be the only difference of equal ones, and
// none may come out.
func same(t *rapid.T, a, b scaling.Decision) {
	if a != b {
		t.Fatalf("%s\n\nand\n\n%s", a, b)
	}
}

// R + terminating + create is at most max unless R + terminating was more, create
// is at least 0, and nothing is created that nobody knows the Jobs of; whatever
// the numbers, and whatever the strategy answers.
func propBounds(t *rapid.T, c *premise.Counts) {
	p := drawWild(t)
	nameless(t, &p)
	d := p.decide()
	if d.Create < 0 || d.Create > 0 && (p.Jobs == nil || p.Paused) {
		t.Fatalf("%s", d)
	}
	_ = d.String()
	if p.Jobs == nil {
		return
	}
	held := new(big.Int)
	for _, n := range []int64{p.Jobs.Running, p.Jobs.InFlight, p.Jobs.Terminating} {
		held.Add(held, big.NewInt(max(0, n)))
	}
	most := big.NewInt(max(0, p.Bounds.Max))
	all := new(big.Int).Add(held, big.NewInt(d.Create))
	if d.Create > 0 && all.Cmp(most) > 0 {
		t.Fatalf("%s held, %s with those created\n%s", held, all, d)
	}
	c.Note("creates", d.Create > 0)
	c.Note("creates up to the maximum, beside terminating Jobs", d.Create > 0 && all.Cmp(most) == 0 && p.Jobs.Terminating > 0)
	c.Note("creates, with numbers near the end of int64", d.Create > 0 && all.Cmp(big.NewInt(1<<55)) > 0)
	c.Note("holds more than the maximum", held.Cmp(most) > 0)
	c.Note("a stranger's strategy asks for more than there may be", d.Trace.Proposal == math.MaxInt64)
}

func TestBounds(t *testing.T) {
	premise.Check(t, propBounds, premise.Least{
		"creates": 0.25, "creates up to the maximum, beside terminating Jobs": 0.05, "creates, with numbers near the end of int64": 0.05,
		"holds more than the maximum": 0.05, "a stranger's strategy asks for more than there may be": 0.05,
	})
}
func FuzzBounds(f *testing.F) { premise.Fuzz(f, propBounds) }

// Two calls are equal, the arguments are as they were, and the order of the
// metrics does not matter, in the trace neither.
func propOrder(t *rapid.T, c *premise.Counts) {
	p := drawWild(t)
	if often(t, "far apart", 4) {
		for _, queue := range []float64{1 << 53, 1, 1} {
			p.Metrics = append(p.Metrics, scaling.Metric{Value: queue, Target: 1})
		}
	}
	d := p.decide()
	metrics := slices.Clone(p.Metrics)
	var jobs scaling.JobCounts
	if p.Jobs != nil {
		jobs = *p.Jobs
	}
	same(t, d, p.decide())
	for i, m := range metrics {
		if got := p.Metrics[i]; got != m && got.Value == got.Value && got.Target == got.Target && got.ActivationThreshold == got.ActivationThreshold {
			t.Fatalf("metric %d was changed", i)
		}
	}
	if p.Jobs != nil && *p.Jobs != jobs {
		t.Fatal("the Jobs were changed")
	}
	p.Metrics = rapid.Permutation(metrics).Draw(t, "order")
	same(t, d, p.decide())
	noteOrder(p, metrics, c)
}

// noteOrder notes what an implementation gets wrong that takes metrics as they
// come.
func noteOrder(p poll, before []scaling.Metric, c *premise.Counts) {
	active := func(metrics []scaling.Metric) (all []scaling.Metric) {
		for _, m := range metrics {
			if p.kind(m) == deciding {
				all = append(all, m)
			}
		}
		return all
	}
	sum := func(metrics []scaling.Metric) (sum float64) {
		for _, m := range metrics {
			sum += m.Value / m.Target
		}
		return sum
	}
	first := func(metrics []scaling.Metric) scaling.Metric {
		best := metrics[0]
		for _, m := range metrics[1:] {
			if p.Aggregation == scaling.Min && m.Value < best.Value || p.Aggregation == scaling.Max && m.Value > best.Value {
				best = m
			}
		}
		return best
	}
	was, is := active(before), active(p.Metrics)
	total := p.Aggregation == scaling.Sum || p.Aggregation == scaling.Avg
	c.Note("a sum of floats differs", total && sum(was) != sum(is))
	c.Note("the first of equal queues differs", !total && len(is) > 1 && first(was) != first(is))
}

func TestOrder(t *testing.T) {
	premise.Check(t, propOrder, premise.Least{"a sum of floats differs": 0.05, "the first of equal queues differs": 0.05})
}
func FuzzOrder(f *testing.F) { premise.Fuzz(f, propOrder) }

// Under Sum, more items in one queue never get fewer Jobs.
func propMonotone(t *rapid.T, c *premise.Counts) {
	p := rapid.OneOf(rapid.Custom(drawPoll), rapid.Custom(drawPoll), rapid.Custom(drawWild)).Draw(t, "poll")
	p.Aggregation = scaling.Sum
	// From unreadable to readable is another matter, and so is the way back.
	var finite []*scaling.Metric
	for i := range p.Metrics {
		if v := p.Metrics[i].Value; v >= 0 && v < math.MaxFloat64 {
			finite = append(finite, &p.Metrics[i])
		}
	}
	if len(finite) == 0 {
		return
	}
	before := p.decide()
	m := pick(t, "which", finite...)
	m.Value = min(math.MaxFloat64, m.Value+pick(t, "more", 0.1, 7, 30, 100, m.Value*10))
	after := p.decide()
	if after.Create < before.Create {
		t.Fatalf("%s\n\nbut with more in the queue\n\n%s", before, after)
	}
	c.Note("compares", true)
	c.Note("creates before", before.Create > 0)
	c.Note("creates more", after.Create > before.Create)
	c.Note("activates the metric", after.Trace.Demand.Active > before.Trace.Demand.Active)
}

func TestMonotone(t *testing.T) {
	premise.Check(t, propMonotone, premise.Least{"compares": 0.9, "creates before": 0.3, "creates more": 0.08, "activates the metric": 0.05})
}
func FuzzMonotone(f *testing.F) { premise.Fuzz(f, propMonotone) }
