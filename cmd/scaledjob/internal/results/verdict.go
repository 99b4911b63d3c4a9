package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/simulation"
	"github.com/scaledjob/scaledjob/simulation/study"
)

// verdict returns the lines that a user reads after the capacity: the objectives, how the
// policies differ, and the troubles that occurred.
func verdict(s *study.Study, startup float64) []string {
	var lines []string
	if len(s.Samples) > 1 {
		lines = append(lines, differences(s)...)
	}
	for i := range s.Samples {
		lines = append(lines, troubles(s, i, startup)...)
	}
	if len(s.Samples) == 1 {
		lines = append(lines, alone(s))
	}
	return append(lines, "Numbers are "+s.String()+".")
}

// objectives are the numbers that should be small, the most important first.
var objectives = []*column{columnOf("undone"), columnOf("p95"), columnOf("idle")}

// differences returns a line for each objective that differs between policies.
func differences(s *study.Study) (lines []string) {
	for i, o := range objectives {
		line, differ := o.compare(s)
		if differ || i > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// compare compares the policies with the policy that has the lowest mean.
func (c *column) compare(s *study.Study) (line string, differ bool) {
	best, means := 0, make([]float64, len(s.Samples))
	for i := range means {
		if means[i] = s.Estimate(i, c.value).Mean; means[i] < means[best] {
			best = i
		}
	}
	all := []string{fmt.Sprintf("%s %s", s.Samples[best].Policy, c.format(means[best]))}
	for i := range s.Samples {
		if i != best {
			d := s.Difference(i, best, c.value)
			differ = differ || d.Word != study.Equal
			all = append(all, s.Samples[i].Policy+" "+c.text(s, d))
		}
	}
	return c.verdict + ": " + strings.Join(all, "; ") + ".", differ
}

// text describes a difference in one of three words.
func (c *column) text(s *study.Study, d study.Difference) string {
	text := string(d.Word)
	if d.Word == study.Equal {
		return text
	}
	text += fmt.Sprintf(" %s", c.signed(d.Mean))
	if d.Interval && d.High > d.Low {
		text += fmt.Sprintf(" (%s to %s)", c.signed(d.Low), c.signed(d.High))
	}
	what := "seeds"
	if s.Blocks > 0 {
		what = "blocks of a trace"
	}
	switch {
	case d.Needed > 0 && !d.Interval:
		text += fmt.Sprintf(", an interval needs %d %s", d.Needed, what)
	case d.Needed > 0:
		text += fmt.Sprintf(", %d %s would", d.Needed, what)
	}
	return text
}

func (c *column) signed(n float64) string {
	if text := c.format(math.Abs(n)); n < 0 && text != c.format(0) {
		return "-" + text
	} else if text != c.format(0) {
		return "+" + text
	}
	return c.format(0)
}

// A symptom is something that should not happen. Each has its number in every run.
type symptom struct {
	number func(*simulation.Summary) float64
	// matters reports whether the number is worth a sentence.
	matters func(s *simulation.Summary, n float64) bool
	// format and, if not nil, of are the means that replace %s in text: of the number, and of
	// a number that it is a part of.
	format func(float64) string
	of     func(*simulation.Summary) float64
	text   string
}

func above0(_ *simulation.Summary, n float64) bool { return n > 0 }

func polls(s *simulation.Summary) float64   { return float64(s.Polls) }
func arrived(s *simulation.Summary) float64 { return float64(s.Arrived) }
func created(s *simulation.Summary) float64 { return float64(s.JobsCreated) }

// symptoms returns the symptoms, of pods that start within so many seconds on average.
func symptoms(startup float64) []symptom {
	return []symptom{
		{
			func(s *simulation.Summary) float64 { return float64(s.StarvedPolls) },
			func(s *simulation.Summary, n float64) bool { return n*10 > float64(s.Polls) && s.Wait.P95 > 0 },
			report.Count, polls, "starves: after %s of %s polls, items waited for which no Job existed, below the maximum",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.UnreadablePolls) }, above0,
			report.Count, polls, "cannot read a metric in %s of %s polls",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.UnknownPolls) }, above0,
			report.Count, polls, "cannot list Jobs in %s of %s polls: an API server does not answer",
		},
		{
			func(s *simulation.Summary) float64 { return s.LongestPending },
			func(_ *simulation.Summary, n float64) bool { return n > max(300, 10*startup) },
			report.Span, nil, "has Jobs that stay pending for up to %s",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.IdleJobs) },
			func(s *simulation.Summary, n float64) bool { return n > 1 && n*20 > float64(s.JobsCreated) },
			report.Count, created, "creates too many Jobs: %s of %s found no item",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.Duplicated) }, above0,
			report.Count, nil, "does work twice: %s times",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.ExcessOverMax) }, above0,
			report.Count, nil, "runs up to %s Jobs more than the maximum",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.JobsRejected) }, above0,
			report.Count, nil, "is rejected: the API server did not create %s Jobs",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.Lost) }, above0,
			report.Count, arrived, "loses %s of %s items",
		},
		{study.Undone, above0, report.Count, arrived, "leaves %s of %s items undone"},
	}
}

