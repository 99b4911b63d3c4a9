package rollout_test

import (
	"fmt"

	"github.com/scaledjob/scaledjob/rollout"
)

// The owner's spec has changed from generation 1 to 2.
func ExampleChoose() {
	jobs := []rollout.Job{
		{Revision: rollout.Revision{Generation: 1}},
		{Revision: rollout.Revision{Generation: 1}, NeverStarted: true},
		{Revision: rollout.Revision{Generation: 2}},
		{}, // nobody knows what it was made from
	}
	now := rollout.Revision{Generation: 2}
	for _, s := range []rollout.Strategy{rollout.Gradual, rollout.Immediate, rollout.Drain} {
		fmt.Println(s, rollout.Choose(rollout.Policy{Strategy: s}, now, jobs))
	}
	// Output:
	// gradual []
	// immediate [0 1]
	// drain [1]
}

// Generation 2 changed how often the queue is polled, generation 3 the Job
// template.
func ExampleChoose_templateOnly() {
	jobs := []rollout.Job{
		{Revision: rollout.Revision{Generation: 1, TemplateHash: "5f1c"}},
		{Revision: rollout.Revision{Generation: 2, TemplateHash: "5f1c"}},
		{Revision: rollout.Revision{Generation: 3, TemplateHash: "a07b"}},
	}
	p := rollout.Policy{Strategy: rollout.Immediate, TemplateOnly: true}
	fmt.Println(rollout.Choose(p, rollout.Revision{Generation: 2, TemplateHash: "5f1c"}, jobs))
	fmt.Println(rollout.Choose(p, rollout.Revision{Generation: 3, TemplateHash: "a07b"}, jobs))
	// Output:
	// []
	// [0 1]
}
