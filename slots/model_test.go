package slots_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
	"github.com/scaledjob/scaledjob/slots/slotstest"
)

var deeper = flag.Int("model.depth", 0, "how much deeper than by default TestModel explores; with -short, by 2 less")

func configs() []slotstest.Config {
	type B = slotstest.Budget
	ended, foreign := slotstest.Finished, slotstest.Foreign
	starts := [][]slotstest.Held{nil, {ended}}
	return []slotstest.Config{
		{Name: "one", Max: []int64{1}, Demands: []uint8{1, 0}, Depth: 11, Initial: starts, Budget: B{Finish: 2, Fault: 2, Restart: 2, Relist: 1}},
		{Name: "half of L", Max: []int64{1}, Demands: []uint8{1, 0}, Ticks: 2, Depth: 11, Initial: starts, Budget: B{Finish: 1, Fault: 2, Restart: 1, Relist: 1}},
		{Name: "two", Max: []int64{2}, Demands: []uint8{2, 0}, Depth: 9, Initial: [][]slotstest.Held{nil, {ended}, {ended, ended}}, Budget: B{Finish: 2, Fault: 2, Restart: 2, Relist: 1}},
		{Name: "terms", Max: []int64{1}, Demands: []uint8{1, 0}, Depth: 11, Initial: starts, Budget: B{Finish: 1, Fault: 1, Restart: 1, Warm: 1, End: 1, Relist: 1}},
		orderly(),
		{Name: "deletions by others", Max: []int64{1}, Demands: []uint8{1, 0}, Depth: 10, Initial: [][]slotstest.Held{nil, {ended}, {foreign}}, Budget: B{Finish: 2, Fault: 1, Restart: 1, Stop: 1, External: 1, Hold: 1, Relist: 1}},
		{Name: "edits", Max: []int64{2, 1, 3}, Demands: []uint8{3}, Depth: 9, Initial: starts, Budget: B{Finish: 1, Fault: 1, Restart: 1, Edit: 2}},
		{Name: "polls that overlap", Max: []int64{1}, Demands: []uint8{1, 0}, Depth: 10, Initial: starts, Budget: B{Finish: 2, Fault: 1, Restart: 1, Overlap: 1}},
		{Name: "two writers", Writers: 2, Max: []int64{2, 1}, Demands: []uint8{2}, Depth: 7, Initial: starts, Budget: B{Finish: 1, Fault: 1, Restart: 1, Edit: 1}},
	}
}

// A term ends in order soon after another was killed.
func orderly() slotstest.Config {
	return slotstest.Config{
		Name: "orderly ends", Max: []int64{1}, Demands: []uint8{1}, Depth: 14, Initial: [][]slotstest.Held{{slotstest.Finished}},
		Budget: slotstest.Budget{Finish: 1, Restart: 1, End: 1},
	}
}

// What fails for ever, alone and with faults that end.
func persistent() (all []slotstest.Config) {
	type F = slotstest.Fault
	for _, result := range []slots.Result{slots.Unanswered, slots.Refused, slots.NoEffect} {
		name := map[slots.Result]string{slots.Unanswered: "never answered", slots.Refused: "refused for ever", slots.NoEffect: "without effect for ever"}[result]
		one := slotstest.Config{
			Max: []int64{2}, Demands: []uint8{2, 0}, Depth: 8, Initial: [][]slotstest.Held{nil, {slotstest.Finished}, {slotstest.Finished, slotstest.Finished}},
			Budget: slotstest.Budget{Finish: 1, Fault: 1, Restart: 1},
		}
		add := func(c slotstest.Config, what string, faults ...F) {
			c.Name, c.Faults = what+" "+name, faults
			all = append(all, c)
		}
		add(one, "deletes", F{Verb: slots.Delete, Result: result})
		add(one, "delete of 1", F{Verb: slots.Delete, Number: 1, Result: result})
		add(one, "create of 1", F{Verb: slots.Create, Number: 1, Result: result})
		add(one, "create of 1 and deletes", F{Verb: slots.Create, Number: 1, Result: result}, F{Verb: slots.Delete, Result: result})
		add(one, "delete of 1 never answered, create of 2", F{Verb: slots.Delete, Number: 1, Result: slots.Unanswered}, F{Verb: slots.Create, Number: 2, Result: result})
		if result == slots.Unanswered {
			add(one, "reads", F{Verb: slots.Read, Result: result})
		}
	}
	return all
}

// A fault that no request has would be a fault that is never explored.
func TestFaultOfNoRequest(t *testing.T) {
	for _, verb := range []slots.Verb{"", "Create", slots.List} {
		c := slotstest.Config{Max: []int64{1}, Demands: []uint8{1}, Depth: 1, Faults: []slotstest.Fault{{Verb: verb}}}
		require.Panics(t, func() { slotstest.Explore(c, slotstest.NewPlain) }, verb)
	}
}

func TestModel(t *testing.T) {
	states, began := 0, time.Now()
	for _, c := range append(configs(), persistent()...) {
		t.Run(c.Name, func(t *testing.T) {
			began := time.Now()
			if c.Depth += *deeper; testing.Short() {
				c.Depth -= 2
			}
			r := slotstest.Explore(c, slotstest.NewPlain)
			t.Logf("%s; %s", r, time.Since(began).Round(time.Millisecond))
			if states += r.States; r.Broken != "" {
				t.Fail()
			}
		})
	}
	t.Logf("%d states in %s", states, time.Since(began).Round(time.Millisecond))
}
