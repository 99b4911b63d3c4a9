package requests

import "container/heap"

// A place decides which namespace, and which owner of it, is next: the first has the fewest requests
// in flight. Among equals it has waited longest since its last turn or its arrival.
type place struct {
	inFlight int
	turn     uint64
	index    int // in the line, or -1
}

func (p *place) position() *place { return p }

// A line is a heap of places.
type line[T interface{ position() *place }] []T

func (l line[T]) Len() int { return len(l) }

func (l line[T]) Less(i, j int) bool {
	a, b := l[i].position(), l[j].position()
	return a.inFlight < b.inFlight || (a.inFlight == b.inFlight && a.turn < b.turn)
}

func (l line[T]) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].position().index, l[j].position().index = i, j
}

func (l *line[T]) Push(e any) { *l = append(*l, e.(T)) }

func (l *line[T]) Pop() any {
	last := len(*l) - 1
	e := (*l)[last]
	(*l)[last] = *new(T) // not kept in memory
	*l = (*l)[:last]
	return e
}

// set puts an element into the line at its right place, or takes it out. An element that
// arrives is behind all whose turn is known.
func (l *line[T]) set(e T, in bool, turns *uint64) {
	switch p := e.position(); {
	case in && p.index < 0:
		*turns++
		p.turn, p.index = *turns, len(*l)
		heap.Push(l, e)
	case in:
		heap.Fix(l, p.index)
	case p.index >= 0:
		heap.Remove(l, p.index)
		p.index = -1
	}
}
