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

// Judge fills in the objectives, the verdict and the details, of pods that start within so many seconds on
// average.
func (r *Findings) Judge(startup float64) {
	r.units = newUnits(r.Study, r.Capacities[0].Load)
	r.Objectives = judged(r.Study, r.Goals)
	r.Details = r.details()
	for i := range r.Study.Samples {
		r.Reasons = append(r.Reasons, troubles(r.Study, i, startup)...)
	}
	if r.Search != nil {
		r.Verdict = r.found()
		return
	}
	best := r.Best()
	r.Verdict = []string{r.answer(best), r.needs(best)}
	if len(r.Goals) > 0 {
		r.Verdict = append(r.Verdict, r.objectiveLine())
	}
}

// deciding are the numbers that decide between policies, the most important first.
var deciding = []*column{columnOf("undone"), columnOf("p95"), columnOf("mean"), {name: "pod time", quantity: podTime, value: (*simulation.Summary).Cost}}

// compare returns -1 if policy a is better than b, 1 if it is worse, and 0 if that is too close to call. Of
// differences that do not matter, the most important decides.
func (r *Findings) compare(a, b int) int {
	if growsA, growsB := r.Capacities[a].Present.Grows(), r.Capacities[b].Present.Grows(); growsA != growsB {
		if growsA {
			return 1
		}
		return -1
	}
	slight := 0 // certain, though it does not matter
	for _, c := range deciding {
		d := r.Study.Difference(a, b, c.value)
		if d.Word != study.Different {
			continue
		}
		if sign := cmp.Compare(d.Mean, 0); r.matters(d, a, c) {
			return sign
		} else if slight == 0 {
			slight = sign
		}
	}
	return slight
}

// matters reports whether a difference to a policy decides: it is certain, and a difference of waits is at
// least a tenth of the wait of 95 % of the items. Less is not worth the cost of more pods.
func (r *Findings) matters(d study.Difference, policy int, c *column) bool {
	p95 := r.Study.Estimate(policy, columnOf("p95").value).Mean
	slight := c.quantity == wait && math.Abs(d.Mean) < p95/10
	return d.Word == study.Different && !slight
}

// Best returns the first policy than which no other is better.
func (r *Findings) Best() (best int) {
	for i := range r.Study.Samples {
		if r.compare(i, best) < 0 {
			best = i
		}
	}
	return best
}