// troubles returns a line for each trouble that occurred under a policy, with the means of
// its runs, and the rule of the polls that starved the queue.
func troubles(of *study.Study, policy int, startup float64) (lines []string) {
	sample := &of.Samples[policy]
	for i, t := range symptoms(startup) {
		occurred := 0
		for k := range sample.Runs {
			if s := &sample.Runs[k]; t.matters(s, t.number(s)) {
				occurred++
			}
		}
		if occurred == 0 {
			continue
		}
		means := []any{t.format(of.Estimate(policy, t.number).Mean)}
		if t.of != nil {
			means = append(means, t.format(of.Estimate(policy, t.of).Mean))
		}
		line := sample.Policy + " " + fmt.Sprintf(t.text, means...)
		if rule := starvedBy(sample.Runs); i == 0 && rule != "" {
			line += "; " + rule
		}
		if occurred < len(sample.Runs) {
			line += fmt.Sprintf(" (in %d of %d runs)", occurred, len(sample.Runs))
		}
		lines = append(lines, line+".")
	}
	return lines
}

// starvedBy returns the rule that decided most of the polls that starved the queue.
func starvedBy(runs []simulation.Summary) string {
	sums, all := map[string]int64{}, int64(0)
	for i := range runs {
		for _, r := range runs[i].Rules {
			sums[r.Rule] += r.Starved
			all += r.Starved
		}
	}
	best := ""
	for rule, n := range sums {
		if n > sums[best] || n == sums[best] && rule < best {
			best = rule
		}
	}
	if all == 0 || sums[best] == 0 {
		return ""
	}
	return fmt.Sprintf("the rule of %.0f %% of them is: %s", 100*float64(sums[best])/float64(all), best)
}

// alone describes a single policy.
func alone(s *study.Study) string {
	wait := s.Estimate(0, objectives[1].value)
	idle := s.Estimate(0, objectives[2].value)
	cost := s.Estimate(0, (*simulation.Summary).Cost)
	text := fmt.Sprintf("95 %% of the items wait at most %s", report.Span(wait.Mean))
	if wait.Low < wait.High {
		text += fmt.Sprintf(" (%s to %s)", report.Span(max(0, wait.Low)), report.Span(wait.High))
	}
	return fmt.Sprintf("%s; Jobs do no work for %s of %s.", text, report.Span(idle.Mean), report.Span(cost.Mean))
}

