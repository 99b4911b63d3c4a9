package scaling_test

import (
	"math"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

var half, _ = strategy.ParsePercentage("0.5")

var strategies = []strategy.Strategy{strategy.PendingAware{}, strategy.Default{}, strategy.Accurate{}, strategy.Accurate{SubtractPending: true},
	strategy.Eager{}, strategy.NewCustom(1, half), strategy.NewCustom(-3, half), nil}

// wildest is what a stranger's strategy may answer.
var wildest = []strategy.Strategy{
	strategy.Func(func(strategy.Load) int64 { return math.MaxInt64 }),
	strategy.Func(func(strategy.Load) int64 { return math.MinInt64 }),
}

// A poll is the argument of Decide.
type poll struct {
	scaling.Policy
	scaling.Observation
}

func (p poll) decide() scaling.Decision { return scaling.Decide(p.Policy, p.Observation) }

// pick draws one of the values, each almost equally often: rapid.SampledFrom
// prefers the first.
func pick[T any](t *rapid.T, label string, from ...T) T {
	value := func(i int) T { return from[i%len(from)] }
	return rapid.Map(rapid.IntRange(0, 1<<10*len(from)-1), value).Draw(t, label)
}

// often is true in about n of 8 draws.
func often(t *rapid.T, label string, n int) bool {
	return pick(t, label, n > 7, n > 0, n > 6, n > 1, n > 5, n > 2, n > 4, n > 3)
}

// drawPoll draws a poll with small numbers, of which queues and targets have one
// decimal place. It is made so that each state of a metric is common beside
// others, and so is each rule.
func drawPoll(t *rapid.T) poll {
	p := poll{Policy: scaling.Policy{
		Bounds: scaling.Bounds{
			Min: pick[int64](t, "min", 0, 5, 2, 0, 8, 1, 25), Max: pick[int64](t, "max", 20, scaling.NoMax, 30, 12, 20, 9, 6, 3, 0),
			Mode: pick(t, "mode", scaling.Floor, scaling.Additive),
		},
		Aggregation:   pick(t, "aggregation", scaling.Sum, scaling.Max, scaling.Avg, scaling.Min),
		Strategy:      pick(t, "strategy", append([]strategy.Strategy{strategy.PendingAware{}, strategy.PendingAware{}}, strategies...)...),
		HoldOnFailure: often(t, "hold", 1),
	}}
	const decided = ""
	what := pick(t, "what", decided, decided, "paused", "unknown", "none active", "none read", decided, decided, decided, decided,
		decided, decided, decided)
	p.Paused = what == "paused"
	p.Metrics = drawMetrics(t, what, p.Aggregation)
	if what != "unknown" {
		p.Jobs = drawJobs(t)
	}
	return p
}

func drawJobs(t *rapid.T) *scaling.JobCounts {
	n := func(label string, from ...int64) int64 { return pick(t, label, from...) }
	return &scaling.JobCounts{
		Running: n("running", 3, 5, 1, 2, 0, 4, 8), Pending: n("pending", 4, 2, 1, 0, 9), Suspended: n("suspended", 0, 0, 1, 0, 3),
		Stuck: n("stuck", 4, 2, 3, 1, 0), Terminating: n("terminating", 0, 2, 0, 0, 7), InFlight: n("in flight", 0, 1, 0, 2),
		AgesUnknown: often(t, "ages unknown", 3),
	}
}

// drawMetrics draws metrics of each kind. Those that decide, which are left out
// if none is to be active or read, have equal queues and different targets in half
// of the draws: then they ask for different numbers of Jobs.
func drawMetrics(t *rapid.T, what string, a scaling.Aggregation) (all []scaling.Metric) {
	queue := func() float64 { return pick(t, "queue", 2.1, 6, 2, 9, 0.3, 4.5, 0.1) }
	target := func() float64 { return pick(t, "target", 1, 0.3, 2, 0.7, 3) }
	add := func(m scaling.Metric) {
		m.Name = pick(t, "name", "a", "b", "")
		all = append(all, m)
	}
	if what != "none active" && what != "none read" {
		numbers := []int{2, 3, 2, 1}
		if a == scaling.Avg || a == scaling.Sum {
			numbers = []int{3, 2, 1, 4}
		}
		same, first, targets := numbers[0] == 2 && often(t, "ties", 7), queue(), rapid.Permutation([]float64{0.3, 1, 3, 0.7}).Draw(t, "targets")
		for i := range pick(t, "deciding", numbers...) {
			m := scaling.Metric{Value: queue(), Target: target(), Activity: pick(t, "activity", scaling.ByThreshold, scaling.Active)}
			if same {
				m.Value, m.Target = first, targets[i]
			} else if m.Activity == scaling.Active && often(t, "empty", 4) {
				m.Value = 0
			}
			add(m)
		}
	}
	if what != "none read" {
		if what == "none active" || often(t, "inactive", 5) {
			m := scaling.Metric{Value: queue(), Target: target(), Activity: scaling.Inactive}
			if often(t, "by threshold", 4) {
				m.Activity, m.ActivationThreshold = scaling.ByThreshold, m.Value
			}
			add(m)
		}
		if what != "none active" && often(t, "infinite", 3) {
			add(scaling.Metric{Value: math.Inf(1), Target: target()})
		}
	}
	if what == "none read" || often(t, "failed", 4) {
		add(scaling.Metric{Value: queue(), Target: target(), Failed: true})
	}
	if often(t, "unreadable", 4) {
		m := scaling.Metric{Value: queue(), Target: target(), Activity: scaling.Active}
		if often(t, "by its queue", 4) {
			m.Value = pick(t, "value", -1, math.NaN(), math.Inf(-1))
		} else {
			m.Target = pick(t, "no target", 0, -2, math.NaN(), math.Inf(1))
		}
		add(m)
	}
	return rapid.Permutation(all).Draw(t, "order")
}

var wildFloats = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0,
	math.SmallestNonzeroFloat64, math.MaxFloat64, 1 << 53, 1 << 63}))