func (r *Findings) answer(best int) string {
	name := r.Study.Samples[best].Policy
	shown, sentence := r.shownWait(best)
	waits := fmt.Sprintf(sentence, r.units.text(r.Study.Estimate(best, shown.value).Mean, wait))
	growth := r.growth(best)
	if len(r.Study.Samples) == 1 {
		name = cmp.Or(r.Scenario.Name, name)
		undone := r.Study.Estimate(best, study.Undone).Mean
		switch {
		case growth != "":
			return fmt.Sprintf("%s does not keep up: %s.", name, growth)
		case undone > 0:
			return fmt.Sprintf("%s leaves %s undone: %s.", name, report.Counted(undone, "item"), waits)
		case r.Study.Recorded:
			return fmt.Sprintf("%s serves all recorded items: %s.", name, waits)
		}
		return fmt.Sprintf("%s keeps up: %s.", name, waits)
	}
	ties, others, verb := []string{name}, []string(nil), "do the same"
	for i, s := range r.Study.Samples {
		if i == best {
			continue
		}
		outcome := s.Policy + ": " + r.outcome(i, best, shown)
		switch {
		case r.compare(i, best) != 0:
			others = append(others, outcome)
		case r.equal(best, i):
			ties = append(ties, s.Policy)
		default:
			ties, others, verb = append(ties, s.Policy), append(others, outcome), "are too close to call"
		}
	}
	text := waits
	if len(others) > 0 {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	switch {
	case growth != "":
		return fmt.Sprintf("No policy keeps up. The best is %s: %s.", name, text)
	case len(ties) > 1:
		return fmt.Sprintf("%s %s: %s.", listed(ties), verb, text)
	}
	return fmt.Sprintf("Use %s: %s.", name, text)
}

func listed(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// shownWait returns the wait that the answer shows: that of 95 % of the items, or the mean if only that
// tells the policies apart.
func (r *Findings) shownWait(best int) (*column, string) {
	p95, mean := columnOf("p95"), columnOf("mean")
	differs := func(c *column) bool {
		for i := range r.Study.Samples {
			if r.matters(r.Study.Difference(i, best, c.value), i, c) {
				return true
			}
		}
		return false
	}
	if !differs(p95) && differs(mean) {
		return mean, "the items wait %s on average"
	}
	return p95, "95 %% of the items wait at most %s"
}

// equal reports whether two policies do the same in each run.
func (r *Findings) equal(a, b int) bool {
	return !slices.ContainsFunc(deciding, func(c *column) bool { return r.Study.Difference(a, b, c.value).Word != study.Equal })
}

// outcome is how long items wait under another policy, or that its queue grows.
func (r *Findings) outcome(policy, best int, shown *column) string {
	if r.Capacities[policy].Present.Grows() {
		return "does not keep up"
	}
	text := r.units.text(r.Study.Estimate(policy, shown.value).Mean, wait)
	if undone := r.Study.Estimate(policy, study.Undone).Mean; undone > 0 {
		text += ", " + report.Counted(undone, "item") + " not done"
	}
	if r.Study.Difference(policy, best, (*simulation.Summary).Cost).Word == study.Different {
		text += " for " + r.cost(r.podTime(policy))
	}
	return text
}

// needs says how many Jobs a policy runs, what they cost, and which loads it sustains.
func (r *Findings) needs(policy int) string {
	c := &r.Capacities[policy]
	peak := r.Study.Estimate(policy, columnOf("peak").value).Mean
	subject := "It"
	if len(r.Study.Samples) > 1 {
		subject = c.Policy
	}
	text := fmt.Sprintf("%s runs up to %s Jobs", subject, report.Count(peak))
	if peak == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if c.Load.Max > 0 && c.Load.Max < 1e9 {
		text += fmt.Sprintf(" (maximum %d)", c.Load.Max)
	}
	text += " and costs " + r.cost(r.podTime(policy)) + r.idle(policy)
	if c.Reason != "" || len(c.Probes) == 0 {
		return text + "."
	}
	return fmt.Sprintf("%s; it keeps up %s, and %s arrive.", text, r.sustained(c), r.units.text(c.Load.Arrivals, rate))
}

func (r *Findings) podTime(policy int) float64 {
	return r.Study.Estimate(policy, (*simulation.Summary).Cost).Mean
}

// cost formats a time of pods, with its price if there is one for an hour.
func (r *Findings) cost(seconds float64) string {
	text := r.units.text(seconds, podTime)
	if r.Price > 0 {
		return fmt.Sprintf("%.2f (%s at %g an hour)", seconds/3600*r.Price, text, r.Price)
	}
	return text
}

// idle says what the idle part of the pod time is.
func (r *Findings) idle(policy int) string {
	idle := r.Study.Estimate(policy, columnOf("idle").value).Mean
	waiting := r.Study.Estimate(policy, func(s *simulation.Summary) float64 { return s.WaitingSeconds }).Mean
	text := ", of which " + r.units.text(idle, podTime) + " are idle ("
	switch {
	case idle == 0:
		return ""
	case waiting == 0:
		return text + "pods that are still starting)"
	case waiting >= idle:
		return text + "pods that wait for an item)"
	}
	return fmt.Sprintf("%s%s in pods that are still starting, %s in pods that wait for an item)", text, r.units.number(idle-waiting, podTime), r.units.number(waiting, podTime))
}

// sustained describes the loads that a policy sustains.
func (r *Findings) sustained(c *study.Capacity) string {
	highest := c.Probes[len(c.Probes)-1].Load
	if len(c.Growing) == 0 {
		return "up to at least " + r.units.text(highest, rate)
	}
	var parts []string
	if c.Sustained > 0 {
		parts = append(parts, "below "+r.units.text(c.Sustained, rate))
	}
	for i, g := range c.Growing {
		next := highest
		if i+1 < len(c.Growing) {
			next = c.Growing[i+1].Low
		}
		if g.High < next {
			parts = append(parts, fmt.Sprintf("from %s to %s", r.units.number(g.High, rate), r.units.text(next, rate)))
		}
	}
	if len(parts) == 0 {
		return "at no load from " + r.units.text(c.Probes[0].Load, rate) + " on"
	}
	return strings.Join(parts, ", and again ")
}

// growth says how fast the queue of a policy grows, and why. It is empty if the policy keeps up.
func (r *Findings) growth(policy int) string {
	p := &r.Capacities[policy].Present
	if !p.Grows() {
		return ""
	}
	trend, start := &p.Empty, ""
	if p.Long.Grows {
		trend = &p.Long
	}
	if p.Depends() {
		start = "once it is empty, "
		if p.Long.Grows {
			start = fmt.Sprintf("once %d items wait, ", p.Long.Start)
		}
	}
	return fmt.Sprintf("%sits queue grows by %s%s", start, r.units.text(trend.Growth, rate), cause(trend, &r.Scenario))
}

// causes are rules as causes of a growing queue.
var causes = strings.NewReplacer("the minimum; the queue is ignored", "KEDA ignores the queue while fewer Jobs run than the minimum",
	"the strategy's answer", "the strategy asks for fewer Jobs than the queue needs")

// cause names the most frequent cause of a growing queue, from the counts of its run.
func cause(t *study.Trend, s *simulation.Scenario) string {
	r := &t.Summary
	worst := simulation.RuleCount{}
	for _, rule := range r.Rules {
		if rule.Starved > worst.Starved {
			worst = rule
		}
	}
	share := func(polls int64) string { return fmt.Sprintf("in %d of %d polls", polls, r.Polls) }
	switch {
	case r.FullPolls*2 > r.Polls:
		return ", because the maximum is reached " + share(r.FullPolls)
	case worst.Starved*2 > r.Polls:
		return ", because " + share(worst.Polls) + " " + causes.Replace(worst.Rule)
	case r.LongestPending > 60 && r.LongestPending > 3*s.Jobs.Startup.Mean().Seconds():
		return ", because Jobs stay pending for up to " + report.Span(r.LongestPending)
	case worst.Starved*10 > r.Polls:
		return fmt.Sprintf(", because items have no Job %s; the rule is mostly: %s", share(r.StarvedPolls), worst.Rule)
	}
	return ""
}

func (r *Findings) details() (lines []string) {
	for i := range r.Capacities {
		if !r.Study.Recorded {
			lines = append(lines, r.capacityLine(i))
		}
	}
	for _, c := range append(deciding, columnOf("idle")) {
		if line := r.differences(c); line != "" {
			lines = append(lines, line)
		}
	}
	if r.Search != nil {
		lines = append(lines, fmt.Sprintf("Search: %d of %d policies were tried. Of equal maxima the longest polling interval wins, then the fewest idle pods.",
			r.Search.Tried, r.Search.Candidates))
	}
	for i := range r.Objectives {
		lines = append(lines, r.Goals[i%len(r.Goals)].line(&r.Objectives[i], &r.units))
	}
	return lines
}

// capacityLine describes the load, and whether a policy sustains it.
func (r *Findings) capacityLine(policy int) string {
	c := &r.Capacities[policy]
	if c.Reason != "" {
		return fmt.Sprintf("%s: how much load it sustains cannot be measured, because %s.", c.Policy, c.Reason)
	}
	load := r.units.text(c.Load.Arrivals, rate)
	text := fmt.Sprintf("%s: %s arrive and keep %s Jobs busy", c.Policy, load, report.Short(c.Load.Busy))
	if growth := r.growth(policy); growth != "" {
		text += "; " + growth
	}
	if len(c.Probes) > 0 {
		text += "; it keeps up " + r.sustained(c)
	}
	return text + "."
}

// differences describes how the policies differ from the one with the lowest mean, or the interval of a
// single one. It is empty if they are equal and nothing is left undone.
func (r *Findings) differences(c *column) string {
	lowest := 0
	for i := range r.Study.Samples {
		if r.Study.Estimate(i, c.value).Mean < r.Study.Estimate(lowest, c.value).Mean {
			lowest = i
		}
	}
	e := r.Study.Estimate(lowest, c.value)
	parts := []string{r.Study.Samples[lowest].Policy + " " + r.units.text(e.Mean, c.quantity)}
	if e.High > e.Low {
		parts[0] += fmt.Sprintf(" (95 %% interval: %s)", r.units.interval(e, c.quantity, false))
	}
	differ := e.Mean > 0
	for i := range r.Study.Samples {
		if i == lowest {
			continue
		}
		d := r.Study.Difference(i, lowest, c.value)
		differ = differ || d.Word != study.Equal
		parts = append(parts, r.Study.Samples[i].Policy+" "+r.difference(c, d))
	}
	if !differ {
		return ""
	}
	return strings.ToUpper(c.name[:1]) + c.name[1:] + ": " + strings.Join(parts, "; ") + "."
}

func (r *Findings) difference(c *column, d study.Difference) string {
	if d.Word == study.Equal {
		return "the same"
	}
	text := plus(d.Mean, r.units.text(d.Mean, c.quantity))
	if d.Word == study.TooClose {
		text += ", but too close to call"
	}
	if d.Interval && d.High > d.Low {
		text += fmt.Sprintf(" (95 %% interval: %s)", r.units.interval(d.Estimate, c.quantity, true))
	}
	switch {
	case d.Needed > 0 && !d.Interval:
		text += fmt.Sprintf(" (an interval needs --seeds %d)", d.Needed)
	case d.Needed > 0 && r.Study.Blocks > 0:
		text += fmt.Sprintf(" (a recording about %d times as long would decide)", d.Needed)
	case d.Needed > 0:
		text += fmt.Sprintf(" (--seeds %d would decide)", d.Needed)
	}
	return text
}

// A symptom is something that should not happen. Each has its number in every run.
type symptom struct {
	number func(*simulation.Summary) float64
	// matters reports whether the number is worth a sentence.
	matters func(s *simulation.Summary, n float64) bool
	// format and, if not nil, total are the means that replace %s in text: of the number, and of
	// a number that it is a part of.
	format func(float64) string
	total  func(*simulation.Summary) float64
	text   string
}

func above0(_ *simulation.Summary, n float64) bool { return n > 0 }

func polls(s *simulation.Summary) float64   { return float64(s.Polls) }
func arrived(s *simulation.Summary) float64 { return float64(s.Arrived) }
func created(s *simulation.Summary) float64 { return float64(s.JobsCreated) }

func symptoms(startup float64) []symptom {
	return []symptom{
		{
			func(s *simulation.Summary) float64 { return float64(s.Lost) }, above0,
			report.Count, arrived, "loses %s of %s items",
		},
		{study.Undone, above0, report.Count, arrived, "leaves %s of %s items undone"},
		{
			func(s *simulation.Summary) float64 { return float64(s.ExcessOverMax) }, above0,
			func(n float64) string { return report.Counted(n, "Job") }, nil, "runs up to %s more than the maximum",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.StarvedPolls) },
			func(s *simulation.Summary, n float64) bool { return n*10 > float64(s.Polls) && s.Wait.P95 > 0 },
			report.Count, polls, "starts too few Jobs: after %s of %s polls, items wait without a Job although the maximum has room",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.FullPolls) },
			func(s *simulation.Summary, n float64) bool { return n*10 > float64(s.Polls) && s.Wait.P95 > 0 },
			report.Count, polls, "reaches its maximum: after %s of %s polls, items wait and no more Jobs are allowed",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.IdleJobs) },
			func(s *simulation.Summary, n float64) bool { return n > 1 && n*20 > float64(s.JobsCreated) },
			report.Count, created, "creates too many Jobs: %s of %s find no item",
		},
		{
			func(s *simulation.Summary) float64 { return s.LongestPending },
			func(_ *simulation.Summary, n float64) bool { return n > max(300, 10*startup) },
			report.Span, nil, "has Jobs that stay pending for up to %s",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.Duplicated) }, above0,
			report.Count, nil, "does work twice: %s times",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.JobsRejected) }, above0,
			report.Count, nil, "is rejected: the API server does not create %s Jobs",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.UnreadablePolls) }, above0,
			report.Count, polls, "cannot read a metric in %s of %s polls",
		},
		{
			func(s *simulation.Summary) float64 { return float64(s.UnknownPolls) }, above0,
			report.Count, polls, "cannot list Jobs in %s of %s polls: an API server does not answer",
		},
	}
}

