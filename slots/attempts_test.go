package slots_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scaledjob/scaledjob/slots"
)

// The cost of an item does not depend on Retries, and neither attempts nor their sum overflow.
func TestManyRetries(t *testing.T) {
	for _, test := range []struct {
		name           string
		item, retries  int64
		attempts, next []int64 // that have failed; the next one, if there is one
	}{
		{"no object", 0, math.MaxInt64, nil, []int64{0}},
		{"one failed", 1, math.MaxInt64, []int64{1}, []int64{2}},
		{"the newest counts", 3, math.MaxInt64, []int64{5, 4}, []int64{6}},
		{"before the item's attempt", 3, math.MaxInt64, []int64{2}, []int64{3}},
		{"none is left", 3, 2, []int64{5}, nil},
		{"after the last", 3, 2, []int64{7}, nil},
		{"the highest", math.MaxInt64 - 1, math.MaxInt64, []int64{math.MaxInt64}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
			s := slots.New(slots.Options{Keyed: true, Clean: true, Start: now})
			var shown []slots.Object
			for _, n := range test.attempts {
				shown = append(shown, slots.Object{Slot: slots.Slot{Key: "a", Number: n}, UID: string(rune('a' + len(shown))), Finished: true, Failed: true})
			}
			s.Replace(shown, now)
			w := slots.Want{Create: 1, Max: 1, Items: []slots.Slot{{Key: "a", Number: test.item}}, List: s.Listing(), Retries: test.retries}
			require.EqualValues(t, len(test.next), s.Waiting(w))
			s.Want(w, now)
			var next []int64
			for _, q := range s.Next(now) {
				next = append(next, q.Slot.Number)
			}
			require.Equal(t, test.next, next)
			held := ""
			for _, h := range s.Holds(w, now) {
				held += h.Rule
			}
			require.Equal(t, len(test.next) == 0, held == "stillThere", held)
		})
	}
}
