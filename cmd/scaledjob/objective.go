package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/input"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// A goal is a bound that a policy has to meet.
type goal struct {
	study.Condition
	text   string
	format func(float64) string
}

// A measured number can have a bound in a goal.
type measured struct {
	name   string
	value  func(*simulation.Summary) float64
	format func(float64) string // span for a time, count for a number
	time   bool
}

var bounded = []measured{
	{"mean", func(s *simulation.Summary) float64 { return s.Wait.Mean }, report.Span, true},
	{"p50", func(s *simulation.Summary) float64 { return s.Wait.P50 }, report.Span, true},
	{"p95", func(s *simulation.Summary) float64 { return s.Wait.P95 }, report.Span, true},
	{"p99", func(s *simulation.Summary) float64 { return s.Wait.P99 }, report.Span, true},
	{"max", func(s *simulation.Summary) float64 { return s.Wait.Max }, report.Span, true},
	{"idle", func(s *simulation.Summary) float64 { return s.IdleSeconds }, report.Span, true},
	{"undone", study.Undone, report.Count, false},
	{"peak", func(s *simulation.Summary) float64 { return float64(s.PeakJobs) }, report.Count, false},
	{"queue", func(s *simulation.Summary) float64 { return float64(s.PeakQueue) }, report.Count, false},
}

// parseGoals reads conditions such as p95<2m,undone<=0,peak<=40. Without one on the undone
// items, all items must be done. An empty text has no goals.
func parseGoals(text string) (all []goal, err error) {
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
	i := slices.IndexFunc(bounded, func(m measured) bool { return m.name == strings.TrimSpace(name) })
	wrong := input.Usagef("--objective %q: use mean, p50, p95, p99 or max of the wait, idle and a time, or undone, peak, queue and a number, such as p95<2m,peak<=40", text)
	if !found || i < 0 {
		return g, wrong
	}
	m := bounded[i]
	var most float64
	if bound = strings.TrimSpace(bound); m.time {
		d, parseErr := time.ParseDuration(bound)
		most, err = d.Seconds(), parseErr
	} else {
		most, err = strconv.ParseFloat(bound, 64)
	}
	if err != nil || !(most > 0 || most == 0 && equal && !m.time) {
		return g, wrong
	}
	return goal{study.Condition{Value: m.value, Most: most, Below: !equal}, text, m.format}, nil
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
			o := goalResult{s.Samples[i].Policy, g.text, string(study.CannotTell), s.Estimate(i, g.Value)}
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
	text := fmt.Sprintf("%s: %s %s: %s", o.Result, o.Policy, g.text, g.format(o.Estimate.Mean))
	if o.Estimate.High > o.Estimate.Low {
		text += fmt.Sprintf(" (%s to %s)", g.format(o.Estimate.Low), g.format(o.Estimate.High))
	} else if !o.Estimate.Interval {
		text += " (without an interval)"
	}
	return text
}

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
		e := s.Study.Estimate(0, g.Value)
		name, _, _ := strings.Cut(g.text, "<")
		part := strings.TrimSpace(name) + " " + g.format(e.Mean)
		if e.High > e.Low {
			part += fmt.Sprintf(" (%s to %s)", g.format(e.Low), g.format(e.High))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
