package apportion

// A Sequence gives single seats, in the order of the tickets. The zero value
// has no party.
type Sequence struct {
	heap   []ticket // the next ticket of each party that may take another seat
	passed []ticket
}

// NewSequence returns a sequence of the seats of the parties.
func NewSequence(parties []Party) *Sequence {
	return after(make([]int32, len(parties)), parties)
}

// after returns the sequence of the seats after the shares.
func after(shares []int32, parties []Party) *Sequence {
	s := &Sequence{heap: make([]ticket, 0, len(parties))}
	for i := range parties {
		p := &parties[i]
		if left := p.room() - int64(shares[i]); left > 0 {
			k := p.held() + int64(shares[i])
			s.push(ticket{uint64(p.Weight), uint64(k), uint64(k + left), p.Rank, int32(i)})
		}
	}
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
		s.passed = append(s.passed, s.heap[0])
		s.pop()
	}
	if ok = len(s.heap) > 0; ok {
		top := &s.heap[0]
		party = int(top.party)
		if top.k++; top.k == top.end {
			s.pop()
		} else {
			s.down()
		}
	}
	for _, t := range s.passed {
		s.push(t)
	}
	return party, ok
}

// Full reports whether no party may take another seat.
func (s *Sequence) Full() bool { return len(s.heap) == 0 }

func (s *Sequence) push(t ticket) {
	s.heap = append(s.heap, t)
	for i := len(s.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.heap[i].before(&s.heap[parent]) {
			break
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

// pop removes the first ticket.
func (s *Sequence) pop() {
	last := len(s.heap) - 1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	s.down()
}

// down moves the ticket on top down to its place.
func (s *Sequence) down() {
	for i, child := 0, 1; child < len(s.heap); child = 2*i + 1 {
		if child+1 < len(s.heap) && s.heap[child+1].before(&s.heap[child]) {
			child++
		}
		if s.heap[i].before(&s.heap[child]) {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
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
