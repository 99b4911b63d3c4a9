package apportion

// A queue is a heap of a ticket of each party. To give seats it holds the next
// ticket of each that has room, the first of the order on top; to take seats
// back, the last ticket given to each, the last of the order on top.
type queue struct {
	parties []Party
	shares  []int32
	heap    []int32 // indexes of parties
	back    bool
}

// correct gives n seats, or takes -n back. The parties have room for them, or have them.
func (q *queue) correct(n int64) {
	q.fill()
	for range max(n, -n) {
		q.move()
	}
}

// fill makes the heap of all parties that have a ticket for it.
func (q *queue) fill() {
	for i := range q.parties {
		if q.has(int32(i)) {
			q.push(int32(i))
		}
	}
}

// move gives a seat to the party on top, or takes it back.
func (q *queue) move() {
	top := q.heap[0]
	if q.back {
		q.shares[top]--
	} else {
		q.shares[top]++
	}
	if q.has(top) {
		q.down()
	} else {
		q.pop()
	}
}

// pop removes the party on top.
func (q *queue) pop() int32 {
	top, last := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	q.down()
	return top
}

// push adds a party.
func (q *queue) push(party int32) {
	i := len(q.heap)
	q.heap = append(q.heap, party)
	for parent := (i - 1) / 2; i > 0 && q.above(party, q.heap[parent]); parent = (i - 1) / 2 {
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = party
}

// down moves the party on top down to its place.
func (q *queue) down() {
	if len(q.heap) == 0 {
		return
	}
	moved, i := q.ticket(q.heap[0]), 0
	for child := 1; child < len(q.heap); child = 2*i + 1 {
		best := q.ticket(q.heap[child])
		if child+1 < len(q.heap) {
			if other := q.ticket(q.heap[child+1]); other.before(best) != q.back {
				best, child = other, child+1
			}
		}
		if best.before(moved) == q.back {
			break
		}
		q.heap[i] = best.party
		i = child
	}
	q.heap[i] = moved.party
}

// has reports whether the party has a ticket for the queue.
func (q *queue) has(i int32) bool {
	if q.back {
		return q.shares[i] > 0
	}
	return int64(q.shares[i]) < q.parties[i].room()
}

// above reports whether i is nearer to the top than j, which is another party.
func (q *queue) above(i, j int32) bool {
	return q.ticket(i).before(q.ticket(j)) != q.back
}

func (q *queue) ticket(i int32) ticket {
	k := q.parties[i].held() + int64(q.shares[i])
	if q.back {
		k--
	}
	return ticket{uint64(q.parties[i].Weight), uint64(k), q.parties[i].Rank, i}
}

// A ticket is a party's seat number k+1.
type ticket struct {
	weight, k, rank uint64
	party           int32
}

// before is the order of tickets. The products are exact: a weight is below 2^31,
// and k, at most the seats of a party, held and given, below 2^32.
func (t ticket) before(u ticket) bool {
	if a, b := t.weight*(2*u.k+1), u.weight*(2*t.k+1); a != b {
		return a > b
	}
	if t.k != u.k {
		return t.k < u.k
	}
	if t.rank != u.rank {
		return t.rank < u.rank
	}
	return t.party < u.party
}
