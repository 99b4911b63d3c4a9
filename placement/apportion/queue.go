package apportion

import "container/heap"

// A queue is a heap of one ticket of each party. To give seats it holds the next
// ticket of each that has room, the first of the order on top; to take seats
// back, the last ticket given to each, the last of the order on top.
type queue struct {
	parties []Party
	shares  []int32
	heap    []int32 // indexes of parties
	back    bool
}

// correct gives n seats, or takes -n back.
func (q *queue) correct(n int64) {
	if n == 0 {
		return
	}
	q.fill()
	for n = max(n, -n); n > 0 && len(q.heap) > 0; n-- {
		q.move()
	}
}

// fill makes the heap of all parties that have a ticket for it.
func (q *queue) fill() {
	for i := range q.parties {
		if q.has(int32(i)) {
			q.heap = append(q.heap, int32(i))
		}
	}
	heap.Init(q)
}

// move gives a seat to the party on top, or takes it back.
func (q *queue) move() {
	top := q.heap[0]
	if q.back {
		q.shares[top]--
	} else {
		q.shares[top]++
	}
	if !q.has(top) {
		q.pop()
		return
	}
	heap.Fix(q, 0)
}

// pop removes the party on top.
func (q *queue) pop() int32 {
	top, last := q.heap[0], len(q.heap)-1
	q.Swap(0, last)
	q.heap = q.heap[:last]
	if last > 0 {
		heap.Fix(q, 0)
	}
	return top
}

// push adds a party.
func (q *queue) push(party int32) {
	q.heap = append(q.heap, party)
	heap.Fix(q, len(q.heap)-1)
}

func (q *queue) Len() int           { return len(q.heap) }
func (q *queue) Less(i, j int) bool { return q.above(q.heap[i], q.heap[j]) }
func (q *queue) Swap(i, j int)      { q.heap[i], q.heap[j] = q.heap[j], q.heap[i] }

// Push and Pop are not called: pop and push use Fix, which does not allocate.
func (q *queue) Push(any) {}
func (q *queue) Pop() any { return nil }

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
// and k, at most what a party holds and what it is given, below 2^32.
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
