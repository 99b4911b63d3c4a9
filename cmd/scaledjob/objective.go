package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

// A goal is a bound that a policy has to meet.
type goal struct {
	text  string
	value func(*simulation.Times) float64
	most  float64 // seconds
	equal bool    // most itself meets it
}

var quantiles = map[string]func(*simulation.Times) float64{
	"mean": func(t *simulation.Times) float64 { return t.Mean },
	"p50":  func(t *simulation.Times) float64 { return t.P50 },
	"p95":  func(t *simulation.Times) float64 { return t.P95 },
	"p99":  func(t *simulation.Times) float64 { return t.P99 },
	"max":  func(t *simulation.Times) float64 { return t.Max },
}

// parseGoal reads a condition such as p95<2m. It returns nil for an empty text.
func parseGoal(text string) (*goal, error) {
	if text == "" {
		return nil, nil
	}
	name, bound, found := strings.Cut(text, "<")
	bound, equal := strings.CutPrefix(bound, "=")
	value := quantiles[strings.TrimSpace(name)]
	most, err := time.ParseDuration(strings.TrimSpace(bound))
	if !found || value == nil || err != nil || most <= 0 {
		return nil, usagef("--objective %q: use mean, p50, p95, p99 or max of the wait, and a time, such as p95<2m", text)
	}
	return &goal{text, value, most.Seconds(), equal}, nil
}

func (g *goal) met(s *simulation.Summary) bool {
	n := g.value(&s.Wait)
	return left(s) == 0 && (n < g.most || g.equal && n == g.most)
}

// searched returns a line about the search: the cheapest policy that meets the goal, or the
// reason why there is none. The points are of a single seed; confirm reports whether the
// policy of a point meets the goal under the other seeds too.
func searched(points []simulation.Point, g *goal, confirm func(point int) (bool, error)) ([]string, error) {
	var done, met []int
	for i := range points {
		if s := &points[i].Summary; left(s) == 0 {
			done = append(done, i)
			if g != nil && g.met(s) {
				met = append(met, i)
			}
		}
	}
	cheaper := func(a, b int) int {
		x, y := &points[a].Summary, &points[b].Summary
		return cmp.Or(cmp.Compare(x.Cost(), y.Cost()), cmp.Compare(x.Wait.P95, y.Wait.P95))
	}
	switch {
	case len(done) == 0:
		return []string{fmt.Sprintf("None of %d policies tried finishes all items.", len(points))}, nil
	case g == nil:
		return nil, nil
	case len(met) == 0:
		best := &points[slices.MinFunc(done, func(a, b int) int {
			return cmp.Compare(g.value(&points[a].Summary.Wait), g.value(&points[b].Summary.Wait))
		})].Summary
		return []string{fmt.Sprintf("None of %d policies tried meets %s: %s comes closest, at %s.",
			len(points), g.text, best.Policy, span(g.value(&best.Wait)))}, nil
	}
	slices.SortStableFunc(met, cheaper)
	for _, i := range met {
		if ok, err := confirm(i); err != nil {
			return nil, err
		} else if ok {
			best := &points[i].Summary
			return []string{fmt.Sprintf("Cheapest of %d policies that meet %s: %s, at %s of Job time.", len(met), g.text, best.Policy, span(best.Cost()))}, nil
		}
	}
	return []string{fmt.Sprintf("None of %d policies tried meets %s under every seed; %d do under the first.", len(points), g.text, len(met))}, nil
}