// troubles returns a line for each symptom that occurred under a policy, with the means of its runs.
func troubles(s *study.Study, policy int, startup float64) (lines []string) {
	sample := &s.Samples[policy]
	for _, t := range symptoms(startup) {
		occurred := 0
		for k := range sample.Runs {
			if run := &sample.Runs[k]; t.matters(run, t.number(run)) {
				occurred++
			}
		}
		if occurred == 0 {
			continue
		}
		means := []any{t.format(s.Estimate(policy, t.number).Mean)}
		if t.total != nil {
			means = append(means, t.format(s.Estimate(policy, t.total).Mean))
		}
		line := sample.Policy + " " + fmt.Sprintf(t.text, means...)
		if occurred < len(sample.Runs) {
			line += fmt.Sprintf(" (in %d of %d runs)", occurred, len(sample.Runs))
		}
		lines = append(lines, line+".")
	}
	return lines
}

func (r *Findings) objectiveLine() string {
	results := map[string][]string{}
	for i := range r.Study.Samples {
		name, result := r.Study.Samples[i].Policy, resultOf(r.Objectives, r.Study.Samples[i].Policy)
		results[result] = append(results[result], name)
	}
	var parts []string
	for _, result := range []string{pass, fail, tooClose} {
		if names := results[result]; len(names) > 0 {
			parts = append(parts, map[string]string{pass: "met by ", fail: "missed by ", tooClose: "too close to call for "}[result]+listed(names))
		}
	}
	return goalTexts(r.Goals) + ": " + strings.Join(parts, "; ") + "."
}

// resultOf joins the results of a policy: the worst counts.
func resultOf(results []goalResult, policy string) string {
	has := func(result string) bool {
		return slices.ContainsFunc(results, func(g goalResult) bool { return g.Policy == policy && g.Result == result })
	}
	switch {
	case has(fail):
		return fail
	case has(tooClose):
		return tooClose
	}
	return pass
}
