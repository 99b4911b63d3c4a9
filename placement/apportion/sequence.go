package apportion

import "container/heap"

// A Sequence gives single seats, in the order of the tickets. The zero value
// has no party.
type Sequence struct {
	heap   tickets // the next ticket of each party that may take another seat
	passed []ticket
}

// NewSequence returns a sequence of the seats of the parties.
func NewSequence(parties []Party) *Sequence {
	return after(make([]int32, len(parties)), parties)
}

// after returns the sequence of the seats after the shares.
func after(shares []int32, parties []Party) *Sequence {
	s := &Sequence{heap: make(tickets, 0, len(parties))}
	for i := range parties {
		p := &parties[i]
		if left := p.room() - int64(shares[i]); left > 0 {
			k := p.held() + int64(shares[i])
			s.heap = append(s.heap, ticket{uint64(p.Weight), uint64(k), uint64(k + left), p.Rank, int32(i)})
		}
	}
	heap.Init(&s.heap)
	return s
}

// Next gives the next seat to the first party of the order that avoid does not report,
// and returns its index. If no party may take it, ok is false. avoid may be nil.
//
// The cost grows with the logarithm of the number of parties, and with the number of
// parties that avoid reports.
func (s *Sequence) Next(avoid func(party int) bool) (party int, ok bool) {
	s.passed = s.passed[:0]
	for avoid != nil && len(s.heap) > 0 && avoid(int(s.heap[0].party)) {
		s.passed = append(s.passed, heap.Pop(&s.heap).(ticket))
	}
	if ok = len(s.heap) > 0; ok {
		top := &s.heap[0]
		party = int(top.party)
		if top.k++; top.k == top.end {
			heap.Pop(&s.heap)
		} else {
			heap.Fix(&s.heap, 0)
		}
	}
	for _, t := range s.passed {
		heap.Push(&s.heap, t)
	}
	return party, ok
}

// Full reports whether no party may take another seat.
func (s *Sequence) Full() bool { return len(s.heap) == 0 }

// tickets is a heap.
type tickets []ticket

func (t tickets) Len() int           { return len(t) }
func (t tickets) Less(i, j int) bool { return t[i].before(&t[j]) }
func (t tickets) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *tickets) Push(x any)        { *t = append(*t, x.(ticket)) }

// Pop removes the last ticket.
func (t *tickets) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// A ticket is a party's seat number k+1.
type ticket struct {
	weight, k uint64
	end       uint64 // the party has no ticket from this k on
	rank      uint64
	party     int32
}

// before is the order of tickets. The products are exact: a weight is below 2^31,
// and k, at most the seats of a party, held and given, below 2^32.
func (t *ticket) before(u *ticket) bool {
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
