package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A searched is the result of a search.
type searched struct {
	*study.Found
	Candidates int    `json:"candidates"`
	Name       string `json:"name"` // of the policy
	Line       string `json:"line"`
}

// describe describes what a search found.
func (s *searched) describe(goals []goal) {
	texts := make([]string, len(goals))
	for i, g := range goals {
		texts[i] = g.text
	}
	all := strings.Join(texts, " and ")
	if s.Policy < 0 {
		s.Line = fmt.Sprintf("None of %d policies meets %s.", s.Candidates, all)
		if s.Study == nil {
			return
		}
		s.Name = s.Study.Samples[0].Policy
		s.Line = fmt.Sprintf("None of %d policies meets %s; the closest is %s, with %s.", s.Candidates, all, s.Name, s.numbers(goals))
		return
	}
	s.Name = s.Study.Samples[0].Policy
	s.Line = fmt.Sprintf("Smallest maximum that meets %s: %s, with %s. Of equal maxima it has the longest polling interval, then the fewest idle seconds; "+
		"%d of %d policies were tried.", all, s.Name, s.numbers(goals), s.Tried, s.Candidates)
}

func (s *searched) numbers(goals []goal) string {
	var parts []string
	for _, g := range goals {
		name, _, _ := strings.Cut(g.text, "<")
		parts = append(parts, strings.TrimSpace(name)+" "+g.estimated(s.Study.Estimate(0, g.Value)))
	}
	return strings.Join(parts, ", ")
}

// Find searches the policy with the smallest maximum that meets the goals: first among some
// maxima, and then between the maximum that was found and the maximum before.
func (r *Findings) Find(s *scenario.Scenario, goals []goal, o study.Options) error {
	load := r.Capacities[0].Load
	interval := 30.0
	if n := s.Policy.Spec.PollingInterval; n != nil {
		interval = float64(*n)
	}
	conditions := make([]study.Condition, len(goals))
	for i, g := range goals {
		conditions[i] = g.Condition
	}
	most := load.Arrivals * (load.Service + s.Jobs.Startup.Mean().Seconds() + interval)
	from, to, candidates, attempts := int64(1), int64(min(max(2*most, 10), 1e5))+1, 0, 0
	for {
		some := scenario.Maxima(from, to)
		policies := scenario.Tried(s.Policy, load.Busy, some)
		built, err := scenario.BuildAll(policies, len(s.Clusters))
		if err != nil {
			return err
		}
		found, err := study.Search(s.Scenario, built, conditions, o)
		if err != nil {
			return err
		}
		candidates += len(policies)
		attempts += found.Tried
		r.Search = &searched{Found: found, Candidates: candidates}
		r.Search.Tried = attempts
		if found.Policy < 0 {
			break
		}
		i := slices.Index(some, *policies[found.Policy].Spec.MaxReplicaCount)
		if i == 0 || some[i]-some[i-1] < 2 {
			break
		}
		from, to = int64(some[i-1])+1, int64(some[i])
	}
	r.Search.describe(goals)
	r.Verdict = append(r.Verdict, r.Search.Line)
	return nil
}
