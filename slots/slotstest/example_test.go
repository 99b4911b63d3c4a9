package slotstest_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/slots/slotstest"
)

// A hasty loop takes a create without an answer for a create without an effect.
type hasty struct{ *slotstest.Plain }

func (h hasty) Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request {
	if q.Verb == "create" && r == slots.Unanswered {
		r = slots.None
	}
	return h.Plain.Answer(q, r, uid, now)
}

func (h hasty) Clone() slotstest.Loop { return hasty{h.Plain.Clone().(*slotstest.Plain)} }

// Two items of a source, and at most one of them in work. The model finds the shortest way in which a loop
// breaks that maximum.
func ExampleExplore() {
	model := slotstest.Config{
		Keyed: true, Items: 2, Max: []int64{1}, Depth: 16,
		Budget: slotstest.Budget{Fault: 2},
	}
	fmt.Println(slotstest.Explore(model, slotstest.NewPlain))
	fmt.Println(slotstest.Explore(model, func(o slots.Options, most int64) slotstest.Loop {
		return hasty{slotstest.NewPlain(o, most).(*slotstest.Plain)}
	}).Broken)
	// Output:
	// 448 states, all to depth 16; 305 states of a process; 654 calls of the loop; 0 events cut by the bounds
	//
	//   1. process 0: ask the source
	//   2. the source lists its items
	//   3. process 0: poll for 0
	//   4. process 0: answer at once list 0
	//   5. process 0: show a change
	//   6. process 0: ask the source
	//   7. the source lists its items
	//   8. process 0: poll for 0
	//   9. process 0: ask the source
	//  10. process 0: execute create 1
	//  11. process 0: time out create 1
	//  12. the source lists its items
	//  13. a part of L passes
	//  14. process 0: poll for 0
	//  15. process 0: refuse create 1
	//  16. process 0: answer at once create 2
	//      2 unfinished objects, at a maximum of 1
}
