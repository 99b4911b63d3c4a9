package scalingtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/strategy"
)

// answer gives the implementation copies, so that it may keep or change them.
func (p Poll) answer(decide Implementation) int64 {
	p.Observation.Metrics = slices.Clone(p.Observation.Metrics)
	if p.Observation.Jobs != nil {
		jobs := *p.Observation.Jobs
		p.Observation.Jobs = &jobs
	}
	return decide(p.Policy, p.Observation)
}

// String returns the decision of package scaling with its stages, to compare with.
func (p Poll) String() string { return scaling.Decide(p.Policy, p.Observation).String() }

func (p Poll) differ(first, second int64, broken bool) error {
	if !broken {
		return nil
	}
	return fmt.Errorf("it creates %d, and then %d; package scaling decides\n%s", first, second, p)
}

func pure(decide Implementation, p Poll) error {
	first, second := p.answer(decide), p.answer(decide)
	return p.differ(first, second, first != second)
}

func withinBounds(decide Implementation, p Poll) error {
	create, jobs := p.answer(decide), p.Observation.Jobs
	if create < 0 {
		return fmt.Errorf("it creates %d", create)
	}
	if jobs == nil || create == 0 {
		return nil
	}
	if total := jobs.Running + jobs.InFlight + jobs.Terminating + create; total > p.Policy.Bounds.Max {
		return fmt.Errorf("it creates %d, so that there are %d of at most %d; package scaling decides\n%s", create, total, p.Policy.Bounds.Max, p)
	}
	return nil
}

func knownJobs(decide Implementation, p Poll) error {
	if create := p.answer(decide); create != 0 && (p.Policy.Paused || p.Observation.Jobs == nil) {
		return fmt.Errorf("it creates %d; package scaling decides\n%s", create, p)
	}
	return nil
}

func anyOrder(decide Implementation, p Poll) error {
	first := p.answer(decide)
	reversed := p
	reversed.Observation.Metrics = slices.Clone(p.Observation.Metrics)
	slices.Reverse(reversed.Observation.Metrics)
	second := reversed.answer(decide)
	return p.differ(first, second, first != second)
}

func monotoneInValue(decide Implementation, p Poll) error {
	if len(p.Observation.Metrics) != 1 {
		return nil
	}
	first, longer := p.answer(decide), p
	longer.Observation.Metrics = slices.Clone(p.Observation.Metrics)
	longer.Observation.Metrics[0].Value++
	second := longer.answer(decide)
	return longer.differ(first, second, second < first)
}

func nothingWithoutDemand(decide Implementation, p Poll) error {
	jobs := p.Observation.Jobs
	for i := range p.Observation.Metrics {
		if m := &p.Observation.Metrics[i]; m.Failed || m.IsActive() {
			return nil
		}
	}
	if jobs == nil {
		return nil
	}
	if create := p.answer(decide); create > max(0, p.Policy.Bounds.Min-jobs.Running-jobs.InFlight) {
		return fmt.Errorf("it creates %d; package scaling decides\n%s", create, p)
	}
	return nil
}

// servedInTheEnd plays the queue of the first metric with the policy of the poll. The metric counts
// items in progress if the strategy's target is a total. A Job takes its items in the poll after its
// creation, and is finished one poll later.
func servedInTheEnd(decide Implementation, p Poll) error {
	room := p.Policy.Bounds.Max
	if p.Policy.Bounds.Mode == scaling.Additive {
		room -= p.Policy.Bounds.Min
	}
	if len(p.Observation.Metrics) == 0 || room < 1 {
		return nil
	}
	p.Policy.Paused = false
	m := p.Observation.Metrics[0]
	m.Activity, m.Failed = scaling.ByThreshold, false
	waiting, perJob, limit := m.Value, math.Ceil(m.Target), int(3*m.Value)+20
	created, working, busy := int64(0), int64(0), 0.0
	for range limit {
		if waiting == 0 && busy == 0 {
			return nil
		}
		m.Value = waiting
		if strategy.TargetIsTotal(p.Policy.Strategy) {
			m.Value += busy
		}
		poll := Poll{p.Policy, scaling.Observation{Metrics: []scaling.Metric{m}, Jobs: &scaling.JobCounts{Running: working + created, Pending: created}}}
		next := poll.answer(decide)
		busy = min(waiting, float64(created)*perJob)
		waiting, working, created = waiting-busy, created, next
	}
	return fmt.Errorf("%g of %g items wait after %d polls", waiting, p.Observation.Metrics[0].Value, limit)
}
