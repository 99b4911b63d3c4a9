package simulation

import (
	"cmp"
	"slices"
)

// A Point is a policy that a search tried.
type Point struct {
	Summary Summary `json:"summary"`
	// ParetoOptimal reports whether no other policy of the search has a shorter Wait.P95
	// at no higher Cost, or a lower Cost at no longer Wait.P95. A policy that leaves items
	// undone is never optimal.
	ParetoOptimal bool `json:"paretoOptimal"`
}

// Search runs the scenario under each policy, and returns a point for each, in the same
// order. The choice is among the Pareto optimal points: a
// shorter wait costs more. No point is optimal if every policy leaves items undone.
func Search(s Scenario, policies []Policy, o Options) ([]Point, error) {
	o.SummaryOnly = true
	results, err := Compare(s, policies, o)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(results))
	for i, r := range results {
		points[i] = Point{Summary: r.Summary}
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
