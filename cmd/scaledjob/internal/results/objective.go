package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/scenario"
	"github.com/scaledjob/scaledjob/simulation/study"
)

type goal struct {
	study.Condition
	text     string
	implicit bool
	column   *column
}

// ParseGoals reads conditions such as p95<2m,undone<=0,peak<=40. Without one on the undone
// items, every item must be done. An empty text has no goals.
func ParseGoals(text string) (goals []goal, err error) {
	if text == "" {
		return nil, nil
	}
	for condition := range strings.SplitSeq(text, ",") {
		g, err := parseGoal(strings.TrimSpace(condition))
		if err != nil {
			return nil, err
		}
		goals = append(goals, g)
	}
	if !slices.ContainsFunc(goals, func(g goal) bool { return strings.HasPrefix(g.text, "undone") }) {
		goals = append(goals, goal{Condition: study.Condition{Value: study.Undone}, text: "undone<=0", implicit: true, column: columnOf("undone")})
	}
	return goals, nil
}

func parseGoal(text string) (g goal, err error) {
	name, bound, found := strings.Cut(text, "<")
	bound, equal := strings.CutPrefix(bound, "=")
	c := columnOf(strings.TrimSpace(name))
	wrong := input.Usagef("--objective %q: use one of %s and a bound, such as p95<2m,peak<=40", text, Goals)
	if !found || c == nil {
		return g, wrong
	}
	isTime := c.quantity != count
	var limit float64
	if bound = strings.TrimSpace(bound); isTime {
		d, parseErr := time.ParseDuration(bound)
		limit, err = d.Seconds(), parseErr
	} else {
		limit, err = strconv.ParseFloat(bound, 64)
	}
	zero := limit == 0 && equal && !isTime
	if err != nil || (!(limit > 0) && !zero) {
		return g, wrong
	}
	return goal{Condition: study.Condition{Value: c.value, Limit: limit, Below: !equal}, text: text, column: c}, nil
}

// subject names the number in a sentence.
func (g *goal) subject() string {
	return strings.Replace(g.column.name, "% wait", "% of the items wait", 1)
}

// goalTexts joins the goals, and names those that nobody wrote.
func goalTexts(goals []goal) string {
	var texts []string
	for _, g := range goals {
		if g.implicit {
			g.text = "every item is done"
		}
		texts = append(texts, g.text)
	}
	return strings.Join(texts, " and ")
}

// Values of goalResult.Result.
const (
	pass     = "pass"
	fail     = "fail"
	tooClose = string(study.TooClose)
)

// A goalResult reports whether a policy meets a goal.
type goalResult struct {
	Policy    string         `json:"policy"`
	Objective string         `json:"objective"`
	Result    string         `json:"result"` // pass, fail or too close to call
	Estimate  study.Estimate `json:"estimate"`
}

// judged returns whether each policy meets each goal: for certain if the whole 95 % interval does.
func judged(s *study.Study, goals []goal) (results []goalResult) {
	for i := range s.Samples {
		for _, g := range goals {
			o := goalResult{s.Samples[i].Policy, g.text, tooClose, s.Estimate(i, g.Value)}
			switch {
			case !o.Estimate.Interval: // a single run of something random
			case g.Meets(o.Estimate.High):
				o.Result = pass
			case !g.Meets(o.Estimate.Low):
				o.Result = fail
			}
			results = append(results, o)
		}
	}
	return results
}

func (g *goal) line(o *goalResult, u *units) string {
	text := fmt.Sprintf("%s %s: %s, %s", o.Policy, g.text, o.Result, g.estimate(o.Estimate, u))
	if !o.Estimate.Interval {
		text += " (one run has no interval; use --seeds 10)"
	}
	return text + "."
}

func (g *goal) estimate(e study.Estimate, u *units) string {
	if e.High > e.Low {
		return fmt.Sprintf("%s (95 %% interval: %s)", u.text(e.Mean, g.column.quantity), u.interval(e, g.column.quantity, false))
	}
	return u.text(e.Mean, g.column.quantity)
}

// Missed reports whether a policy misses the objective for certain, or the search found none, and close
// whether that is too close to call for one. Today's policy does not count if another was searched.
func (r *Findings) Missed() (missed, close bool) {
	if r.Search != nil && !r.Search.Met {
		return true, false
	}
	for _, o := range r.Objectives {
		if replaced := r.Search != nil && o.Policy == scenario.Today; !replaced {
			missed, close = missed || o.Result == fail, close || o.Result == tooClose
		}
	}
	return missed, close
}
