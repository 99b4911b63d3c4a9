package apportion

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/premise"
)

// What round gives is right up to one seat a party, so that few seats are given one by one.
func propNear(t *rapid.T, c *premise.Counts) {
	most := rapid.SampledFrom([]int32{3, 1000, math.MaxInt32}).Draw(t, "most")
	number := rapid.Int32Range(0, most)
	parties := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Party {
		return Party{Weight: number.Draw(t, "weight"), Held: number.Draw(t, "held"), Cap: number.Draw(t, "cap"), Capped: rapid.Bool().Draw(t, "capped")}
	}), 1, 12).Draw(t, "parties")
	n := min(int64(number.Draw(t, "seats")), room(parties))
	shares := make([]int32, len(parties))
	given := round(shares, n, parties)
	sum := int64(0)
	for i, s := range shares {
		if sum += int64(s); s < 0 || int64(s) > parties[i].room() {
			t.Fatalf("party %d: %d of %d", i, s, parties[i].room())
		}
	}
	if off := given - n; sum != given || max(off, -off) > int64(len(parties)) {
		t.Fatalf("%d given, in sum %d, of %d: %v", given, sum, n, shares)
	}
	c.Note("more than a seat a party", n > int64(len(parties)))
	c.Note("too many", given > n)
	c.Note("too few", given < n)
}

func TestNear(t *testing.T) {
	premise.Check(t, propNear, premise.Least{"more than a seat a party": 0.2, "too many": 0.02, "too few": 0.02})
}
func FuzzNear(f *testing.F) { premise.Fuzz(f, propNear) }

// A line that is near enough is not changed: the next would be half a billion seats away.
func TestNearEnough(t *testing.T) {
	parties := []Party{{Weight: 1, Held: 1}, {Weight: 1, Held: 2}, {Weight: 3, Held: 6}, {Weight: 5, Held: 11}, {Weight: 1101273666}}
	shares := make([]int32, len(parties))
	if given := round(shares, math.MaxInt32, parties); given < math.MaxInt32-5 || given > math.MaxInt32+5 {
		t.Errorf("%d given: %v", given, shares)
	}
}

// due rounds to the nearest, half a seat up, and is exact for the largest numbers.
func TestDue(t *testing.T) {
	for _, test := range []struct {
		seats, weight uint64
		w             int32
		want          int64
	}{
		{7, 2, 1, 4}, {5, 10, 4, 2}, {5, 10, 6, 3}, {5, 10, 5, 3}, {5, 10, 1, 1}, {4, 10, 1, 0}, {0, 3, 1, 0},
		{1 << 62, 1 << 31, math.MaxInt32, 1<<62 - 1<<31}, {1 << 62, math.MaxInt32, math.MaxInt32, 1 << 62},
		{math.MaxUint64, 1, math.MaxInt32, math.MaxInt64}, {math.MaxUint64, 2, 1, math.MaxInt64},
		{1 << 33, 1 << 31, math.MaxInt32, 1<<33 - 4},
	} {
		if got := (line{test.seats, test.weight}).due(test.w); got != test.want {
			t.Errorf("%+v: got %d", test, got)
		}
	}
}