var wildInts = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}))

// drawWild draws a poll like drawPoll's, with all numbers larger by a factor, and
// some fields replaced by anything that they can hold.
func drawWild(t *rapid.T) poll {
	p := drawPoll(t)
	scale(&p, pick[int64](t, "factor", 1, 1<<55, 1, 1000))
	if often(t, "stranger", 2) {
		p.Strategy = pick(t, "strategy", wildest...)
	}
	numbers := []*int64{&p.Bounds.Min, &p.Bounds.Max}
	if j := p.Jobs; j != nil {
		numbers = append(numbers, &j.Running, &j.Pending, &j.Suspended, &j.Stuck, &j.Terminating, &j.InFlight)
	}
	for range pick(t, "wild numbers", 0, 1, 3) {
		*pick(t, "number", numbers...) = wildInts.Draw(t, "wild")
	}
	if len(p.Metrics) == 0 {
		return p
	}
	m := &p.Metrics[0]
	for range pick(t, "wild queues", 0, 1, 2) {
		*pick(t, "field", &m.Value, &m.Target, &m.ActivationThreshold) = wildFloats.Draw(t, "wild")
	}
	return p
}

// nameless gives the enumerated values of a poll, now and then, values without a
// name.
func nameless(t *rapid.T, p *poll) {
	if often(t, "nameless", 2) {
		p.Aggregation = scaling.Aggregation(pick[uint8](t, "aggregation", 4, 255))
	}
	if often(t, "nameless", 2) {
		p.Bounds.Mode = scaling.MinMode(pick[uint8](t, "mode", 2, 255))
	}
	if len(p.Metrics) > 0 && often(t, "nameless", 2) {
		p.Metrics[0].Activity = scaling.Activity(pick[uint8](t, "activity", 3, 255))
	}
}

func scale(p *poll, by int64) {
	p.Bounds.Min *= by
	if p.Bounds.Max != scaling.NoMax {
		p.Bounds.Max *= by
	}
	if j := p.Jobs; j != nil {
		for _, n := range []*int64{&j.Running, &j.Pending, &j.Suspended, &j.Stuck, &j.Terminating, &j.InFlight} {
			*n *= by
		}
	}
	for i := range p.Metrics {
		p.Metrics[i].Value *= float64(by)
	}
}
