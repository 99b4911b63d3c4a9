package history

import (
	"math/bits"
	"slices"
)

// order sorts a heap of Jobs, the newest on top, oldest first.
//
// Looking up two Jobs for each comparison is what a sort would spend its time on.
// So it sorts plain ints, each a time and an index: in the upper bits the time
// since the oldest, as exact as there is room for, in the lower bits the index.
// Only Jobs whose upper bits are equal are then compared in full.
func order(chosen []int, jobs []Job) {
	newest := jobs[chosen[0]].Finished
	oldest := newest
	for _, i := range chosen {
		if jobs[i].Finished.Before(oldest) {
			oldest = jobs[i].Finished
		}
	}
	low := bits.Len(uint(len(jobs)))
	cut := max(0, bits.Len64(uint64(newest.Sub(oldest)))+low-(bits.UintSize-1))
	for n, i := range chosen {
		chosen[n] = int(jobs[i].Finished.Sub(oldest)>>cut)<<low | i
	}
	slices.Sort(chosen)
	for len(chosen) > 0 {
		end, upper := 0, chosen[0]>>low
		for end < len(chosen) && chosen[end]>>low == upper {
			chosen[end] &= 1<<low - 1
			end++
		}
		if end > 1 {
			slices.SortFunc(chosen[:end], func(a, b int) int { return compare(jobs, a, b) })
		}
		chosen = chosen[end:]
	}
}
