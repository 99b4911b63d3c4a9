package conform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/scaling/scalingtest"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
)

// A property is a rule about several answers, with its meaning. broken returns an error that shows them.
type property struct {
	name   string
	broken func(asker, question) error
}

// longest is the longest queue of a question about a property.
const longest = 60

// An asker returns the answer to a question, a whole number. Nothing is said about a question with
// another answer.
type asker func(question) int64

// properties returns those of a level.
func properties(level string) (list []property) {
	switch level {
	case "strategy":
		for _, p := range strategytest.All() {
			list = append(list, property{p.Name + ": " + p.Meaning, func(ask asker, q question) error {
				s, load, err := oracle.Load([]byte(q.String()))
				if err != nil || (p.OnlyTotals && !strategy.TargetIsTotal(s)) {
					return nil
				}
				return p.Check(proposer{ask, q}, load, 1)
			}})
		}
	case "decision":
		for _, p := range scalingtest.All() {
			list = append(list, property{p.Name + ": " + p.Meaning, func(ask asker, q question) error {
				policy, observation, err := oracle.Poll([]byte(q.String()))
				tooLong := func(m scaling.Metric) bool { return !(m.Value <= longest) }
				if err != nil || slices.ContainsFunc(observation.Metrics, tooLong) {
					return nil // it would take too long to serve
				}
				decide := func(p scaling.Policy, o scaling.Observation) int64 { return ask(q.poll(p, o)) }
				return p.Check(decide, scalingtest.Poll{Policy: policy, Observation: observation})
			}})
		}
	}
	return list
}

// A proposer is the strategy of a question, asked for other loads.
type proposer struct {
	ask asker
	question
}

// Propose asks.
func (p proposer) Propose(l strategy.Load) int64 {
	return p.ask(p.with("maxScale", l.Target, "running", l.Running, "pending", l.Pending, "stuck", l.Stuck, "maxReplicaCount", l.Max,
		"suspended", 0, "inFlight", 0, "agesUnknown", false)) // the load has what they make of the counts
}

// poll returns the question with another observation. Properties change the metrics, the Jobs and whether the
// policy is paused.
func (q question) poll(p scaling.Policy, o scaling.Observation) question {
	scalers := []any{}
	for _, m := range o.Metrics {
		s := map[string]any{"queueLength": oracle.Number(m.Value), "target": oracle.Number(m.Target), "activationTarget": oracle.Number(m.ActivationThreshold), "failed": m.Failed}
		if m.Activity != scaling.ByThreshold {
			s["isActive"] = m.Activity == scaling.Active
		}
		scalers = append(scalers, s)
	}
	q = q.with("scalers", scalers, "paused", p.Paused, "jobsUnknown", o.Jobs == nil)
	if c := o.Jobs; c != nil {
		q = q.with("running", c.Running, "pending", c.Pending, "terminating", c.Terminating, "suspended", c.Suspended, "inFlight", c.InFlight,
			"agesUnknown", c.AgesUnknown, "stuck", c.Stuck)
		if c.AgesUnknown {
			delete(q, "stuck")
		}
	}
	return q
}

// check returns the judge of a property. Nothing is compared if the right answers break it as well, or if an
// answer is unsupported or no whole number.
func (t *test) check(p property) judge {
	return func(q question) (d *Difference, compared bool, err error) {
		fair := p.broken(func(q question) int64 {
			right, _ := q.right()
			n, _ := strconv.ParseInt(right.value, 10, 64)
			return n
		}, q)
		if fair != nil {
			return nil, false, nil
		}
		unclear := false
		broken := p.broken(func(q question) int64 {
			if err != nil || unclear {
				return 0
			}
			var answers []answer
			if answers, err = t.program.ask(q); err != nil {
				return 0
			}
			n, problem := strconv.ParseInt(answers[0].value, 10, 64)
			compared, unclear = problem == nil, problem != nil
			return n
		}, q)
		if err != nil || !compared || broken == nil {
			return nil, compared, err
		}
		text, trace, _ := strings.Cut(broken.Error(), "; package scaling decides\n")
		return &Difference{Name: p.name, Question: q, Answer: text, Trace: trace}, true, nil
	}
}
