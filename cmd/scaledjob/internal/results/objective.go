package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A goal is a bound that a policy has to meet.
type goal struct {
	study.Condition
	text   string
	format func(float64) string
}

// ParseGoals reads conditions such as p95<2m,undone<=0,peak<=40. Without one on the undone
// items, all items must be done. An empty text has no goals.
func ParseGoals(text string) (all []goal, err error) {
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		g, err := parseGoal(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	if !slices.ContainsFunc(all, func(g goal) bool { return strings.HasPrefix(g.text, "undone") }) {
		all = append(all, goal{study.Condition{Value: study.Undone}, "undone<=0", report.Count})
	}
	return all, nil
}

func parseGoal(text string) (g goal, err error) {
	name, bound, found := strings.Cut(text, "<")
	bound, equal := strings.CutPrefix(bound, "=")
	c := columnOf(strings.TrimSpace(name))
	wrong := input.Usagef("--objective %q: use one of %s and a bound, such as p95<2m,peak<=40", text, Goals)
	if !found || c == nil {
		return g, wrong
	}
	var most float64
	if bound = strings.TrimSpace(bound); c.time {
		d, parseErr := time.ParseDuration(bound)
		most, err = d.Seconds(), parseErr
	} else {
		most, err = strconv.ParseFloat(bound, 64)
	}
	if err != nil || !(most > 0 || most == 0 && equal && !c.time) {
		return g, wrong
	}
	return goal{study.Condition{Value: c.value, Limit: most, Below: !equal}, text, c.format}, nil
}

// A goalResult reports whether a policy meets a goal.
type goalResult struct {
	Policy    string         `json:"policy"`
	Objective string         `json:"objective"`
	Result    string         `json:"result"` // pass, fail or cannot tell
	Estimate  study.Estimate `json:"estimate"`
}

// judged returns whether each policy meets each goal.
func judged(s *study.Study, goals []goal) (all []goalResult) {
	for i := range s.Samples {
		for _, g := range goals {
			o := goalResult{s.Samples[i].Policy, g.text, string(study.TooClose), s.Estimate(i, g.Value)}
			switch {
			case g.Meets(o.Estimate.High):
				o.Result = "pass"
			case !g.Meets(o.Estimate.Low):
				o.Result = "fail"
			}
			all = append(all, o)
		}
	}
	return all
}

// lineOf describes a goalResult.
func (g *goal) lineOf(o *goalResult) string {
	text := fmt.Sprintf("%s: %s %s: %s", o.Result, o.Policy, g.text, g.estimated(o.Estimate))
	if o.Estimate.High <= o.Estimate.Low && !o.Estimate.Interval {
		text += " (without an interval)"
	}
	return text
}

// estimated returns a mean with its interval, if there is one.
func (g *goal) estimated(e study.Estimate) string {
	if e.High > e.Low {
		return fmt.Sprintf("%s (%s to %s)", g.format(e.Mean), g.format(e.Low), g.format(e.High))
	}
	return g.format(e.Mean)
}
