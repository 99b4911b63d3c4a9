package slotstest_test

import (
	"fmt"
	"time"

	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/slots/slotstest"
)

// An impatientLoop takes a create without an answer for a create without an effect.
type impatientLoop struct{ *slotstest.Plain }

func (l impatientLoop) Answer(q slots.Request, r slots.Result, uid string, now time.Time) []slots.Request {
	if q.Verb == slots.Create && r == slots.Unanswered {
		r = slots.NoEffect
	}
	return l.Plain.Answer(q, r, uid, now)
}

func (l impatientLoop) Clone() slotstest.Loop {
	return impatientLoop{l.Plain.Clone().(*slotstest.Plain)}
}

// The model finds the shortest way in which a loop breaks the maximum.
func ExampleExplore() {
	model := slotstest.Config{Max: []int64{1}, Demands: []uint8{1}, Depth: 14, Deaf: true, Budget: slotstest.Budget{Finish: 1, Fault: 2}}
	fmt.Println(slotstest.Explore(model, slotstest.NewPlain))
	fmt.Println(slotstest.Explore(model, func(o slots.Options, maximum int64) slotstest.Loop {
		return impatientLoop{slotstest.NewPlain(o, maximum).(*slotstest.Plain)}
	}).Broken)
	// Output:
	// 4148 states, all to depth 14; 1732 states of a process; 4063 calls of the loop; 0 events cut by the bounds
	//
	//   1. process 0: poll for 1
	//   2. process 0: answer at once create 1
	//   3. finish: 1
	//   4. process 0: show everything
	//   5. process 0: poll for 1
	//   6. process 0: time out create 2
	//   7. process 0: answer at once delete 1
	//   8. process 0: show a change
	//   9. process 0: execute create 2, late
	//  10. a part of L passes
	//  11. process 0: poll for 1
	//  12. process 0: execute create 1
	//      2 unfinished objects, at a maximum of 1
}
