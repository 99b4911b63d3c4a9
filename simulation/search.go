package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scaledjob/scaledjob/field"
	"github.com/scaledjob/scaledjob/keda"
)

// A Grid is the policies to try: every combination of what is listed. What is empty
// stays as it is in the policy that the grid starts from.
type Grid struct {
	As               []string   `json:"as,omitempty"`
	Strategies       []string   `json:"strategies,omitempty"`
	PollingIntervals []Duration `json:"pollingIntervals,omitempty"` // whole seconds
	MinReplicaCounts []int32    `json:"minReplicaCounts,omitempty"`
	MaxReplicaCounts []int32    `json:"maxReplicaCounts,omitempty"`
	// Deductions and Percentages are those of the strategy custom, and do not multiply
	// the others.
	Deductions  []int32  `json:"deductions,omitempty"`
	Percentages []string `json:"percentages,omitempty"`
}

// Policies returns the policies of the grid, each named by what the grid says about
// it. The last of the fields changes fastest.
func (g Grid) Policies(base Policy) []Policy {
	base.Name = ""
	all := []Policy{base}
	all = expand(all, g.As, func(p *Policy, v string) { p.As = v })
	all = expand(all, g.Strategies, func(p *Policy, v string) { p.Spec.ScalingStrategy.Strategy = v })
	all = expand(all, g.PollingIntervals, func(p *Policy, v Duration) { p.Spec.PollingInterval = new(int32(v / second)) })
	all = expand(all, g.MinReplicaCounts, func(p *Policy, v int32) { p.Spec.MinReplicaCount = &v })
	all = expand(all, g.MaxReplicaCounts, func(p *Policy, v int32) { p.Spec.MaxReplicaCount = &v })
	custom := func(p *Policy) bool { return p.Spec.ScalingStrategy.Strategy == "custom" }
	all = expandIf(custom, all, g.Deductions, func(s *keda.ScalingStrategy, v int32) { s.CustomScalingQueueLengthDeduction = &v })
	all = expandIf(custom, all, g.Percentages, func(s *keda.ScalingStrategy, v string) { s.CustomScalingRunningJobPercentage = v })
	for i := range all {
		all[i] = all[i].clone()
	}
	return all
}

// expand makes a policy for each value out of each policy.
func expand[V any](policies []Policy, values []V, set func(*Policy, V)) []Policy {
	if len(values) == 0 {
		return policies
	}
	var all []Policy
	for _, p := range policies {
		for _, v := range values {
			set(&p, v)
			all = append(all, p)
		}
	}
	return all
}

func expandIf[V any](applies func(*Policy) bool, policies []Policy, values []V, set func(*keda.ScalingStrategy, V)) []Policy {
	var all []Policy
	for _, p := range policies {
		if !applies(&p) {
			all = append(all, p)
			continue
		}
		all = append(all, expand([]Policy{p}, values, func(p *Policy, v V) { set(&p.Spec.ScalingStrategy, v) })...)
	}
	return all
}

// A Point is a policy that a search tried.
type Point struct {
	Policy  Policy  `json:"policy"`
	Summary Summary `json:"summary"`
	// ParetoOptimal reports whether no other policy of the search has a shorter Wait.P95
	// at no higher Cost, or a lower Cost at no longer Wait.P95. A policy that leaves items
	// undone is never optimal.
	ParetoOptimal bool `json:"paretoOptimal"`
}

// Search runs the scenario under each policy of the grid, and returns a point for each,
// in the order of [Grid.Policies]. The choice is among the Pareto optimal points: a
// shorter wait costs more. No point is optimal if every policy leaves items undone.
func Search(s Scenario, g Grid, o Options) ([]Point, error) {
	for i, d := range g.PollingIntervals {
		if d%second != 0 || d/second > math.MaxInt32 {
			return nil, &field.Error{Path: fmt.Sprintf("pollingIntervals[%d]", i), Found: d.String(), Fix: "whole seconds"}
		}
	}
	o.SummaryOnly = true
	results, err := Compare(s, g.Policies(s.Policy), o)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(results))
	for i, r := range results {
		points[i] = Point{Policy: r.Policy, Summary: r.Summary}
	}
	markFront(points)
	return points, nil
}

// markFront sorts the points by wait. A point is optimal if it costs less than all
// points with a shorter wait.
func markFront(points []Point) {
	var order []*Point
	for i := range points {
		if s := &points[i].Summary; s.Done+s.Lost == s.Arrived {
			order = append(order, &points[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *Point) int { return a.Summary.compare(&b.Summary) })
	var last *Point
	for _, p := range order {
		if last == nil || p.Summary.Cost() < last.Summary.Cost() || p.Summary.compare(&last.Summary) == 0 {
			p.ParetoOptimal = true
			last = p
		}
	}
}

// compare orders by wait, then by cost.
func (s *Summary) compare(o *Summary) int {
	return cmp.Or(cmp.Compare(s.Wait.P95, o.Wait.P95), cmp.Compare(s.Cost(), o.Cost()))
}
