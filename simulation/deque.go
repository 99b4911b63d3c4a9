package simulation

// A deque is a queue with two ends, in a ring.
type deque[T any] struct {
	ring []T
	head int
	n    int
}

func (d *deque[T]) grow() {
	if d.n < len(d.ring) {
		return
	}
	ring := make([]T, max(8, 2*len(d.ring)))
	k := copy(ring, d.ring[d.head:])
	copy(ring[k:], d.ring[:d.head])
	d.ring, d.head = ring, 0
}

func (d *deque[T]) pushBack(v T) {
	d.grow()
	d.ring[(d.head+d.n)&(len(d.ring)-1)] = v
	d.n++
}

func (d *deque[T]) pushFront(v T) {
	d.grow()
	d.head = (d.head - 1) & (len(d.ring) - 1)
	d.ring[d.head] = v
	d.n++
}

func (d *deque[T]) popFront() T {
	v := d.ring[d.head]
	d.head = (d.head + 1) & (len(d.ring) - 1)
	d.n--
	return v
}

// at returns the element at i; 0 is the front.
func (d *deque[T]) at(i int) T { return d.ring[(d.head+i)&(len(d.ring)-1)] }
