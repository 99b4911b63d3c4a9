package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

// verdict returns the lines that a user reads first: the capacity, how the policies
// differ, and the troubles that occurred. The runs of a policy are its seeds.
func verdict(c simulation.Capacity, runs [][]simulation.Result) []string {
	lines := []string{c.String()}
	if len(runs) > 1 {
		lines = append(lines, differences(runs)...)
	}
	for _, of := range runs {
		lines = append(lines, troubles(of)...)
	}
	if len(runs) == 1 {
		lines = append(lines, alone(runs[0]))
	}
	return lines
}

func name(r *simulation.Result) string { return r.Summary.Policy }

// left returns the number of items that are not done.
func left(s *simulation.Summary) int64 { return s.Arrived - s.Done - s.Lost }

// An objective is a value that should be small.
type objective struct {
	name   string
	value  func(*simulation.Summary) float64
	format func(float64) string
}

var objectives = []objective{
	{"Items left undone", func(s *simulation.Summary) float64 { return float64(left(s)) }, wholeNumber},
	{"Wait of 95 % of the items", func(s *simulation.Summary) float64 { return s.Wait.P95 }, span},
	{"Time in which Jobs do no work", func(s *simulation.Summary) float64 { return s.IdleSeconds }, span},
}

func wholeNumber(n float64) string { return fmt.Sprintf("%.0f", n) }

// differences returns a line for each objective that tells policies apart.
func differences(runs [][]simulation.Result) (lines []string) {
	for i, o := range objectives {
		line, differ := o.compare(runs)
		if differ || i > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// compare compares the policies with the policy that has the lowest mean.
func (o *objective) compare(runs [][]simulation.Result) (line string, differ bool) {
	best, means := 0, make([]float64, len(runs))
	for i := range runs {
		if means[i] = simulation.Difference(runs[i], nil, o.value).Mean; means[i] < means[best] {
			best = i
		}
	}
	all := []string{fmt.Sprintf("%s %s", name(&runs[best][0]), o.format(means[best]))}
	for i := range runs {
		if i == best {
			continue
		}
		d := simulation.Difference(runs[i], runs[best], o.value)
		switch {
		case !d.Differs():
			all = append(all, name(&runs[i][0])+" no difference")
		case len(runs[i]) == 1:
			all = append(all, fmt.Sprintf("%s %s more, under one seed", name(&runs[i][0]), o.format(d.Mean)))
		case d.Low == d.High:
			all = append(all, fmt.Sprintf("%s %s more", name(&runs[i][0]), o.format(d.Mean)))
		default:
			all = append(all, fmt.Sprintf("%s %s more (%s to %s)", name(&runs[i][0]), o.format(d.Mean), o.format(d.Low), o.format(d.High)))
		}
		differ = differ || d.Differs()
	}
	return o.name + ": " + strings.Join(all, "; ") + ".", differ
}

// A symptom is something that should not happen. Each has its number in every run.
type symptom struct {
	number func(*simulation.Summary) int64
	// matters reports whether the number is worth a sentence.
	matters func(s *simulation.Summary, n int64) bool
	text    func(s *simulation.Summary, n int64) string
}

func above0(_ *simulation.Summary, n int64) bool { return n > 0 }

var symptoms = []symptom{
	{
		func(s *simulation.Summary) int64 { return s.StarvedPolls },
		func(s *simulation.Summary, n int64) bool { return n*10 > s.Polls && s.Wait.P95 > 0 },
		func(s *simulation.Summary, n int64) string {
			return fmt.Sprintf("starves: after %d of %d polls, items waited for which no Job existed, below the maximum", n, s.Polls)
		},
	},
	{
		func(s *simulation.Summary) int64 { return s.IdleJobs },
		func(s *simulation.Summary, n int64) bool { return n > 1 && n*20 > s.JobsCreated },
		func(s *simulation.Summary, n int64) string {
			return fmt.Sprintf("creates too many Jobs: %d of %d found no item", n, s.JobsCreated)
		},
	},
	{
		func(s *simulation.Summary) int64 { return s.Duplicated }, above0,
		func(_ *simulation.Summary, n int64) string { return fmt.Sprintf("does work twice: %d times", n) },
	},
	{
		func(s *simulation.Summary) int64 { return s.ExcessOverMax }, above0,
		func(_ *simulation.Summary, n int64) string {
			return fmt.Sprintf("runs up to %d Jobs more than the maximum", n)
		},
	},
	{
		func(s *simulation.Summary) int64 { return s.JobsRejected }, above0,
		func(_ *simulation.Summary, n int64) string {
			return fmt.Sprintf("is rejected: the API server did not create %d Jobs", n)
		},
	},
	{
		func(s *simulation.Summary) int64 { return s.Lost }, above0,
		func(s *simulation.Summary, n int64) string { return fmt.Sprintf("loses %d of %d items", n, s.Arrived) },
	},
	{
		left, above0,
		func(s *simulation.Summary, n int64) string {
			return fmt.Sprintf("leaves %d of %d items undone", n, s.Arrived)
		},
	},
}

// troubles returns a line for each trouble that occurred, with the numbers of the first
// seed in which it did.
func troubles(runs []simulation.Result) (lines []string) {
	for _, t := range symptoms {
		occurred, first := 0, ""
		for i := range runs {
			s := &runs[i].Summary
			if n := t.number(s); t.matters(s, n) {
				if occurred++; occurred == 1 {
					first = t.text(s, n)
				}
			}
		}
		switch {
		case occurred == 0:
		case len(runs) == 1 || occurred == len(runs):
			lines = append(lines, fmt.Sprintf("%s %s.", name(&runs[0]), first))
		default:
			lines = append(lines, fmt.Sprintf("%s %s (in %d of %d seeds).", name(&runs[0]), first, occurred, len(runs)))
		}
	}
	return lines
}

// alone describes a single policy.
func alone(runs []simulation.Result) string {
	wait := simulation.Difference(runs, nil, objectives[1].value)
	idle := simulation.Difference(runs, nil, objectives[2].value)
	cost := simulation.Difference(runs, nil, (*simulation.Summary).Cost)
	text := fmt.Sprintf("95 %% of the items wait at most %s", span(wait.Mean))
	if wait.Low < wait.High {
		text += fmt.Sprintf(" (%s to %s)", span(max(0, wait.Low)), span(wait.High))
	}
	return fmt.Sprintf("%s; Jobs do no work for %s of %s.", text, span(idle.Mean), span(cost.Mean))
}

// span formats a number of seconds.
func span(seconds float64) string {
	if seconds < 0 {
		return "-" + span(-seconds)
	}
	d := time.Duration(math.Min(seconds*float64(time.Second), math.MaxInt64))
	switch {
	case d < time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", seconds)
	case d < 100*time.Hour:
		text := d.Round(time.Second).String()
		if strings.HasSuffix(text, "m0s") {
			return strings.TrimSuffix(text, "0s")
		}
		return text
	}
	return fmt.Sprintf("%.0fh", d.Hours())
}
