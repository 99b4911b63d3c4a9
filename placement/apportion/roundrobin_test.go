package apportion_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scaledjob/scaledjob/placement/apportion"
	"github.com/scaledjob/scaledjob/test/premise"
)

func robin(weights ...int32) apportion.RoundRobin {
	r := make(apportion.RoundRobin, len(weights))
	for i, w := range weights {
		r[i].Weight = w
	}
	return r
}

// play gives n seats, of which none stays held.
func play(r apportion.RoundRobin, n int) (given []int) {
	given = make([]int, len(r))
	for range n {
		party, _ := r.Next(nil)
		r[party].Held--
		given[party]++
	}
	return given
}

// Many owners with a seat each: the first seats follow the weights.
func TestStart(t *testing.T) {
	for _, weights := range [][]int32{{2, 1}, {1, 1}, {5, 3, 2}, {1, 100}, {1_000_000, 3_000_000}, {math.MaxInt32, math.MaxInt32}} {
		const owners = 20_000
		var sum float64
		for _, w := range weights {
			sum += float64(w)
		}
		first := make([]int, len(weights))
		for i := range owners {
			r := robin(weights...)
			r.Start(fmt.Sprintf("team/etl-%d", i))
			party, _ := r.Next(nil)
			first[party]++
		}
		for i, w := range weights {
			require.InDelta(t, float64(w)/sum, float64(first[i])/owners, 0.015, "%v: %v", weights, first)
		}
	}
	r := robin(2, 3)
	r.Start("")
	require.Equal(t, robin(2, 3), r, "without a seed the cycle begins at its beginning")
}

func TestNobodyMayTakeASeat(t *testing.T) {
	for _, r := range []apportion.RoundRobin{nil, robin(0, -1), {{Weight: 1, Capped: true}}} {
		before := slices.Clone(r)
		_, ok := r.Next(nil)
		require.False(t, ok)
		require.Equal(t, before, r)
		r.Start("seed")
	}
	_, ok := robin(1).Next(func(int) bool { return true })
	require.False(t, ok)
}

func drawWeights(t *rapid.T) []int32 {
	weight := rapid.OneOf(rapid.Int32Range(1, 6), rapid.Int32Range(1, 100), rapid.SampledFrom([]int32{1, 1000, math.MaxInt32}))
	return rapid.SliceOfN(weight, 1, rapid.SampledFrom([]int{2, 3, 5, 64}).Draw(t, "most parties")).Draw(t, "weights")
}

// share returns the exact share of party i of n seats.
func share(weights []int32, i, n int) float64 {
	var sum float64
	for _, w := range weights {
		sum += float64(w)
	}
	return float64(n) * float64(weights[i]) / sum
}

// Over any n seats of a trickle, from any position of the cycle, each party is within 2 of its share.
func propTrickle(t *rapid.T, c *premise.Counts) {
	weights := drawWeights(t)
	r := robin(weights...)
	r.Start(rapid.SampledFrom([]string{"", "a", "b", "team/etl"}).Draw(t, "seed"))
	play(r, rapid.IntRange(0, 200).Draw(t, "seats before"))
	n := rapid.IntRange(1, 300).Draw(t, "seats")
	for i, given := range play(r, n) {
		if want := share(weights, i, n); math.Abs(float64(given)-want) > 2 {
			t.Fatalf("%v: party %d has %d of %d, its share is %.2f", weights, i, given, n, want)
		}
	}
	c.Note("a choice", len(weights) > 1)
}

func TestTrickle(t *testing.T) { premise.Check(t, propTrickle, premise.Least{"a choice": 0.5}) }
func FuzzTrickle(f *testing.F) { premise.Fuzz(f, propTrickle) }
func TestHanging(t *testing.T) {
	premise.Check(t, propHanging, premise.Least{"it hangs": 0.5, "it returns": 0.3})
}
func FuzzHanging(f *testing.F) { premise.Fuzz(f, propHanging) }
func TestRoundRobin(t *testing.T) {
	premise.Check(t, propRoundRobin, premise.Least{"credit decides": 0.2, "avoided": 0.3, "no party may take a seat": 0.05, "capped": 0.1})
}
func FuzzRoundRobin(f *testing.F) { premise.Fuzz(f, propRoundRobin) }

