package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/scaledjob/scaledjob/simulation"
)

// verdict says in plain words which policy drains fastest, which wastes least, and
// which one starves, doubles or leaves its bounds, and why.
func verdict(results []simulation.Result) string {
	var said []string
	if len(results) > 1 {
		said = append(said, best(results)...)
	}
	for i := range results {
		said = append(said, troubles(&results[i])...)
	}
	if len(said) == 0 {
		said = []string{calm(&results[0])}
	}
	return strings.Join(said, " ")
}

func name(r *simulation.Result) string { return r.Policy.String() }

// left are the items that are not done.
func left(s *simulation.Summary) int64 { return s.Arrived - s.Done - s.Lost }

func best(results []simulation.Result) []string {
	if same(results) {
		return []string{"On this workload the policies do the same."}
	}
	wait := func(s *simulation.Summary) float64 { return s.Wait.P95 }
	idle := func(s *simulation.Summary) float64 { return math.Round(s.IdleSeconds) }
	undone := func(s *simulation.Summary) float64 { return float64(left(s)) }
	fast, thrifty, done := least(results, wait), least(results, idle), least(results, undone)
	var said []string
	if len(done) < len(results) {
		said = append(said, fmt.Sprintf("When the time is over %s leaves the fewest items undone: %d of %d.", names(done), left(&done[0].Summary), done[0].Summary.Arrived))
	}
	said = append(said, fmt.Sprintf("%s lets items wait least: 95 %% of them for at most %s.", names(fast), span(fast[0].Summary.Wait.P95)))
	if idle(&fast[0].Summary) == idle(&thrifty[0].Summary) {
		return append(said, fmt.Sprintf("%s also wastes least: %s of Jobs that did no work.", names(thrifty), span(thrifty[0].Summary.IdleSeconds)))
	}
	return append(said, fmt.Sprintf("%s wastes least: %s of Jobs that did no work, against %s, while 95 %% of its items wait at most %s.",
		names(thrifty), span(thrifty[0].Summary.IdleSeconds), span(fast[0].Summary.IdleSeconds), span(thrifty[0].Summary.Wait.P95)))
}

// least are the results that have the least of it, in their order.
func least(results []simulation.Result, of func(*simulation.Summary) float64) (all []*simulation.Result) {
	for i := range results {
		r := &results[i]
		switch {
		case len(all) == 0 || of(&r.Summary) == of(&all[0].Summary):
			all = append(all, r)
		case of(&r.Summary) < of(&all[0].Summary):
			all = []*simulation.Result{r}
		}
	}
	return all
}

func names(results []*simulation.Result) string {
	var all []string
	for _, r := range results {
		all = append(all, name(r))
	}
	return strings.Join(all, " like ")
}

func same(results []simulation.Result) bool {
	first := &results[0].Summary
	for i := range results {
		s := &results[i].Summary
		if s.Wait != first.Wait || s.JobsCreated != first.JobsCreated || s.IdleSeconds != first.IdleSeconds || s.Done != first.Done {
			return false
		}
	}
	return true
}

// troubles are what a user should not have to find out in production.
func troubles(r *simulation.Result) []string {
	s := &r.Summary
	var said []string
	tell := func(format string, args ...any) {
		said = append(said, name(r)+" "+fmt.Sprintf(format, args...))
	}
	if s.StarvedPolls*10 > s.Polls && s.Wait.P95 > 0 {
		tell("starves: in %d of %d polls items waited that no Job was there or on its way for, though there was room%s.", s.StarvedPolls, s.Polls, because(r))
	}
	if s.JobsEmpty*20 > s.JobsCreated && s.JobsEmpty > 1 {
		tell("creates Jobs twice for the same items: %d of %d found nothing to do%s.", s.JobsEmpty, s.JobsCreated, because(r))
	}
	if s.Repeated > 0 {
		tell("has %d items done twice.", s.Repeated)
	}
	if s.ExcessOverMax > 0 {
		tell("runs up to %d Jobs more than the maximum.", s.ExcessOverMax)
	}
	if s.Lost > 0 {
		tell("loses %d items.", s.Lost)
	}
	if n := left(s); n > 0 {
		tell("leaves %d of %d items undone.", n, s.Arrived)
	}
	return said
}

// because names the rule, and what the metric has to do with it.
func because(r *simulation.Result) string {
	if len(r.Summary.Rules) == 0 {
		return ""
	}
	formula := map[string]string{
		"":         "its strategy default subtracts the running Jobs from the queue, T - R",
		"default":  "its strategy default subtracts the running Jobs from the queue, T - R",
		"accurate": "its strategy accurate takes all items for ones that nobody works on, T - P",
		"eager":    "its strategy eager asks for the whole queue again at each poll, min(M - R - P, T)",
		"custom":   "its strategy custom subtracts only a part of the running Jobs",
	}[r.Policy.Spec.ScalingStrategy.Strategy]
	if formula == "" {
		return fmt.Sprintf(" (most polls were decided by %s)", r.Summary.Rules[0].Rule)
	}
	return ": " + formula
}

func calm(r *simulation.Result) string {
	s := &r.Summary
	return fmt.Sprintf("%s has no trouble with this workload: 95 %% of %d items wait at most %s, and Jobs do no work for %s of %s.",
		name(r), s.Arrived, span(s.Wait.P95), span(s.IdleSeconds), span(s.Cost()))
}

// span is a number of seconds for people.
func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
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
