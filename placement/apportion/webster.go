package apportion

import (
	"cmp"
	"container/heap"
	"hash/fnv"
	"math"
)

// Webster divides the seats. It returns each party's share, without the seats it
// held before, and the seats that no party could take. Negative seats are none.
func Webster(seats int32, parties []Party) (shares []int32, unplaced int32) {
	shares = make([]int32, len(parties))
	remaining := max(0, seats) - int32(begin(shares, int64(seats), parties))
	next := tickets{parties: parties, shares: shares}
	for i := range parties {
		if next.isOpen(i) {
			next.order = append(next.order, i)
		}
	}
	for heap.Init(&next); remaining > 0 && next.Len() > 0; remaining-- {
		first := next.order[0]
		if shares[first]++; next.isOpen(first) {
			heap.Fix(&next, 0)
		} else {
			heap.Pop(&next)
		}
	}
	return shares, remaining
}

// tickets is a heap of the parties that may take another seat, by their next tickets. A scan for each seat
// takes twenty times as long with 1,000 parties (BenchmarkWebster).
type tickets struct {
	parties []Party
	shares  []int32
	order   []int // of parties
}

func (t *tickets) isOpen(i int) bool { return int64(t.shares[i]) < t.parties[i].room() }

func (t *tickets) Len() int { return len(t.order) }

func (t *tickets) Less(i, j int) bool {
	return compareTickets(t.parties, t.shares, t.order[i], t.order[j]) < 0
}

func (t *tickets) Swap(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] }

func (t *tickets) Push(i any) { t.order = append(t.order, i.(int)) }

func (t *tickets) Pop() any {
	last := t.order[len(t.order)-1]
	t.order = t.order[:len(t.order)-1]
	return last
}

// compareTickets compares the next tickets of parties i and j. The products are exact: a
// weight is below 2^31, and the seats of a party, held and given, are below 2^32.
func compareTickets(parties []Party, shares []int32, i, j int) int {
	p, q := &parties[i], &parties[j]
	seats, other := uint64(p.held())+uint64(shares[i]), uint64(q.held())+uint64(shares[j])
	if order := cmp.Compare(uint64(q.Weight)*(2*seats+1), uint64(p.Weight)*(2*other+1)); order != 0 {
		return order
	}
	return cmp.Or(cmp.Compare(seats, other), cmp.Compare(p.Rank, q.Rank), cmp.Compare(i, j))
}

// rounding is more than the error of a quota that is computed in floating point, which is below 2^33.
const rounding = 1.0 / (1 << 16)

// begin gives seats that are among the first n tickets, up to about n or as many as there are, and returns
// their number.
//
// All tickets with (2k + 1) / weight up to a line are the first of the order. The search for a line with n of
// them or a few fewer interpolates, which without caps is right at once, and bisects in turn. It counts the tickets
// that rounding may have left above the line, and gives only those that are surely below it.
func begin(shares []int32, n int64, parties []Party) (assigned int64) {
	tickets := func(line float64) (sum int64) {
		for i := range parties {
			sum += parties[i].tickets(line, rounding)
		}
		return sum
	}
	low, high := 0.0, 1.0
	below, above := int64(0), tickets(high)
	for ; above <= n && high < 1<<35; above = tickets(high) { // the last ticket of a party with weight 1 is below 2^34
		low, below, high = high, above, 2*high
	}
	found := func() bool { return above <= n || n-below <= int64(len(parties)/16) }
	for step := 0; !found() && high-low > high/(1<<40); step++ {
		line := (low + high) / 2
		if step%2 == 0 {
			line = low + (high-low)*float64(n-below)/float64(above-below)
		}
		if sum := tickets(line); sum > n {
			high, above = line, sum
		} else {
			low, below = line, sum
		}
	}
	for i := range parties {
		share := parties[i].tickets(low, -rounding)
		shares[i] = int32(share)
		assigned += share
	}
	return assigned
}

// tickets returns the number of tickets of the party up to a line, after those of the seats that it holds.
func (p *Party) tickets(line, margin float64) int64 {
	quota := (float64(p.Weight)*line+1)/2 + margin
	return max(0, min(int64(min(quota, 1<<33))-p.held(), p.room()))
}

// A Party takes seats. The zero value has no weight, and takes none.
type Party struct {
	Weight int32  // relative to other weights; below 0 it counts as 0
	Held   int32  // seats that it has already; below 0 it counts as 0
	Cap    int32  // with Capped, the most seats it may have, including Held; below 0 it counts as 0
	Capped bool   // otherwise Cap means nothing
	Rank   uint64 // of two that are equal in all else, the lower comes first
	Credit int64  // of a RoundRobin, which changes it; Webster ignores it
}

func (p *Party) held() int64 { return int64(max(0, p.Held)) }

// room returns the number of seats that the party may take. Without a cap it is more than
// there can be.
func (p *Party) room() int64 {
	switch {
	case p.Weight <= 0:
		return 0
	case !p.Capped:
		return math.MaxInt32
	}
	return max(0, int64(p.Cap)-p.held())
}

// Rank returns a rank for the party of that name: 0 if the seed is empty, otherwise a
// hash of seed and name.
//
// With equal ranks the odd seat of every division goes to the first party. If each
// owner has a seed of its own, such as its namespace and name, the odd seats of the
// owners are spread evenly, and each owner's stays where it is.
//
// The hash is FNV-1a of the seed, a zero byte and the name, in 64 bits, followed by the
// finalizer of MurmurHash3. FNV-1a alone prefers some places among three equal parties.
func Rank(seed, name string) uint64 {
	if seed == "" {
		return 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(seed + "\x00" + name)) // never fails
	h := sum.Sum64()
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
