// Package history says which finished Jobs to delete, so that a number of the
// newest is kept for each outcome.
//
// Jobs of one outcome are ordered by the time they finished, ties by name, and
// the oldest go until the limit is met. Jobs that are being deleted already are
// neither chosen again nor counted as kept. Unfinished Jobs are never chosen.
//
// Choosing k of n Jobs takes one pass over the n and keeps the k oldest in a
// heap: O(n + k log k) when the order is random and k is small, O(n log k) at
// most. Nothing is sorted that is not deleted, and nothing is allocated but the
// result (BenchmarkChoose, TestAllocations).
package history

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"
)

// An Outcome is how a Job ended. The zero value is that of a Job that has not.
type Outcome uint8

const (
	Unfinished Outcome = iota // never chosen
	Succeeded                 // condition Complete
	Failed                    // condition Failed
)

// A Job is what the rule needs to know of one. The zero value has not finished.
type Job struct {
	Name     string
	Outcome  Outcome
	Deleting bool      // has a deletion timestamp
	Finished time.Time // see [Times.Finished]
}

// Times are what Kubernetes records of a Job's end; the zero time is not set.
type Times struct {
	Completion time.Time // status.completionTime, which only successes have
	Failure    time.Time // when the condition Failed became true
	Creation   time.Time // metadata.creationTimestamp
}

// Finished is the time of completion, else of the failure, else of creation.
func (t Times) Finished() time.Time {
	switch {
	case !t.Completion.IsZero():
		return t.Completion
	case !t.Failure.IsZero():
		return t.Failure
	}
	return t.Creation
}

// A Limit is how many Jobs to keep. The zero value keeps all; that is not
// Keep(0), which keeps none.
type Limit struct {
	keep int
	set  bool
}

// Keep is a limit of n Jobs. A negative n counts as 0.
func Keep(n int) Limit { return Limit{max(0, n), true} }

// Value returns the number of Jobs to keep, and whether there is a limit.
func (l Limit) Value() (n int, ok bool) { return l.keep, l.set }

// String returns the number, or "all".
func (l Limit) String() string {
	if !l.set {
		return "all"
	}
	return strconv.Itoa(l.keep)
}

// excess is how many of n Jobs are over the limit.
func (l Limit) excess(n int) int {
	if !l.set {
		return 0
	}
	return max(0, n-l.keep)
}

// Limits are the numbers of finished Jobs to keep. The zero value keeps all.
type Limits struct {
	Succeeded Limit
	Failed    Limit
}

// DefaultLimits are those of a manifest that sets none: 100 of each outcome.
func DefaultLimits() Limits { return Limits{Keep(100), Keep(100)} }

// String returns both limits.
func (l Limits) String() string {
	return fmt.Sprintf("%v succeeded, %v failed", l.Succeeded, l.Failed)
}

// Choose returns the indexes of the Jobs to delete: succeeded ones first, then
// failed ones, each oldest first. It is nil when there are none.
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
		case compare(&jobs[i], &jobs[chosen[0]]) < 0:
			chosen[0] = i
			sink(chosen, jobs, 0)
		}
	}
	order(chosen, jobs)
}

// order sorts a heap of Jobs, the newest on top, oldest first. It sorts ints of
// which the upper bits are the time since the oldest, as exact as there is room
// for, and the lower bits the index: keys that lie side by side are sorted several
// times faster than Jobs are looked up. What has equal upper bits is then
// compared in full.
func order(chosen []int, jobs []Job) {
	last := jobs[chosen[0]].Finished
	first := last
	for _, i := range chosen {
		if jobs[i].Finished.Before(first) {
			first = jobs[i].Finished
		}
	}
	low := bits.Len(uint(len(jobs)))
	cut := max(0, bits.Len64(uint64(last.Sub(first)))+low-(bits.UintSize-1))
	for n, i := range chosen {
		chosen[n] = int(jobs[i].Finished.Sub(first)>>cut)<<low | i
	}
	slices.Sort(chosen)
	for len(chosen) > 0 {
		end, key := 0, chosen[0]>>low
		for end < len(chosen) && chosen[end]>>low == key {
			chosen[end] &= 1<<low - 1
			end++
		}
		if end > 1 {
			slices.SortFunc(chosen[:end], func(a, b int) int { return compare(&jobs[a], &jobs[b]) })
		}
		chosen = chosen[end:]
	}
}

// sink moves the Job at i down the heap until none below it is newer.
func sink(heap []int, jobs []Job, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if right := child + 1; right < len(heap) && compare(&jobs[heap[right]], &jobs[heap[child]]) > 0 {
			child = right
		}
		if compare(&jobs[heap[i]], &jobs[heap[child]]) >= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// compare orders Jobs oldest first, ties by name.
func compare(a, b *Job) int {
	if c := a.Finished.Compare(b.Finished); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}
