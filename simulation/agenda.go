package simulation

// duty is what is to be done at a time. What is due at the same instant is done in
// this order, so that a poll sees all that has happened by then.
type duty uint8

const (
	dutyOutage   duty = iota // an outage begins or ends
	dutyWorkEnds             // a Job is at the end of its work on an item, or fails
	dutyGone                 // a Job that is deleted is gone
	dutyVisible              // an item can be taken again
	dutyArrival              // items arrive
	dutyRetry                // a pod that failed is replaced
	dutyStarted              // a pod has started
	dutyGiveUp               // a Job has waited for an item long enough
	dutyPoll
)

// An entry of the agenda.
type entry struct {
	at    Duration
	order uint64 // the duty, then the order in which entries were made
	slot  int32  // of the item, Job, queue or cluster
	epoch uint32 // out of date if that has another by then
}

func (e *entry) duty() duty { return duty(e.order >> 56) }

func (e *entry) before(o *entry) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}

// An agenda is a heap of what is to be done, the first on top.
type agenda struct {
	heap []entry
	made uint64
}

func (a *agenda) add(at Duration, d duty, slot int32, epoch uint32) {
	a.made++
	e := entry{at, uint64(d)<<56 | a.made, slot, epoch}
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

// next removes the first entry.
func (a *agenda) next() (first entry, ok bool) {
	last := len(a.heap) - 1
	if last < 0 {
		return entry{}, false
	}
	first = a.heap[0]
	moved := a.heap[last]
	a.heap = a.heap[:last]
	if last > 0 {
		a.sink(moved)
	}
	return first, true
}

// sink puts an entry where the top was, and moves it down to its place.
func (a *agenda) sink(e entry) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(a.heap) {
			break
		}
		if right := child + 1; right < len(a.heap) && a.heap[right].before(&a.heap[child]) {
			child = right
		}
		if !a.heap[child].before(&e) {
			break
		}
		a.heap[i] = a.heap[child]
		i = child
	}
	a.heap[i] = e
}
