package apportion_test

// What the tests hold:
//
//	I1, I2 and I9                                             TestI1
//	I3, I5 and I7                                             TestI3, TestI5, TestI7
//	the shares of the definition, taken ticket by ticket      TestOracle

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/test/premise"
)

// leastShare is the least share of draws in which each premise of a property holds.
const leastShare = 0.05

func TestOracle(t *testing.T) {
	premise.Check(t, propOracle, premise.Least{"a cap binds": leastShare, "seats are held": leastShare})
}
func FuzzOracle(f *testing.F) { premise.Fuzz(f, propOracle) }
func TestI1(t *testing.T) {
	premise.Check(t, propExactSum, premise.Least{
		"seats are left": leastShare, "a cap binds": leastShare, "all seats are given": leastShare, "a party without weight, and seats": leastShare,
	})
}
func FuzzI1(f *testing.F) { premise.Fuzz(f, propExactSum) }
func TestI3(t *testing.T) {
	premise.Check(t, propHouseMonotone, premise.Least{"a party grows": leastShare, "a cap binds": leastShare})
}
func FuzzI3(f *testing.F) { premise.Fuzz(f, propHouseMonotone) }
func TestI5(t *testing.T) {
	premise.Check(t, propPopulationMonotone, premise.Least{"its share grows": leastShare})
}
func FuzzI5(f *testing.F) { premise.Fuzz(f, propPopulationMonotone) }
func TestI7(t *testing.T) {
	premise.Check(t, propOrderOfParties, premise.Least{"seats, and another order": leastShare})
}
func FuzzI7(f *testing.F) { premise.Fuzz(f, propOrderOfParties) }

// The ways in which numbers are drawn: few and small, so that ties and caps that
// bind are common; large; and anything an int32 can be.
var numbers = []*rapid.Generator[int32]{
	rapid.Int32Range(0, 6),
	rapid.Int32Range(0, 1000),
	rapid.OneOf(rapid.Int32(), rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32 - 1, math.MaxInt32})),
}

// drawParties draws parties with numbers of one kind, some with seats held, and
// some with caps.
func drawParties(t *rapid.T, number *rapid.Generator[int32], most int) []apportion.Party {
	held, capped := rapid.Bool().Draw(t, "some hold seats"), rapid.Bool().Draw(t, "some have caps")
	ranked := rapid.Bool().Draw(t, "they have ranks")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) apportion.Party {
		p := apportion.Party{Weight: number.Draw(t, "weight")}
		if ranked {
			p.Rank = rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "rank")
		}
		if held {
			p.Held = number.Draw(t, "held")
		}
		if capped && rapid.Bool().Draw(t, "capped") {
			p.Cap, p.Capped = number.Draw(t, "cap"), true
		}
		return p
	}), 0, most).Draw(t, "parties")
}

// drawPlain draws parties with weights alone, at least one of them above 0.
func drawPlain(t *rapid.T, number *rapid.Generator[int32]) []apportion.Party {
	parties := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) apportion.Party {
		return apportion.Party{Weight: number.Draw(t, "weight")}
	}), 1, 12).Draw(t, "parties")
	i := rapid.IntRange(0, len(parties)-1).Draw(t, "who has weight")
	parties[i].Weight = max(1, parties[i].Weight)
	return parties
}

func total(shares []int32) (sum int64) {
	for _, s := range shares {
		sum += int64(s)
	}
	return sum
}

// webster checks that nothing is left and returns the shares.
func webster(t *rapid.T, seats int32, parties []apportion.Party) []int32 {
	shares, left := apportion.Webster(seats, parties)
	if left != 0 || total(shares) != int64(max(0, seats)) {
		t.Fatalf("%d seats: %v, %d left", seats, shares, left)
	}
	return shares
}

// binds reports whether a party has the most seats that it may have, and seats are given.
func binds(parties []apportion.Party, shares []int32) bool {
	for i, p := range parties {
		if p.Weight > 0 && p.Capped && int64(max(0, p.Held))+int64(shares[i]) >= int64(p.Cap) {
			return total(shares) > 0
		}
	}
	return false
}

// The same shares as ticket by ticket.
func propOracle(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom(numbers).Draw(t, "numbers")
	parties := drawParties(t, number, 12)
	seats := rapid.Int32Range(-1, 150).Draw(t, "seats")
	got, left := apportion.Webster(seats, parties)
	var want house
	for want = range definition(parties, int(max(0, seats))) {
	}
	if !slices.Equal(got, want.shares) || left != want.left {
		t.Fatalf("%v, %d left: want %v, %d left", got, left, want.shares, want.left)
	}
	c.Note("a cap binds", binds(parties, got))
	c.Note("seats are held", total(got) > 0 && slices.ContainsFunc(parties, func(p apportion.Party) bool { return p.Weight > 0 && p.Held > 0 }))
}

