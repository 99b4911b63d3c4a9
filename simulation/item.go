package simulation

import "math/rand/v2"

// state is where an item is.
type state uint8

const (
	waiting state = iota // can be taken
	taken                // was, and is neither done nor lost
	done
	lost
)

// An item has a slot for as long as something refers to it.
type item struct {
	number     int64
	arrived    Duration
	service    Duration
	deliveries int64
	epoch      uint32 // changes whenever it is taken
	queue      int32
	workers    int32 // Jobs that work on it
	state      state
	listed     bool // in the list of its queue, if only to be passed over
}

// A queueState is a queue in a run.
type queueState struct {
	*Queue
	metric  string // of the policy, or else of the queue
	source  *source
	service sampler
	coming  Arrival  // the next
	until   Duration // items arrive before that

	list           deque[int32] // slots of items, those that are no longer waiting included
	waiting        int64
	unacknowledged int64
	past           deque[reading] // of the metric, where it is stale
	counts         QueueSummary
}

// A reading is the metric from a time on.
type reading struct {
	from  Duration
	items int64
}

// expect enters the next arrival of a queue.
func (w *world) expect(i int) {
	q := &w.queues[i]
	var ok bool
	if q.coming, ok = q.source.next(q.until); ok {
		w.coming++
		w.agenda.add(q.coming.At, dutyArrival, int32(i), 0)
	}
}

func (w *world) arrive(i int) {
	q := &w.queues[i]
	w.coming--
	w.lastArrival = w.now
	w.put(i, q.coming.Items, q.coming.Service)
	w.expect(i)
	w.offer()
}

// put adds items to a queue. Without a time of service it is drawn.
func (w *world) put(i int, n int64, service Duration) {
	q := &w.queues[i]
	for range n {
		slot := w.newItem()
		it := &w.items[slot]
		it.number, it.arrived, it.queue = w.arrived, w.now, int32(i)
		if it.service = service; service == 0 {
			it.service = q.service.draw()
		}
		w.offered += it.service.seconds()
		w.unfinishedWork += it.service.seconds()
		q.counts.Arrived++
		w.tellItem("arrived", it)
		w.enqueue(slot, false)
	}
}

func (w *world) newItem() (slot int32) {
	w.arrived++
	if n := len(w.freeItem); n > 0 {
		slot, w.freeItem = w.freeItem[n-1], w.freeItem[:n-1]
		w.items[slot] = item{epoch: w.items[slot].epoch}
		return slot
	}
	w.items = append(w.items, item{})
	return int32(len(w.items) - 1)
}

// enqueue makes an item wait, before all others if it was taken already.
func (w *world) enqueue(slot int32, again bool) {
	it := &w.items[slot]
	q := &w.queues[it.queue]
	it.state = waiting
	q.waiting++
	w.queued++
	if !it.listed && again {
		q.list.pushFront(slot)
	} else if !it.listed {
		q.list.pushBack(slot)
	}
	it.listed = true
	w.note(q)
}

// note keeps the reading of a metric that will be read when it is old.
func (w *world) note(q *queueState) {
	if q.Staleness == 0 {
		return
	}
	w.forget(q)
	q.past.pushBack(reading{w.now, q.items()})
}

// forget drops the readings that are too old to be read.
func (w *world) forget(q *queueState) {
	for q.past.n > 1 && q.past.at(1).from <= w.now-q.Staleness {
		q.past.popFront()
	}
}

// items is the metric as it is.
func (q *queueState) items() int64 {
	if q.metric == waitingItems {
		return q.waiting
	}
	return q.waiting + q.unacknowledged
}

// read is the metric as a poll reads it.
func (w *world) read(q *queueState) float64 {
	if q.Staleness == 0 {
		return float64(q.items())
	}
	w.forget(q)
	if q.past.n == 0 || q.past.at(0).from > w.now-q.Staleness {
		return 0
	}
	return float64(q.past.at(0).items)
}

// oldest is the queue with the item that arrived first of those that wait, or nil.
func (w *world) oldest() (oldest *queueState) {
	var first Duration
	for i := range w.queues {
		q := &w.queues[i]
		for q.list.n > 0 && w.items[q.list.at(0)].state != waiting {
			slot := q.list.popFront()
			w.items[slot].listed = false
			w.release(slot)
		}
		if q.list.n == 0 {
			continue
		}
		if at := w.items[q.list.at(0)].arrived; oldest == nil || at < first {
			oldest, first = q, at
		}
	}
	return oldest
}

