package replicas

import "math"

// move sets the next number of each member, and reports whether the maximum keeps
// replicas from moving. It never gives up a replica that exists before another
// exists in its place.
func (f *fleet) move() (atMax bool) {
	lack := make([]int64, len(f.members))
	var lacking int64
	for i := range f.members {
		m := &f.members[i]
		m.Next = m.Current
		if m.usable {
			lack[i] = max(0, int64(m.Desired)-int64(m.Current))
			lacking += lack[i]
		}
	}
	growth, atMax := f.growth(lacking)
	for i, n := range level(lack, growth) {
		f.members[i].Next += int32(n)
	}
	f.shrink()
	for i := range f.members {
		m := &f.members[i]
		m.Write = m.usable && (m.Next != m.Current || m.health.Problem == ReasonWriteFailed)
	}
	return atMax
}

// growth returns how many of the lacking replicas are ordered now, within the bound.
func (f *fleet) growth(lacking int64) (growth int64, atMax bool) {
	var ordered int64
	for i := range f.members {
		m := &f.members[i]
		if ordered += m.ordered(); !m.stalled() {
			ordered -= int64(m.foreign)
		}
	}
	headroom := max(0, f.bound()-ordered)
	return min(lacking, headroom), lacking > 0 && headroom == 0 && ordered <= f.total
}

// ordered returns the replicas that count against the maximum: those that are ordered, whether
// they exist or not. Of a member that cannot be written to, only existing replicas count.
// A member without progress loses its missing replicas above its share in this plan.
func (m *member) ordered() int64 {
	switch {
	case m.stalled():
		return int64(min(m.Current, max(m.Existing, m.Desired)))
	case !m.Excluded || (m.usable && m.Reason != ReasonWriteFailed):
		return int64(m.Current)
	case m.usable:
		return int64(m.Existing)
	}
	return 0
}

// dependable returns the replicas that may take the place of others.
func (m *member) dependable() int64 {
	if m.stalled() {
		return int64(m.Existing)
	}
	return m.ordered()
}

// shrink takes replicas from members above their shares: as many as the others have
// in their place, and of the existing replicas as many as there are too many.
func (f *fleet) shrink() {
	waiting, existing := make([]int64, len(f.members)), make([]int64, len(f.members))
	proven, total := -f.total, -f.total
	var unborn int64
	for i := range f.members {
		m := &f.members[i]
		if !m.usable {
			continue
		}
		present, desired := int64(m.Existing), int64(m.Desired)
		total += present
		if int64(m.Current) <= desired {
			proven += present
			continue
		}
		proven += m.dependable()
		existing[i] = max(0, present-desired)
		unneeded := int64(m.Current) - max(present, desired) - m.probe()
		if m.stalled() {
			m.Next -= int32(unneeded)
			continue
		}
		waiting[i] = unneeded
		unborn += unneeded
	}
	f.give(waiting, min(max(0, proven), unborn))
	f.give(existing, max(0, total))
}

// give takes n replicas from the members with the largest amounts, the first of
// equals.
func (f *fleet) give(amounts []int64, n int64) {
	var sum int64
	for _, a := range amounts {
		sum += a
	}
	for i, share := range level(amounts, min(n, sum)) {
		f.members[i].Next -= int32(share)
	}
}

// remaining returns the number of replicas that have yet to move.
func (f *fleet) remaining() int32 {
	var above, below int64
	for i := range f.members {
		if m := &f.members[i]; m.usable {
			above += max(0, int64(m.Next)-int64(m.Desired)-m.probe())
			below += max(0, int64(m.Desired)-int64(m.Next))
		}
	}
	return clip(max(above, below))
}

// level returns how much of n each amount gives, if each step takes 1 from the largest
// amount, the first of equals. n is at most their sum.
func level(amounts []int64, n int64) []int64 {
	remaining := func(level int64) int64 {
		remainder := n
		for _, a := range amounts {
			remainder -= max(0, a-level)
		}
		return remainder
	}
	low, high := int64(1), int64(math.MaxInt32) // the level that all above it come down to
	for low < high {
		if middle := (low + high) / 2; remaining(middle) >= 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	remainder := remaining(low)
	shares := make([]int64, len(amounts))
	for i, a := range amounts {
		shares[i] = max(0, a-low)
		if remainder > 0 && a >= low {
			shares[i]++
			remainder--
		}
	}
	return shares
}
