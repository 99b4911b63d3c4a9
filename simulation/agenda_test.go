package simulation

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/test/premise"
)

func TestAgenda(t *testing.T) { rapid.Check(t, propAgenda) }
func FuzzAgenda(f *testing.F) { premise.Seeded(f, propAgenda) }
func TestDeque(t *testing.T)  { rapid.Check(t, propDeque) }
func FuzzDeque(f *testing.F)  { premise.Seeded(f, propDeque) }

// Entries come by time, then by duty, then in the order in which they were made, as from
// a list that is searched.
func propAgenda(t *rapid.T) {
	var a agenda
	var list []entry
	for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
		if rapid.IntRange(0, 2).Draw(t, "step") > 0 {
			at, d := Duration(rapid.Int64Range(0, 5).Draw(t, "at")), duty(rapid.Uint8Range(0, uint8(dutyPoll)).Draw(t, "duty"))
			a.add(at, d, int32(i), uint32(i))
			list = append(list, entry{at: at, order: uint64(d), slot: int32(i), epoch: uint32(i)})
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
		if want := list[first]; got.at != want.at || got.duty() != duty(want.order) || got.slot != want.slot || got.epoch != want.epoch {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		list = slices.Delete(list, first, first+1)
	}
}

// A deque is a slice.
func propDeque(t *rapid.T) {
	var d deque[int]
	var list []int
	for i := range rapid.IntRange(0, 100).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "step") {
		case 0:
			d.pushFront(i)
			list = slices.Insert(list, 0, i)
		case 1:
			if len(list) > 0 {
				if got := d.popFront(); got != list[0] {
					t.Fatalf("got %d, want %d", got, list[0])
				}
				list = list[1:]
			}
		default:
			d.pushBack(i)
			list = append(list, i)
		}
		for k, want := range list {
			if d.n != len(list) || d.peek(k) != want {
				t.Fatalf("%d of %d at %d, want %v", d.peek(k), d.n, k, list)
			}
		}
	}
}
