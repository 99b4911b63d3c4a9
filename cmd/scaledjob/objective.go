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
// reason why there is none.
func searched(points []simulation.Point, g *goal) []string {
	done := slices.DeleteFunc(slices.Clone(points), func(p simulation.Point) bool { return left(&p.Summary) > 0 })
	cheapest := func(a, b simulation.Point) int {
		return cmp.Compare(a.Summary.Cost(), b.Summary.Cost())
	}
	switch {
	case len(done) == 0:
		return []string{fmt.Sprintf("None of %d policies tried finishes all items.", len(points))}
	case g == nil:
		return nil
	}
	met := slices.DeleteFunc(slices.Clone(done), func(p simulation.Point) bool { return !g.met(&p.Summary) })
	if len(met) == 0 {
		best := slices.MinFunc(done, func(a, b simulation.Point) int {
			return cmp.Compare(g.value(&a.Summary.Wait), g.value(&b.Summary.Wait))
		})
		return []string{fmt.Sprintf("None of %d policies tried meets %s: %s comes closest, at %s.",
			len(points), g.text, best.Summary.Policy, span(g.value(&best.Summary.Wait)))}
	}
	best := slices.MinFunc(met, cheapest)
	return []string{fmt.Sprintf("Cheapest of %d policies that meet %s: %s, at %s of Job time.", len(met), g.text, best.Summary.Policy, span(best.Summary.Cost()))}
}