// capacityLine describes which loads a policy sustains, and whether the present load is one
// of them.
func capacityLine(c *study.Capacity, s *simulation.Scenario) string {
	if c.Reason != "" {
		return fmt.Sprintf("Capacity of %s is not measured: %s.", c.Policy, c.Reason)
	}
	have := report.Rate(c.Load.Arrivals)
	if c.Load.PeakSeconds > 0 && c.Load.Peak > 1.01*c.Load.Arrivals {
		have += fmt.Sprintf(" on average and %s in the busiest %s", report.Rate(c.Load.Peak), report.Span(c.Load.PeakSeconds))
	}
	have += fmt.Sprintf(" (%s x %s = %s Jobs at work, maximum %d)", report.Rate(c.Load.Arrivals), report.Span(c.Load.Service), report.Short(c.Load.Busy), c.Load.Max)
	text := fmt.Sprintf("%s at %s: %s", c.Policy, have, present(&c.Present, s))
	if len(c.Probes) == 0 {
		return text + "."
	}
	return fmt.Sprintf("%s sustains %s; you have %s: %s", c.Policy, sustained(c), have, present(&c.Present, s)) + "."
}

// sustained describes the loads that a policy sustains.
func sustained(c *study.Capacity) string {
	switch {
	case len(c.Growing) == 0:
		return fmt.Sprintf("at least %s", report.Rate(c.Sustained))
	case c.Sustained == 0:
		return fmt.Sprintf("not even %s", report.Rate(c.Probes[0].Load))
	}
	text := report.Rate(c.Sustained)
	var again []string
	for _, g := range c.Growing {
		if g.High < c.Probes[len(c.Probes)-1].Load {
			again = append(again, fmt.Sprintf("from %s to %s", report.Rate(g.Low), report.Rate(g.High)))
		} else {
			again = append(again, "from "+report.Rate(g.Low))
		}
	}
	if len(again) > 1 {
		text += " (its queue grows " + strings.Join(again, ", ") + ")"
	}
	return text
}

// present describes whether the queue grows at the present load, and why.
func present(p *study.Probe, s *simulation.Scenario) string {
	growth := func(t *study.Trend) string {
		if t.Grows {
			return fmt.Sprintf("grows by %s items an hour", report.Count(t.Growth*3600))
		}
		return "does not grow"
	}
	switch {
	case p.Depends():
		grows := &p.Empty
		if p.Long.Grows {
			grows = &p.Long
		}
		return fmt.Sprintf("it depends on the start: an empty queue %s, one of %d items %s%s", growth(&p.Empty), p.Long.Start, growth(&p.Long), cause(grows, s))
	case p.Empty.Grows:
		return "the queue " + growth(&p.Empty) + cause(&p.Empty, s)
	}
	return "the queue does not grow"
}

// causes are rules as causes of a growing queue.
var causes = strings.NewReplacer("the minimum; the queue is ignored", "R < min: the queue is ignored",
	"the strategy's answer", "the strategy asks for fewer Jobs than the queue needs")

// cause names the most frequent cause of a growing queue, from the counts of its run.
func cause(t *study.Trend, s *simulation.Scenario) string {
	r := &t.Summary
	starved := slices.MaxFunc(append(slices.Clone(r.Rules), simulation.RuleCount{}), func(a, b simulation.RuleCount) int { return cmp.Compare(a.Starved, b.Starved) })
	switch {
	case r.FullPolls*2 > r.Polls:
		return fmt.Sprintf("; as many Jobs as the maximum exist after %d of %d polls", r.FullPolls, r.Polls)
	case starved.Starved*2 > r.Polls:
		return fmt.Sprintf("; in %d of %d polls, %s", starved.Polls, r.Polls, causes.Replace(starved.Rule))
	case r.LongestPending > 60 && r.LongestPending > 3*s.Jobs.Startup.Mean().Seconds():
		return fmt.Sprintf("; Jobs stay pending for up to %s", report.Span(r.LongestPending))
	case starved.Starved*10 > r.Polls:
		return fmt.Sprintf("; %d of %d polls leave items without a Job, mostly by the rule: %s", r.StarvedPolls, r.Polls, starved.Rule)
	}
	return ""
}