// A party that gives no seat back gets a seat only while it holds fewer than its share of the seats
// that are held then, rounded up. When it gives all back, it does not catch up: over the next
// seats it has its share, within 2.
func propHanging(t *rapid.T, c *premise.Counts) {
	weights := drawWeights(t)
	r, random := robin(weights...), rapid.IntRange(0, len(weights)-1)
	hangs := random.Draw(t, "hangs")
	for range rapid.IntRange(1, 100).Draw(t, "seats") {
		party, _ := r.Next(nil)
		var held, sum float64
		for i := range r {
			held, sum = held+float64(r[i].Held), sum+float64(weights[i])
		}
		if float64(r[party].Held-1)*sum >= float64(weights[party])*held {
			t.Fatalf("%v: party %d holds %d of %v", weights, party, r[party].Held, held)
		}
		if i := random.Draw(t, "gives back"); i != hangs {
			r[i].Held = 0
		}
	}
	c.Note("it hangs", r[hangs].Held > 0)
	for i := range r {
		r[i].Held = 0
	}
	n := rapid.IntRange(1, 100).Draw(t, "seats after")
	for i, given := range play(r, n) {
		if want := share(weights, i, n); float64(given) > want+2 {
			t.Fatalf("%v: party %d catches up: %d of %d, its share is %.2f", weights, i, given, n, want)
		}
	}
	c.Note("it returns", len(weights) > 1)
}

// Each seat goes where the definition gives it, which is written down here once more in
// rational numbers.
func propRoundRobin(t *rapid.T, c *premise.Counts) {
	number := rapid.SampledFrom(numbers).Draw(t, "numbers")
	parties := drawParties(t, number, 6)
	decides, closed, none, capped := false, false, false, false
	credits := make([]*big.Int, len(parties))
	for i := range parties {
		parties[i].Credit = int64(number.Draw(t, "credit"))
		credits[i] = big.NewInt(parties[i].Credit)
		capped = capped || parties[i].Capped
	}
	r := apportion.RoundRobin(slices.Clone(parties))
	for range rapid.IntRange(1, 12).Draw(t, "seats") {
		avoided := rapid.SliceOfN(rapid.IntRange(0, 3), len(parties), len(parties)).Draw(t, "avoided")
		want, byCredit := definedTurn(parties, credits, func(i int) bool { return avoided[i] == 0 })
		party, ok := r.Next(func(i int) bool { return avoided[i] == 0 })
		if ok != (want >= 0) || (ok && party != want) {
			t.Fatalf("%d %v, want %d: %+v, credits %v", party, ok, want, parties, credits)
		}
		none = none || !ok
		decides, closed = decides || byCredit, closed || (ok && slices.Contains(avoided, 0))
		if ok {
			parties[want].Held = int32(min(int64(max(0, parties[want].Held))+1, math.MaxInt32))
		}
	}
	c.Note("credit decides", decides)
	c.Note("avoided", closed)
	c.Note("no party may take a seat", none)
	c.Note("capped", capped)
}

// definedTurn returns the party of the next seat, or -1, and changes the credits. byCredit
// reports whether there was another candidate.
func definedTurn(parties []apportion.Party, credits []*big.Int, avoid func(int) bool) (chosen int, byCredit bool) {
	number := func(n int64) *big.Int { return big.NewInt(n) }
	held := func(i int) int64 { return int64(max(0, parties[i].Held)) }
	var open []int
	sum, weights, added := number(0), number(0), number(0)
	for i, p := range parties {
		full := p.Capped && held(i) >= int64(p.Cap)
		if p.Weight > 0 && !full && !avoid(i) {
			open = append(open, i)
			sum.Add(sum, number(held(i)))
			weights.Add(weights, number(int64(p.Weight)))
		}
	}
	if len(open) == 0 {
		return -1, false
	}
	bound := func() {
		for i := range credits {
			if credits[i].CmpAbs(weights) > 0 {
				credits[i] = new(big.Int).Mul(weights, number(int64(credits[i].Sign())))
			}
		}
	}
	bound() // the weights may have been others before
	sum.Add(sum, number(1))
	var candidates []int
	for i, p := range parties {
		weight := number(max(0, int64(p.Weight)))
		below := new(big.Int).Mul(number(held(i)), weights).Cmp(new(big.Int).Mul(weight, sum)) < 0
		candidate := slices.Contains(open, i) && below
		if more := new(big.Int).Add(credits[i], weight); candidate || more.Cmp(weights) <= 0 {
			credits[i] = more
			added.Add(added, weight)
		}
		if candidate {
			candidates = append(candidates, i)
		}
	}
	if credited := slices.DeleteFunc(slices.Clone(candidates), func(i int) bool { return credits[i].Sign() <= 0 }); len(credited) > 0 {
		candidates = credited
	}
	due := func(i int) *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).Sub(weights, credits[i]), number(int64(parties[i].Weight)))
	}
	chosen = slices.MinFunc(candidates, func(i, k int) int { return due(i).Cmp(due(k)) })
	credits[chosen] = new(big.Int).Sub(credits[chosen], added)
	bound()
	return chosen, len(candidates) > 1
}
