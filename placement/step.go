package placement

import "math"

// Replicas are those of one member: as they are, and as they are to be. Below 0
// they count as 0.
type Replicas struct {
	Current, Target int32
}

// StepToward returns how many replicas each member is to have next, when no more
// than so many of them may move from one member to another.
//
// A move goes from the member furthest above its target to the one furthest below,
// ties to the first of the members. What the targets have more or fewer in all
// is not a move but scaling, and is done at once, at those furthest off. The
// cost grows with the members only (FuzzStepToward has it move by move).
func StepToward(members []Replicas, moves int32) []int32 {
	above, below := make([]int64, len(members)), make([]int64, len(members))
	var surplus, lack int64
	for i, m := range members {
		off := int64(max(0, m.Current)) - int64(max(0, m.Target))
		above[i], below[i] = max(0, off), max(0, -off)
		surplus += above[i]
		lack += below[i]
	}
	moved := min(int64(max(0, moves)), surplus, lack)
	shrink := level(above, moved+max(0, surplus-lack))
	grow := level(below, moved+max(0, lack-surplus))
	next := make([]int32, len(members))
	for i, m := range members {
		next[i] = int32(int64(max(0, m.Current)) - shrink[i] + grow[i])
	}
	return next
}

// level returns how much of n each amount gives, when one after the other is
// taken from the largest, the first of equals. n is at most their sum.
func level(amounts []int64, n int64) []int64 {
	rest := func(level int64) int64 {
		rest := n
		for _, a := range amounts {
			rest -= max(0, a-level)
		}
		return rest
	}
	low, high := int64(0), int64(math.MaxInt32) // the level that all above it come down to
	for low < high {
		if middle := (low + high) / 2; rest(middle) >= 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	more := rest(low)
	given := make([]int64, len(amounts))
	for i, a := range amounts {
		given[i] = max(0, a-low)
		if more > 0 && a > 0 && a >= low {
			given[i]++
			more--
		}
	}
	return given
}
