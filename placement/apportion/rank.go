package apportion

import "hash/fnv"

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
