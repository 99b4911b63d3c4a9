package placement

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// byName returns the indexes of n names in their order, without those of a name that
// has come before.
//
// It sorts plain integers, each with as much of what follows the common prefix as there
// is room for and the index below it. Only names that are alike so far are
// compared as such.
func byName(n int, name func(int) string) []int {
	prefix, low := commonPrefix(n, name), bits.Len(uint(n))
	packed := make([]uint64, n)
	for i := range packed {
		var next [8]byte
		copy(next[:], name(i)[prefix:])
		packed[i] = binary.BigEndian.Uint64(next[:])>>low<<low | uint64(i)
	}
	slices.Sort(packed)
	order := make([]int, n)
	for i, p := range packed {
		order[i] = int(p & (1<<low - 1))
	}
	full := func(a, b int) int { return cmp.Or(strings.Compare(name(a), name(b)), cmp.Compare(a, b)) }
	for start, end := 0, 0; start < n; start = end {
		for end = start + 1; end < n && packed[end]>>low == packed[start]>>low; end++ {
		}
		if end > start+1 {
			slices.SortFunc(order[start:end], full)
		}
	}
	return slices.CompactFunc(order, func(a, b int) bool { return name(a) == name(b) })
}

// commonPrefix is how many bytes all names begin with alike.
func commonPrefix(n int, name func(int) string) int {
	if n == 0 {
		return 0
	}
	prefix := name(0)
	for i := range n {
		for !strings.HasPrefix(name(i), prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return len(prefix)
}

// rank is what decides ties between members before their names do: 0 without a seed,
// else a hash of the seed and the name.
//
// Without a seed the odd replica of every owner would go to the first cluster. With
// the owner's namespace and name for a seed owners differ, and each stays the same.
//
// The hash is FNV-1a of the seed, a zero byte and the name, in 64 bits, put through the
// finalizer of MurmurHash3: FNV alone favours some places among three equals
// (TestRankIsFair).
func rank(seed, name string) uint64 {
	if seed == "" {
		return 0
	}
	h := uint64(14695981039346656037)
	add := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range len(seed) {
		add(seed[i])
	}
	add(0)
	for i := range len(name) {
		add(name[i])
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
