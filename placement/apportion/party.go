package apportion

import "math"

// A Party takes seats. The zero value has no weight, and takes none.
type Party struct {
	Weight int32  // relative to other weights; below 0 it counts as 0
	Held   int32  // seats that it has already; below 0 it counts as 0
	Cap    int32  // with Capped, the most seats it may have, including Held; below 0 it counts as 0
	Capped bool   // otherwise Cap means nothing
	Rank   uint64 // of two that are equal in all else, the lower comes first
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
