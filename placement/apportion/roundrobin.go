package apportion

import (
	"math"
	"math/bits"
)

// A RoundRobin gives seats one by one, to parties that also give seats back: the seats given
// follow the weights, and so do those that are held. The zero value has no party.
//
// R is the number of seats that the parties hold, and W the sum of their weights. For each seat:
//
//	the candidates     parties below their share of R + 1 seats: Held * W < Weight * (R + 1)
//	credit is added    its weight to each candidate, and to the others while they have at most W
//	the seat goes to   the candidate with the smallest (W - Credit) / Weight of those with
//	                   credit, or of all if none has any; of equals, to the first
//	it pays            what was added to all
//	at the end         each credit is at least -W and at most W
//
// R and W count the parties that may take the seat: those with weight, below their cap, and
// not avoided. If no seat stays held, each party is within 2 of its share of any n seats. A
// party that gives no seat back never holds more than its share of those held, rounded up.
type RoundRobin []Party

// Next gives the next seat to a party that avoid does not report, and returns its index. It
// changes Held and Credit of the parties. If no party may take the seat, ok is false. avoid
// may be nil. The cost grows with the number of parties.
func (r RoundRobin) Next(avoid func(party int) bool) (party int, ok bool) {
	open := func(i int) bool { return r[i].room() > 0 && (avoid == nil || !avoid(i)) }
	var held, weights, added int64
	for i := range r {
		if open(i) {
			held, weights = held+r[i].held(), weights+int64(r[i].Weight)
		}
	}
	if weights == 0 {
		return 0, false
	}
	party = -1
	for i := range r {
		p, weight := &r[i], int64(max(0, r[i].Weight))
		p.Credit = clamp(p.Credit, weights)
		candidate := open(i) && product(p.held(), weights).less(product(weight, held+1))
		if candidate || p.Credit+weight <= weights {
			p.Credit += weight
			added += weight
		}
		if candidate && (party < 0 || r.sooner(i, party, weights)) {
			party = i
		}
	}
	r[party].Held, r[party].Credit = int32(min(r[party].held()+1, math.MaxInt32)), r[party].Credit-added
	for i := range r {
		r[i].Credit = clamp(r[i].Credit, weights)
	}
	return party, true
}

// sooner reports whether candidate i comes before candidate k, which has a lower index.
func (r RoundRobin) sooner(i, k int, weights int64) bool {
	if credited := r[i].Credit > 0; credited != (r[k].Credit > 0) {
		return credited
	}
	due := func(i int) int64 { return weights - r[i].Credit + int64(r[i].Weight) } // at least 0; the term of the weight adds 1 to each quotient
	return product(due(i), int64(r[k].Weight)).less(product(due(k), int64(r[i].Weight)))
}

func clamp(credit, limit int64) int64 { return max(-limit, min(credit, limit)) }

// maxPosition bounds the steps of Start. The share of starts at which a party comes first is
// within 1 / maxPosition of its weight.
const maxPosition = 4096

// Start sets the credits to those of a position in the cycle of the weights: that of the seed,
// or the first if the seed is empty. Of many owners with a seat each and seeds of their own,
// the first seats then follow the weights.
func (r RoundRobin) Start(seed string) {
	cycle, weights := make(RoundRobin, len(r)), uint64(0)
	for i := range r {
		cycle[i].Weight = r[i].Weight
		weights += uint64(max(0, r[i].Weight))
	}
	for range Rank(seed, "") % max(1, min(weights, maxPosition)) {
		party, _ := cycle.Next(nil)
		cycle[party].Held = 0
	}
	for i := range r {
		r[i].Credit = cycle[i].Credit
	}
}

// A wide is a product of two numbers of 0 or more.
type wide struct{ high, low uint64 }

func product(a, b int64) wide {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return wide{high, low}
}

func (w wide) less(other wide) bool {
	if w.high != other.high {
		return w.high < other.high
	}
	return w.low < other.low
}
