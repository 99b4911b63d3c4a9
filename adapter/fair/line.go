package fair

import "slices"

// A place decides who is next: the owner with the fewest requests in flight, then the one
// that has waited longest since its last turn or its arrival.
type place struct {
	inFlight int
	turn     uint64
	index    int // in the heap, or -1
}

func (p *place) at() *place { return p }

func (p *place) before(other *place) bool {
	return p.inFlight < other.inFlight || p.inFlight == other.inFlight && p.turn < other.turn
}

// A heap is a binary heap of places.
type heap[T interface{ at() *place }] []T

// set puts an element into the heap at its right place, or takes it out. An element that
// arrives is behind all whose turn is known.
func (h *heap[T]) set(e T, in bool, turns *uint64) {
	p := e.at()
	switch {
	case in && p.index < 0:
		*turns++
		p.turn, p.index = *turns, len(*h)
		*h = append(*h, e)
	case !in && p.index >= 0:
		i, last := p.index, len(*h)-1
		h.swap(i, last)
		*h = slices.Delete(*h, last, last+1)
		if p.index = -1; i < last {
			h.fix(i)
		}
		return
	}
	if p.index >= 0 {
		h.fix(p.index)
	}
}

func (h heap[T]) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at().index, h[j].at().index = i, j
}

// fix moves an element up or down to its place.
func (h heap[T]) fix(i int) {
	for i > 0 && h[i].at().before(h[(i-1)/2].at()) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].at().before(h[least].at()) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}
