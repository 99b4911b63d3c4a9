package triggers

import (
	"slices"
	"sync"
)

// A Rule is a rule that KEDA checks in code and not in a declaration.
type Rule struct {
	Types []string
	// Message is a piece of KEDA's error, or of the code that fails. Package conformance looks
	// for it in the source code of the releases.
	Message string
	Since   string // first release of the table's full declarations with the rule
	check   check
}

// Rules returns the rules that this package knows.
func Rules() []Rule { return slices.Clone(ruleList()) }

// ruleList holds the rules of all families. The rules of a type are checked in this order.
var ruleList = sync.OnceValue(func() []Rule {
	return slices.Concat(cronRules, kafkaRules, rabbitmqRules, redisRules, awsRules, gcpRules,
		azureRules, databaseRules, monitoringRules, brokerRules, platformRules, sharedRules)
})

func (c *checker) rules() {
	for _, r := range ruleList() {
		if !slices.Contains(r.Types, c.name) || Minor(c.release) < Minor(r.Since) {
			continue
		}
		c.secret = false
		f := r.check(c)
		// A value of the wrong form has its own problem.
		if f.text == "" || slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Key == f.key && !p.Warning }) {
			continue
		}
		p := Problem{Kind: Broken, Key: f.key, Text: f.text + ", so KEDA never polls", Fix: f.fix, Rule: r.Message}
		if f.effect != "" {
			p.Kind, p.Text, p.Warning = Ineffective, f.text+", and "+f.effect, true
		}
		c.add(p)
	}
}

// A check is the function of a Rule.
type check = func(c *checker) fault

// A fault is a problem of a trigger; the zero value is none. Effect is the consequence of a value that
// KEDA accepts; "" if KEDA rejects the trigger.
type fault struct{ key, text, fix, effect string }
