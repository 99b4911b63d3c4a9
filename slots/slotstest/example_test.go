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
	model := slotstest.Config{Max: []int64{2}, Demands: []uint8{2}, Depth: 9, Deaf: true, Budget: slotstest.Budget{Finish: 1, Fault: 2}}
	fmt.Println(slotstest.Explore(model, slotstest.NewPlain))
	fmt.Println(slotstest.Explore(model, func(o slots.Options, maximum int64) slotstest.Loop {
		return impatientLoop{slotstest.NewPlain(o, maximum).(*slotstest.Plain)}
	}).Broken)
	// Output:
}
