package conform

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/scaledjob/scaledjob/cmd/scaledjob/oracle"
	"github.com/scaledjob/scaledjob/scaling"
	"github.com/scaledjob/scaledjob/scaling/scalingtest"
	"github.com/scaledjob/scaledjob/strategy"
	"github.com/scaledjob/scaledjob/strategy/strategytest"
)

// A property is a rule about several answers. broken returns an error that shows them.
type property struct {
	name, meaning string
	broken        func(asker, question) error
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
			list = append(list, property{p.Name, p.Meaning, func(ask asker, q question) error {
				s, load, err := oracle.Load([]byte(q.String()))
				if err != nil || (p.OnlyTotals && !strategy.TargetIsTotal(s)) {
					return nil
				}
				return p.Check(proposer{ask, maps.Clone(q)}, load, 1)
			}})
		}
	case "decision":
		for _, p := range scalingtest.All() {
			list = append(list, property{p.Name, p.Meaning, func(ask asker, q question) error {
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
	for _, name := range []string{"suspended", "inFlight", "agesUnknown"} { // the load has what they make of the counts
		delete(p.question, name)
	}
	return p.ask(p.with("maxScale", l.Target).with("running", l.Running).with("pending", l.Pending).with("stuck", l.Stuck).with("maxReplicaCount", l.Max))
}

// poll returns the question with another observation. Properties change the metrics, the Jobs and whether the
// policy is paused.
func (q question) poll(p scaling.Policy, o scaling.Observation) question {
	scalers := []any{}
	for _, m := range o.Metrics {
		s := map[string]any{"queueLength": text(m.Value), "target": text(m.Target), "activationTarget": text(m.ActivationThreshold)}
		if m.Failed {
			s["failed"] = true
		}
		if m.Activity != scaling.ByThreshold {
			s["isActive"] = m.Activity == scaling.Active
		}
		scalers = append(scalers, s)
	}
	q = q.with("scalers", scalers).with("paused", p.Paused)
	if c := o.Jobs; c != nil {
		q = q.with("running", c.Running).with("pending", c.Pending).with("terminating", c.Terminating).with("suspended", c.Suspended).with("inFlight", c.InFlight)
		delete(q, "stuck")
		if delete(q, "agesUnknown"); !c.AgesUnknown {
			q["stuck"] = c.Stuck
		}
		delete(q, "jobsUnknown")
	}
	return q
}

// text returns a number as JSON has it.
func text(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprintf("%+v", x)
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
}

// check returns what breaks a property. Nothing is compared if the right answers break it as well, or if an
// answer is unsupported or no whole number.
func (r *run) check(p property, q question) (problem string, compared bool, err error) {
	fair := p.broken(func(q question) int64 {
		right, _, _ := q.right()
		n, _ := strconv.ParseInt(right.value, 10, 64)
		return n
	}, q)
	if fair != nil {
		return "", false, nil
	}
	unclear := false
	broken := p.broken(func(q question) int64 {
		if err != nil || unclear {
			return 0
		}
		var answers []answer
		if answers, err = r.program.ask(r.ctx, q); err != nil {
			return 0
		}
		n, problem := strconv.ParseInt(answers[0].value, 10, 64)
		compared, unclear = problem == nil, problem != nil
		return n
	}, q)
	if err != nil || !compared || broken == nil {
		return "", compared, err
	}
	return broken.Error(), true, nil
}
