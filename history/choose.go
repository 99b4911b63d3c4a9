package history

import "cmp"

// Choose returns the indexes of the Jobs to delete: succeeded ones first, then
// failed ones, each oldest first, ties by name, then by index. It is nil when
// there are none. The Jobs are not modified.
//
// It keeps the newest of each outcome up to the limit, whatever the order of the
// Jobs (FuzzKeepsTheNewest, FuzzOrderOfJobs), and once what it chose is gone or
// on its way out it chooses nothing (FuzzIdempotent).
func Choose(limits Limits, jobs []Job) []int {
	var succeeded, failed int
	for i := range jobs {
		switch {
		case jobs[i].Deleting:
		case jobs[i].Outcome == Succeeded:
			succeeded++
		case jobs[i].Outcome == Failed:
			failed++
		}
	}
	s, f := limits.Succeeded.excess(succeeded), limits.Failed.excess(failed)
	if s+f == 0 {
		return nil
	}
	chosen := make([]int, s+f)
	oldest(chosen[:s], jobs, Succeeded)
	oldest(chosen[s:], jobs, Failed)
	return chosen
}

// oldest fills chosen with the oldest Jobs of an outcome, of which there are at
// least as many. While it looks, chosen is a heap with the newest on top.
func oldest(chosen []int, jobs []Job, outcome Outcome) {
	if len(chosen) == 0 {
		return
	}
	filled := 0
	for i := range jobs {
		switch {
		case jobs[i].Deleting || jobs[i].Outcome != outcome:
		case filled < len(chosen):
			chosen[filled] = i
			if filled++; filled == len(chosen) {
				for top := len(chosen)/2 - 1; top >= 0; top-- {
					sink(chosen, jobs, top)
				}
			}
		case compare(jobs, i, chosen[0]) < 0:
			chosen[0] = i
			sink(chosen, jobs, 0)
		}
	}
	order(chosen, jobs)
}

// sink moves the Job at i down the heap until none below it is newer.
func sink(heap []int, jobs []Job, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if right := child + 1; right < len(heap) && compare(jobs, heap[right], heap[child]) > 0 {
			child = right
		}
		if compare(jobs, heap[i], heap[child]) >= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// compare orders the Jobs at a and b.
func compare(jobs []Job, a, b int) int {
	if c := jobs[a].Finished.Compare(jobs[b].Finished); c != 0 {
		return c
	}
	if c := cmp.Compare(jobs[a].Name, jobs[b].Name); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}
