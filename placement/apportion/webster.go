package apportion

import (
	"math"
	"math/bits"
)

// Webster divides the seats. It returns each party's share, without the seats it
// held before, and the seats that no party could take. Negative seats are none.
func Webster(seats int32, parties []Party) (shares []int32, left int32) {
	n := int64(max(0, seats))
	rest := n - min(n, room(parties))
	shares = make([]int32, len(parties))
	given := round(shares, n-rest, parties)
	q := queue{parties: parties, shares: shares, back: given > n-rest}
	q.correct(n - rest - given)
	return shares, int32(rest)
}

// room is how many seats the parties may take together.
func room(parties []Party) (sum int64) {
	for i := range parties {
		sum += parties[i].room()
	}
	return sum
}

// A line divides the tickets. Each party is due its exact quota of the seats, rounded to
// the nearest. These are the tickets with a quotient of at least weight / 2 seats, the first
// of the order.
type line struct {
	seats, weight uint64
}

// due is floor((2 w seats + weight) / (2 weight)), or if that does not fit,
// more than anyone may have.
func (l line) due(w int32) int64 {
	hi, lo := bits.Mul64(2*uint64(w), l.seats)
	lo, carry := bits.Add64(lo, l.weight, 0)
	if hi += carry; hi >= l.weight {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 2*l.weight)
	return int64(q)
}

// round gives every ticket down to a line, and returns their number, which is about n.
//
// Parties that hold more than they are due, or may have less, are outside the
// line. As Bitran and Hax do for the knapsack, the parties on the side that weighs more
// are settled for good, and the others are divided anew. Whatever the line is,
// the tickets are the first of the order; a number near n only saves
// time.
func round(shares []int32, n int64, parties []Party) (given int64) {
	free := make([]bool, len(parties))
	l := line{seats: uint64(n)}
	for i := range parties {
		if p := &parties[i]; p.Weight > 0 {
			free[i] = true
			l.weight += uint64(p.Weight)
			l.seats += uint64(p.held())
		}
	}
	for {
		var over, under int64
		given, over, under = l.assess(shares, free, parties)
		off := given - n
		if max(off, -off) <= int64(len(parties)) {
			return given
		}
		next := l.without(free, parties, over >= under)
		if next.weight == 0 || next == l {
			return given
		}
		l = next
	}
}

// assess sets the shares of the line. over and under are the seats by
// which the free parties are beyond their room, and below what they hold.
func (l line) assess(shares []int32, free []bool, parties []Party) (given, over, under int64) {
	for i := range parties {
		p := &parties[i]
		due, room := l.due(p.Weight)-p.held(), p.room()
		share := max(0, min(due, room))
		shares[i] = int32(share)
		given += share
		if free[i] {
			over += max(0, due-room)
			under += max(0, -due)
		}
	}
	return given, over, under
}

// without settles the free parties that are over, or under, and returns the line of the
// others.
func (l line) without(free []bool, parties []Party, over bool) line {
	next := l
	for i := range parties {
		p := &parties[i]
		if !free[i] {
			continue
		}
		end := p.held()
		due, room := l.due(p.Weight)-end, p.room()
		switch {
		case over && due > room:
			end += room
		case over || due >= 0:
			continue
		}
		free[i] = false
		next.weight -= uint64(p.Weight)
		next.seats -= min(next.seats, uint64(end))
	}
	return next
}
