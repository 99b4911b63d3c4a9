package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A searched is the result of a search.
type searched struct {
	*study.Found
	Candidates int    `json:"candidates"`
	Name       string `json:"name"` // of the policy
}

// Find searches the policy with the smallest maximum that meets the goals: first among some
// maxima, and then between the maximum that was found and the maximum before.
func (r *Findings) Find(s *scenario.Scenario, o study.Options) error {
	load := r.Capacities[0].Load
	interval := 30.0
	if n := s.Policy.Spec.PollingInterval; n != nil {
		interval = float64(*n)
	}
	conditions := make([]study.Condition, len(r.Goals))
	for i, g := range r.Goals {
		conditions[i] = g.Condition
	}
	jobs := load.Arrivals * (load.Service + s.Jobs.Startup.Mean().Seconds() + interval)
	from, to, attempts := int64(1), int64(min(max(2*jobs, 10), 1e5))+1, 0
	r.Search = &searched{}
	for {
		maxima := scenario.Maxima(from, to)
		policies := scenario.Candidates(s.Policy, load.Busy, maxima)
		built, err := scenario.BuildAll(policies, len(s.Clusters))
		if err != nil {
			return err
		}
		found, err := study.Search(s.Scenario, built, conditions, o)
		if err != nil {
			return err
		}
		attempts += found.Tried
		r.Search.Found, r.Search.Candidates = found, r.Search.Candidates+len(policies)
		if found.Policy < 0 {
			break
		}
		chosen := &policies[found.Policy]
		r.Search.Name, r.Patch = chosen.Name, patch(s.Name, chosen, &s.Policy)
		i := slices.Index(maxima, *chosen.Spec.MaxReplicaCount)
		if i == 0 || maxima[i]-maxima[i-1] < 2 {
			break
		}
		from, to = int64(maxima[i-1])+1, int64(maxima[i])
	}
	r.Search.Tried = attempts
	r.describeSearch()
	return nil
}

// describeSearch puts what was found in front of the verdict, with its cost against today's.
func (r *Findings) describeSearch() {
	s, goals := r.Search, goalTexts(r.Goals)
	r.Details = append(r.Details, fmt.Sprintf("Search: %d of %d policies were tried. Of equal maxima the longest polling interval wins, then the fewest idle pods.", s.Tried, s.Candidates))
	if s.Study == nil {
		r.Verdict = []string{"No policy meets " + goals + "."}
		return
	}
	var parts []string
	for _, g := range r.Goals {
		name, _, _ := strings.Cut(g.text, "<")
		parts = append(parts, strings.TrimSpace(name)+" "+g.estimate(s.Study.Estimate(0, g.Value), &r.units))
	}
	numbers := strings.Join(parts, ", ")
	if s.Policy < 0 {
		r.Verdict = []string{fmt.Sprintf("No policy meets %s.", goals), fmt.Sprintf("The closest is %s: %s.", s.Study.Samples[0].Policy, numbers)}
		return
	}
	found := s.Study.Estimate(0, (*simulation.Summary).Cost).Mean
	today := r.podTime(0)
	text := fmt.Sprintf("It costs %s; today's policy costs %s", r.cost(found), r.cost(today))
	if today > 0 {
		text += fmt.Sprintf(" (%+.0f %%)", 100*(found/today-1))
	}
	r.Verdict = []string{
		fmt.Sprintf("Use %s: the smallest maximum that meets %s.", s.Name, goals),
		fmt.Sprintf("It has %s.", numbers),
		text + ".",
	}
}

// patch returns the lines of a manifest that differ from today's, as a YAML patch.
func patch(name string, p, today *scenario.Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# kubectl patch scaledjob %s --type merge --patch-file patch.yaml\nspec:\n", name)
	line := func(name string, n, before *int32) {
		text := fmt.Sprintf("  %s: %d", name, *n)
		if before != nil && *before != *n {
			text += fmt.Sprintf(" # today %d", *before)
		}
		b.WriteString(text + "\n")
	}
	line("pollingInterval", p.Spec.PollingInterval, today.Spec.PollingInterval)
	line("minReplicaCount", p.Spec.MinReplicaCount, today.Spec.MinReplicaCount)
	line("maxReplicaCount", p.Spec.MaxReplicaCount, today.Spec.MaxReplicaCount)
	fmt.Fprintf(&b, "  scalingStrategy:\n    strategy: %s\n", p.Spec.ScalingStrategy.Strategy)
	return b.String()
}
