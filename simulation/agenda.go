package simulation

import "container/heap"

// duty is what happens at a time. What is due at the same instant happens in this order, so
// that a poll sees all that has happened by then.
type duty uint8

const (
	dutyOutage   duty = iota // an outage begins or ends
	dutyWorkEnds             // a Job is at the end of its work on an item, or fails
	dutyGone                 // a Job that is deleted is gone
	dutyFinished             // a Job is finished some time after its work
	dutyVisible              // an item can be taken again
	dutyArrival              // items arrive
	dutyRetry                // a pod that failed is replaced
	dutyStarted              // a pod runs
	dutyReady                // a pod asks for its first item
	dutyGiveUp               // a Job has waited for an item long enough
	dutyList                 // the list of Jobs of a cluster is taken, for a later poll
	dutyPoll
)

type entry struct {
	at    Duration
	order uint64 // the duty, then the order of the entries
	job   *job
	index int32 // of the queue or cluster
	epoch int32 // out of date if the Job has another by then
}

func (e *entry) duty() duty { return duty(e.order >> 56) }

type agenda struct {
	heap  entries
	count uint64 // of entries so far
}

type entries []entry

func (h entries) Len() int { return len(h) }
func (h entries) Less(i, k int) bool {
	return h[i].at < h[k].at || (h[i].at == h[k].at && h[i].order < h[k].order)
}
func (h entries) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

// Push and Pop are not called: Fix does without boxing the entries.
func (h *entries) Push(any) {}
func (h *entries) Pop() any { return nil }

func (a *agenda) add(e entry, d duty) {
	a.count++
	e.order = uint64(d)<<56 | a.count
	a.heap = append(a.heap, e)
	heap.Fix(&a.heap, len(a.heap)-1)
}

func (a *agenda) next() (first entry, ok bool) {
	last := len(a.heap) - 1
	if last < 0 {
		return entry{}, false
	}
	first, a.heap[0] = a.heap[0], a.heap[last]
	a.heap = a.heap[:last]
	if last > 0 {
		heap.Fix(&a.heap, 0)
	}
	return first, true
}
