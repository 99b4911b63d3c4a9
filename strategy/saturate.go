package strategy

import "math"

// add returns a + b, or the end of int64 that it passes.
func add(a, b int64) int64 {
	sum := a + b
	if (sum^a)&(sum^b) < 0 { // both have the sign that the sum lacks
		return end(a)
	}
	return sum
}

// sub returns a - b, or the end of int64 that it passes.
func sub(a, b int64) int64 {
	diff := a - b
	if (a^b)&(diff^a) < 0 {
		return end(a)
	}
	return diff
}

func end(sign int64) int64 {
	if sign < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
