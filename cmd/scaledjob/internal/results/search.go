package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A searched is the result of a search.
type searched struct {
	Met        bool `json:"met"`    // whether a policy meets the objective
	Policy     int  `json:"policy"` // index of that policy, or of the closest
	Tried      int  `json:"tried"`
	Candidates int  `json:"candidates"`
	// Below is what the same policy misses with the next lower maximum, or empty.
	Below string `json:"below,omitempty"`

	below *study.Study
}

// Find searches the policy with the smallest maximum that meets the goals, and adds it, or the closest one, to
// the policies. It first tries some maxima, and then those between the one that was found and the one before.
func (r *Findings) Find(s *scenario.Scenario, o *study.Options) error {
	conditions := make([]study.Condition, len(r.Goals))
	for i, g := range r.Goals {
		conditions[i] = g.Condition
	}
	peak, err := unlimitedPeak(s)
	if err != nil {
		return err
	}
	from, to := int64(1), max(10, 2*peak)
	r.Search = &searched{Policy: len(r.Policies)}
	var chosen *scenario.Policy
	for seeds := o.Seeds; ; {
		maxima := scenario.Maxima(from, to)
		policies := scenario.Candidates(s.Policy, s.Load().Busy, maxima)
		built, err := scenario.BuildAll(policies, len(s.Clusters))
		if err != nil {
			return err
		}
		options := *o
		options.Seeds = seeds
		found, err := study.Search(s.Scenario, built, conditions, options)
		if err != nil {
			return err
		}
		chosen = &policies[found.Policy]
		o.Seeds = found.Study.Seeds // the numbers of the output are those of the search
		r.Search.Met, r.Search.Tried, r.Search.Candidates = found.Met, r.Search.Tried+found.Tried, r.Search.Candidates+len(policies)
		i := slices.Index(maxima, *chosen.Spec.MaxReplicaCount)
		if !found.Met || i == 0 || maxima[i]-maxima[i-1] < 2 {
			break
		}
		from, to = int64(maxima[i-1])+1, int64(maxima[i])
	}
	r.Policies = append(r.Policies, *chosen)
	if !r.Search.Met {
		return nil
	}
	r.Patch = patch(s.Name, chosen, &s.Policy)
	lower := *chosen
	lower.Spec.MaxReplicaCount = new(*chosen.Spec.MaxReplicaCount - 1)
	built, err := lower.Build(len(s.Clusters))
	if *lower.Spec.MaxReplicaCount > 0 && err == nil {
		r.Search.below, err = study.Replicate(s.Scenario, []simulation.Autoscaler{built}, study.Options{Seeds: o.Seeds, Resample: o.Resample, Stop: o.Stop, SummaryOnly: true})
	}
	return err
}

// misses says which goals the same policy misses with the next lower maximum.
func (r *Findings) misses() string {
	if r.Search.below == nil {
		return ""
	}
	var missed []string
	for _, g := range r.Goals {
		if e := r.Search.below.Estimate(0, g.Value); !g.Meets(e.High) {
			text := g.subject() + " " + r.units.text(e.Mean, g.column.quantity)
			if g.Meets(e.Mean) {
				text += ", too close to the limit"
			}
			missed = append(missed, text)
		}
	}
	if len(missed) == 0 {
		return ""
	}
	return fmt.Sprintf("with max %d, %s", *r.Policies[r.Search.Policy].Spec.MaxReplicaCount-1, strings.Join(missed, ", "))
}

// unlimitedPeak returns how many Jobs the strategy default runs at once without a maximum. It creates no Job
// twice, and may need half of the Jobs of others.
func unlimitedPeak(s *scenario.Scenario) (int64, error) {
	p := s.Policy
	p.Spec.ScalingStrategy.Strategy, p.Spec.MaxReplicaCount = "default", new(int32(100_000))
	unlimited := s.Scenario
	var err error
	if unlimited.Autoscaler, err = p.Build(len(s.Clusters)); err != nil {
		return 0, err
	}
	run, err := simulation.Run(unlimited, simulation.Options{SummaryOnly: true})
	if err != nil {
		return 0, err
	}
	return run.Summary.PeakJobs, nil
}

// found returns the verdict of a search, with the cost against today's.
func (r *Findings) found() []string {
	i, goals := r.Search.Policy, goalTexts(r.Goals)
	before := max(0, slices.IndexFunc(r.Study.Samples, func(s study.Sample) bool { return s.Policy == scenario.Today }))
	var numbers []string
	for _, g := range r.Goals {
		if !g.implicit || !r.Search.Met {
			number := func(policy int) string {
				return r.units.text(r.Study.Estimate(policy, g.Value).Mean, g.column.quantity)
			}
			numbers = append(numbers, fmt.Sprintf("%s %s (today %s)", g.subject(), number(i), number(before)))
		}
	}
	name, has := r.Study.Samples[i].Policy, strings.Join(numbers, ", ")
	if r.Search.Below = r.misses(); r.Search.Below != "" {
		has += "; " + r.Search.Below
	}
	if !r.Search.Met {
		return []string{fmt.Sprintf("No policy meets %s.", goals), fmt.Sprintf("The closest is %s: %s.", name, has)}
	}
	today := r.podTime(before)
	length := r.Study.Estimate(i, func(s *simulation.Summary) float64 { return s.Seconds }).Mean
	text := fmt.Sprintf("In %s it costs %s%s; today's policy costs ", report.Span(length), r.cost(r.podTime(i)), r.idle(i))
	switch percent := math.Round(100 * (today/r.podTime(i) - 1)); {
	case percent == 0:
		text += "the same"
	case percent < 0:
		text += fmt.Sprintf("%s, which is %.0f %% less", r.cost(today), -percent)
	default:
		text += fmt.Sprintf("%s, which is %.0f %% more", r.cost(today), percent)
	}
	if undone := r.Study.Estimate(before, study.Undone).Mean; undone > 0 {
		text += " and leaves " + report.Counted(undone, "item") + " undone"
	}
	return []string{
		fmt.Sprintf("Use the strategy %s, instead of today's (%s): the smallest maximum that meets %s.", name, r.Policies[before].Settings(), goals),
		"With it, " + has + ".", text + ".",
	}
}

// patch returns the lines of a manifest that differ from today's, as a YAML patch.
func patch(name string, p, today *scenario.Policy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# save as patch.yaml, then: kubectl patch scaledjob %s --type merge --patch-file patch.yaml\n"+
		"# KEDA deletes all Jobs at this edit, unless rollout.strategy is gradual\nspec:\n", name)
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
	fmt.Fprintf(&b, "  scalingStrategy:\n    strategy: %s", p.Spec.ScalingStrategy.Strategy)
	if before := cmp.Or(today.Spec.ScalingStrategy.Strategy, "default"); before != p.Spec.ScalingStrategy.Strategy {
		b.WriteString(" # today " + before)
	}
	b.WriteString("\n")
	return b.String()
}