// Shares and what is left are the seats, something is left only where nobody has room, and
// without weight there is no share. Equal arguments have equal results, whatever was divided
// between, and are not modified.
func propExactSum(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom(numbers).Draw(t, "numbers")
	parties, seats := drawParties(t, number, 12), number.Draw(t, "seats")
	before := slices.Clone(parties)
	shares, left := apportion.Webster(seats, parties)
	kept := slices.Clone(shares)
	apportion.Webster(number.Draw(t, "seats between"), drawParties(t, number, 12))
	again, leftAgain := apportion.Webster(seats, parties)
	if !slices.Equal(shares, kept) || !slices.Equal(again, kept) || left != leftAgain || !slices.Equal(parties, before) {
		t.Fatalf("%v, %d left: again %v, %d left; %v became %v", shares, left, again, leftAgain, before, parties)
	}
	if len(shares) != len(parties) || left < 0 || total(shares)+int64(left) != int64(max(0, seats)) {
		t.Fatalf("%v, %d left", shares, left)
	}
	without := false
	for i, p := range parties {
		has := int64(max(0, p.Held)) + int64(shares[i])
		if without = without || p.Weight <= 0; shares[i] < 0 || shares[i] > 0 && p.Weight <= 0 {
			t.Fatalf("%v", shares)
		}
		if p.Capped && shares[i] > 0 && has > int64(p.Cap) {
			t.Fatalf("%v: party %d has %d seats", shares, i, has)
		}
		if left > 0 && p.Weight > 0 && (!p.Capped || has < int64(p.Cap)) {
			t.Fatalf("%v, %d left: party %d has room", shares, left, i)
		}
	}
	c.Note("seats are left", left > 0)
	c.Note("a cap binds", binds(parties, shares))
	c.Note("all seats are given", seats > 0 && left == 0)
	c.Note("a party without weight, and seats", without && total(shares) > 0)
}

// One seat more is one seat more for one party, caps and seats held or not.
func propHouseMonotone(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom(numbers).Draw(t, "numbers")
	parties, seats := drawParties(t, number, 12), min(number.Draw(t, "seats"), math.MaxInt32-1)
	if seats < 0 {
		return
	}
	before, _ := apportion.Webster(seats, parties)
	after, _ := apportion.Webster(seats+1, parties)
	grown := int32(0)
	for i := range before {
		if after[i] < before[i] {
			t.Fatalf("%v, then %v", before, after)
		}
		grown += after[i] - before[i]
	}
	if grown > 1 {
		t.Fatalf("%v, then %v", before, after)
	}
	c.Note("a party grows", grown > 0)
	c.Note("a cap binds", grown > 0 && binds(parties, after))
}

func propPopulationMonotone(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom(numbers).Draw(t, "numbers")
	parties, seats := drawPlain(t, number), number.Draw(t, "seats")
	who := rapid.IntRange(0, len(parties)-1).Draw(t, "who")
	before := webster(t, seats, parties)
	parties[who].Weight = rapid.Int32Range(max(0, parties[who].Weight), math.MaxInt32).Draw(t, "more weight")
	after := webster(t, seats, parties)
	for i := range parties {
		if i == who && after[i] < before[i] || i != who && after[i] > before[i] {
			t.Fatalf("%v, with more weight for party %d %v", before, who, after)
		}
	}
	c.Note("its share grows", after[who] > before[who])
}

// In another order parties have the same shares, but that equal ones may have
// changed places.
func propOrderOfParties(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom(numbers).Draw(t, "numbers")
	parties, seats := drawParties(t, number, 12), number.Draw(t, "seats")
	other := rapid.Permutation(parties).Draw(t, "other order")
	type outcome struct {
		party apportion.Party
		share int32
	}
	count := func(parties []apportion.Party) map[outcome]int {
		shares, left := apportion.Webster(seats, parties)
		n := map[outcome]int{{share: left}: 1}
		for i, p := range parties {
			// Among equal weights a tie may go either way; what is the same is how many
			// have how many seats in the end.
			n[outcome{apportion.Party{Weight: p.Weight}, max(0, p.Held) + shares[i]}]++
		}
		return n
	}
	a, b := count(parties), count(other)
	for o, n := range a {
		if b[o] != n {
			t.Fatalf("%d of %v in one order, %d in another", n, o, b[o])
		}
	}
	shares, _ := apportion.Webster(seats, parties)
	c.Note("seats, and another order", !slices.Equal(parties, other) && total(shares) > 0)
}
