package why

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/internal/report"
	"github.com/scaledjob/scaledjob/cmd/scaledjob/lint/triggers"
	"github.com/scaledjob/scaledjob/keda"
)

// A change is a fix of the manifest that can be played.
type change struct {
	text  string
	apply func(*keda.Spec)
}

func strategyIs(name string) change {
	return change{"strategy " + name, func(s *keda.Spec) { s.ScalingStrategy.Strategy = name }}
}

// changeFor returns the change of the manifest that the fix of a cause names.
func (j *judge) changeFor(id string) (c change, found bool) {
	switch id {
	case "maximum", "eager-deducted":
		most := j.bounds.Min + j.bounds.QueueMax
		if most >= math.MaxInt32 {
			return c, false
		}
		n := int32(max(most+1, min(2*most, 10000)))
		return change{fmt.Sprintf("maxReplicaCount %d", n), func(s *keda.Spec) { s.MaxReplicaCount = &n }}, true
	case "min":
		return change{"minReplicaCount 0", func(s *keda.Spec) { s.MinReplicaCount = new(int32) }}, true
	case "running-deducted":
		return strategyIs("accurate"), true
	case "pending-deducted", "custom-deducted", "counted-twice", "above-maximum":
		return strategyIs("default"), true
	}
	return c, false
}

// play simulates the polls until a moment with the fix of each cause. Its Jobs work, end, and change
// the later polls. No change of the manifest makes stuck Jobs work.
func (j *judge) play(a *Account, s *Subject, live *Live, at time.Time) {
	if j.spec == nil || slices.ContainsFunc(a.Causes, func(c Cause) bool { return c.ID == "stuck" }) {
		return
	}
	verdicts := a.verdicts
	if !at.IsZero() {
		verdicts = until(verdicts, at)
	}
	var changes []change
	for _, cause := range slices.Concat(a.Causes, a.Also) {
		c, found := j.changeFor(cause.ID)
		if found && !slices.ContainsFunc(changes, func(has change) bool { return has.text == c.text }) {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 || len(verdicts) == 0 {
		return
	}
	c := j.likeliest(verdicts, s, live)
	if c == nil {
		a.Played = []string{"not simulated: the log shows too little of the polls, or too much work"}
		return
	}
	for _, change := range changes {
		spec := j.keda.Spec
		change.apply(&spec)
		if o, err := c.run(j.profile, spec); err == nil {
			a.Played = append(a.Played, c.phrase(change.text, o))
		}
	}
	a.Played = append(a.Played, c.basis())
}

// likeliest returns the course that agrees with most polls without a change. Whether the metric counts
// in-progress items is tried if the trigger does not tell.
func (j *judge) likeliest(verdicts []*Verdict, s *Subject, live *Live) (best *course) {
	how, _, _ := j.counting()
	for _, waiting := range []bool{true, false} {
		if waiting && how == triggers.Includes || !waiting && how == triggers.LeavesOut {
			continue
		}
		c := j.course(verdicts, s, waiting)
		if c == nil {
			return nil
		}
		c.assumed = how == 0
		c.work(live)
		var err error
		if c.before, err = c.run(j.profile, j.keda.Spec); err != nil {
			return nil
		}
		for i, v := range c.polls {
			if v != nil && i < len(c.before.created) && c.before.created[i] == *v.Jobs {
				c.agree++
			}
		}
		if best == nil || c.agree > best.agree {
			best = c
		}
	}
	return best
}

// An outcome holds the Jobs that each poll of a course creates, the most at a time, and the work at its end
// for which no Job is created yet.
type outcome struct {
	created           []int64
	total, most, left int64
}

// phrase compares a change with the simulation without it.
func (c *course) phrase(change string, o outcome) string {
	when := ""
	if last := c.polls[len(c.polls)-1]; !c.polls[0].At.IsZero() {
		when = fmt.Sprintf(" from %s to %s", clockOf(c.polls[0].At, false), clockOf(last.At, false))
	}
	text := fmt.Sprintf("with %s%s (%s) ", change, when, report.Plural(c.count, "poll"))
	switch {
	case slices.Equal(o.created, c.before.created) && !c.exact:
		return text + "no difference is certain: the log does not show T, as it does at level debug, and the least that fits is taken"
	case slices.Equal(o.created, c.before.created):
		return text + "the same Jobs are created"
	}
	return text + fmt.Sprintf("%s created instead of %d, at most %d at a time instead of %d, and at the end the work of %s has no Job instead of that of %d",
		report.Plural(int(o.total), "Job"), c.before.total, o.most, c.before.most, report.Plural(int(o.left), "Job"), c.before.left)
}

// basis has what of the plays is seen, computed and assumed.
func (c *course) basis() string {
	asked, metric := "T", "counts in-progress items"
	took := fmt.Sprintf("seen: a Job takes %s, the median of %s", c.took, c.tookOf)
	if !c.exact {
		asked = "T (the least that fits, if the log does not show it)"
	}
	if c.waiting {
		metric = "leaves out in-progress items"
	}
	if c.assumed {
		metric += ", which fits best"
	}
	if c.took == 0 {
		took = "assumed: no Job ended in the log, so that none ends before its end"
	}
	return fmt.Sprintf("seen: R, P and the created Jobs; computed: when work arrives, from %s, R and P; %s; assumed: each Job does the work for which T asks one Job, and the metric %s. Without a change the simulation creates as many Jobs as the log in %d of %s",
		asked, took, metric, c.agree, report.Plural(c.count, "poll"))
}