// take gives a Job the item that is next, or reports that there is none.
func (w *world) take(slot int32) bool {
	q := w.oldest()
	if q == nil {
		return false
	}
	i := q.list.popFront()
	it, j := &w.items[i], &w.jobs[slot]
	if it.deliveries == 0 {
		w.waits = append(w.waits, w.now-it.arrived)
	}
	it.state, it.listed = taken, false
	it.deliveries++
	it.epoch++
	it.workers++
	q.waiting--
	w.queued--
	w.inProgress++
	if w.Jobs.Acknowledge != atStart {
		q.unacknowledged++
		if q.VisibilityTimeout > 0 {
			w.agenda.add(w.now+q.VisibilityTimeout, dutyVisible, i, it.epoch)
		}
	}
	w.note(q)
	j.item = i
	w.ending(j, -1)
	j.taken++
	w.ending(j, 1)
	j.fed = true
	w.enter(slot, working)
	w.tell("delivered", it, slot)
	var took Duration
	j.fails, took = w.failure(it)
	w.agenda.add(w.now+took, dutyWorkEnds, slot, j.epoch)
	return true
}

// failure draws whether the work on an item fails, and after which time. It depends
// on the item and on how often it was taken, whoever takes it.
func (w *world) failure(it *item) (fails bool, after Duration) {
	if w.Jobs.FailureProbability == 0 {
		return false, it.service
	}
	source := rand.NewPCG(w.Seed^streamFailure, uint64(it.number)<<20^uint64(it.deliveries))
	random := rand.New(source)
	if random.Float64() >= w.Jobs.FailureProbability {
		return false, it.service
	}
	return true, clip(random.Float64() * float64(it.service))
}

// offer gives items to Jobs that wait for one.
func (w *world) offer() {
	for w.queued > 0 && w.idle.n > 0 {
		r := w.idle.popFront()
		if w.jobs[r.slot].epoch == r.epoch {
			w.take(r.slot)
		}
	}
	w.longest = max(w.longest, w.queued)
}

// leave takes an item out of the count of those in work, or of those that wait.
func (w *world) leave(it *item) {
	q := &w.queues[it.queue]
	if it.state == waiting {
		q.waiting--
		w.queued--
		return
	}
	w.inProgress--
	if w.Jobs.Acknowledge != atStart {
		q.unacknowledged--
	}
}

// complete is that a Job has done an item.
func (w *world) complete(slot, by int32) {
	it := &w.items[slot]
	it.workers--
	switch it.state {
	case done, lost:
		w.repeated++
		w.tell("duplicated", it, by)
	default:
		w.leave(it)
		it.state = done
		w.unfinishedWork -= it.service.seconds()
		w.completed++
		w.queues[it.queue].counts.Done++
		w.responses = append(w.responses, w.now-it.arrived)
		w.note(&w.queues[it.queue])
		w.tell("done", it, by)
	}
	w.release(slot)
	w.settled()
}

// drop is that the Job that worked on an item does so no more.
func (w *world) drop(slot int32) {
	it := &w.items[slot]
	it.workers--
	switch {
	case it.state != taken:
		w.release(slot)
	case w.Jobs.Acknowledge == atStart:
		w.lose(slot)
	case w.queues[it.queue].VisibilityTimeout == 0:
		w.giveBack(slot)
	}
}

// giveBack makes an item wait again, unless it has been handed out too often.
func (w *world) giveBack(slot int32) {
	it := &w.items[slot]
	if most := w.queues[it.queue].MaxDeliveries; most > 0 && it.deliveries >= most {
		w.lose(slot)
		return
	}
	w.leave(it)
	w.enqueue(slot, true)
	w.tellItem("redelivered", it)
}

// lose gives up an item that was taken.
func (w *world) lose(slot int32) {
	it := &w.items[slot]
	w.leave(it)
	it.state = lost
	w.unfinishedWork -= it.service.seconds()
	w.lost++
	w.queues[it.queue].counts.Lost++
	w.responses = append(w.responses, w.now-it.arrived)
	w.note(&w.queues[it.queue])
	w.tellItem("lost", it)
	w.release(slot)
	w.settled()
}

// release frees the slot of an item that nothing refers to.
func (w *world) release(slot int32) {
	it := &w.items[slot]
	if it.state >= done && it.workers == 0 && !it.listed {
		it.epoch++
		w.freeItem = append(w.freeItem, slot)
	}
}
