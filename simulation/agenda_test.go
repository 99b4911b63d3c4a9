package simulation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/test/premise"
)

func TestAgenda(t *testing.T) { rapid.Check(t, propAgenda) }
func FuzzAgenda(f *testing.F) { premise.Seeded(f, propAgenda) }

// Entries come by time, then by duty, then in the order in which they were made, as from
// a list that is searched.
func propAgenda(t *rapid.T) {
	var a agenda
	var list []entry
	for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
		if rapid.IntRange(0, 2).Draw(t, "step") > 0 {
			at, d := Duration(rapid.Int64Range(0, 5).Draw(t, "at")), duty(rapid.Uint8Range(0, uint8(dutyPoll)).Draw(t, "duty"))
			a.add(entry{at: at, index: int32(i)}, d)
			list = append(list, entry{at: at, order: uint64(d), index: int32(i)})
			continue
		}
		got, ok := a.next()
		if ok != (len(list) > 0) {
			t.Fatalf("%v with %d entries", ok, len(list))
		}
		if !ok {
			continue
		}
		first := 0
		for k, e := range list {
			if e.at < list[first].at || e.at == list[first].at && e.order < list[first].order {
				first = k
			}
		}
		if want := list[first]; got.at != want.at || got.duty() != duty(want.order) || got.index != want.index {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		list = slices.Delete(list, first, first+1)
	}
}
