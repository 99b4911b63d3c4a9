package apportion

// A Sequence gives single seats, in the order of the tickets. The zero value
// has no party.
type Sequence struct {
	queue
	passed []int32
}

// NewSequence returns a sequence of the seats of the parties, which must not be
// modified afterwards.
func NewSequence(parties []Party) *Sequence {
	s := &Sequence{queue: queue{parties: parties, shares: make([]int32, len(parties))}}
	s.fill()
	return s
}

// Next gives the next seat to the first party of the order that avoid does not report,
// and returns its index. If no party may take it, ok is false. avoid may be nil.
//
// The cost grows with the logarithm of the number of parties, and with the number of
// parties that avoid reports.
func (s *Sequence) Next(avoid func(party int) bool) (party int, ok bool) {
	s.passed = s.passed[:0]
	for avoid != nil && len(s.heap) > 0 && avoid(int(s.heap[0])) {
		s.passed = append(s.passed, s.pop())
	}
	if ok = len(s.heap) > 0; ok {
		party = int(s.heap[0])
		s.move()
	}
	for _, p := range s.passed {
		s.push(p)
	}
	return party, ok
}

// Full reports whether no party may take another seat.
func (s *Sequence) Full() bool { return len(s.heap) == 0 }
