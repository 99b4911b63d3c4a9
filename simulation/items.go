package simulation

import "math/rand/v2"

// itemState is where an item is.
type itemState uint8

const (
	waiting itemState = iota // can be taken
	taken                    // by a Job, and neither done nor lost
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
	state      itemState
	listed     bool // in the list of its queue, if only to be passed over
}

// A queueState is a queue in a run.
type queueState struct {
	*Queue
	metric  string // of the autoscaler, or else of the queue
	watched int32  // the queue whose items the metric counts
	source  *source
	service sampler
	next    Arrival
	until   Duration // items arrive before that

	list           deque[int32] // slots of items, those that are no longer waiting included
	waiting        int64
	unacknowledged int64
	readings       deque[reading] // of the metric, where it is stale
}

// A reading is the metric from a time on.
type reading struct {
	from  Duration
	items int64
}

// expect enters the next arrival of a queue.
func (r *run) expect(i int32) {
	q := &r.queues[i]
	var ok bool
	if q.next, ok = q.source.next(q.until); ok {
		r.sources++
		r.agenda.add(q.next.At, dutyArrival, i, 0)
	}
}

func (r *run) arrive(i int32) {
	q := &r.queues[i]
	r.sources--
	r.lastArrival = r.now
	r.put(i, q.next.Items, q.next.Service)
	r.expect(i)
	r.offer()
}

// put adds items to a queue. Without a time of service it is drawn.
func (r *run) put(i int32, n int64, service Duration) {
	q := &r.queues[i]
	for range n {
		slot := r.newItem()
		item := &r.items[slot]
		item.number, item.arrived, item.queue = r.arrived, r.now, i
		if item.service = service; service == 0 {
			item.service = q.service.draw()
		}
		r.offered += item.service.seconds()
		r.unfinishedWork += item.service.seconds()
		r.emitItem("arrived", item)
		r.enqueue(slot, false)
	}
}

func (r *run) newItem() (slot int32) {
	r.arrived++
	if n := len(r.freeItems); n > 0 {
		slot, r.freeItems = r.freeItems[n-1], r.freeItems[:n-1]
		r.items[slot] = item{epoch: r.items[slot].epoch}
		return slot
	}
	r.items = append(r.items, item{})
	return int32(len(r.items) - 1)
}

// enqueue makes an item wait, in front of the others if it was taken already.
func (r *run) enqueue(slot int32, front bool) {
	item := &r.items[slot]
	q := &r.queues[item.queue]
	item.state = waiting
	q.waiting++
	r.queued++
	if !item.listed && front {
		q.list.pushFront(slot)
	} else if !item.listed {
		q.list.pushBack(slot)
	}
	item.listed = true
	r.note(item.queue)
}

// note keeps the readings of metrics that will be read when they are old, after a change of a
// queue.
func (r *run) note(changed int32) {
	for i := range r.queues {
		q := &r.queues[i]
		if !r.stale || q.Staleness == 0 || q.watched != changed {
			continue
		}
		r.forget(q)
		q.readings.pushBack(reading{r.now, r.count(q)})
	}
}

// forget drops the readings that are too old to be read.
func (r *run) forget(q *queueState) {
	for q.readings.n > 1 && q.readings.peek(1).from <= r.now-q.Staleness {
		q.readings.popFront()
	}
}

// count returns the metric as it is.
func (r *run) count(q *queueState) int64 {
	switch watched := &r.queues[q.watched]; q.metric {
	case waitingItems:
		return watched.waiting
	case activeItems:
		return watched.unacknowledged
	default:
		return watched.waiting + watched.unacknowledged
	}
}

// read returns the metric as a poll reads it.
func (r *run) read(q *queueState) float64 {
	value := 0.0
	if q.Staleness == 0 {
		value = float64(r.count(q))
	} else if r.forget(q); q.readings.n > 0 && q.readings.peek(0).from <= r.now-q.Staleness {
		value = float64(q.readings.peek(0).items)
	}
	if limit := float64(q.Partitions) * q.target(); limit > 0 && value >= limit+q.target() {
		value = limit
	}
	return value
}

// oldest returns the queue with the item that arrived first of those that wait, or nil.
func (r *run) oldest() (oldest *queueState) {
	var first Duration
	for i := range r.queues {
		q := &r.queues[i]
		for q.list.n > 0 && r.items[q.list.peek(0)].state != waiting {
			slot := q.list.popFront()
			r.items[slot].listed = false
			r.release(slot)
		}
		if q.list.n == 0 {
			continue
		}
		if arrived := r.items[q.list.peek(0)].arrived; oldest == nil || arrived < first {
			oldest, first = q, arrived
		}
	}
	return oldest
}

// take gives a Job the item that is next, or reports that there is none.
func (r *run) take(slot int32) bool {
	q := r.oldest()
	if q == nil {
		return false
	}
	i := q.list.popFront()
	item, j := &r.items[i], &r.jobs[slot]
	if item.deliveries == 0 {
		r.waits = append(r.waits, r.now-item.arrived)
	}
	item.state, item.listed = taken, false
	item.deliveries++
	item.epoch++
	item.workers++
	q.waiting--
	r.queued--
	r.inProgress++
	if r.Jobs.Acknowledge != onStart {
		q.unacknowledged++
		if q.VisibilityTimeout > 0 {
			r.agenda.add(r.now+q.VisibilityTimeout, dutyVisible, i, item.epoch)
		}
	}
	r.note(item.queue)
	j.item = i
	r.countEnding(j, -1)
	j.taken++
	r.countEnding(j, 1)
	j.hadItem = true
	r.enter(slot, working)
	r.emit("delivered", item, slot)
	var service Duration
	j.fails, service = r.failure(item)
	r.agenda.add(r.now+service, dutyWorkEnds, slot, j.epoch)
	return true
}

// failure draws whether the work on an item fails, and after which time. It depends
// on the item and on how often it was taken, whoever takes it.
func (r *run) failure(item *item) (fails bool, after Duration) {
	if r.Jobs.FailureProbability == 0 {
		return false, item.service
	}
	random := rand.New(rand.NewPCG(r.Seed^streamFailure, uint64(item.number)<<20^uint64(item.deliveries)))
	if random.Float64() >= r.Jobs.FailureProbability {
		return false, item.service
	}
	return true, clip(random.Float64() * float64(item.service))
}

// offer gives items to Jobs that wait for one.
func (r *run) offer() {
	for r.queued > 0 && r.idle.n > 0 {
		ref := r.idle.popFront()
		if r.jobs[ref.slot].epoch == ref.epoch {
			r.take(ref.slot)
		}
	}
	r.peakQueue = max(r.peakQueue, r.queued)
}

// leave takes an item out of the count of those in progress, or of those that wait.
func (r *run) leave(item *item) {
	q := &r.queues[item.queue]
	if item.state == waiting {
		q.waiting--
		r.queued--
		return
	}
	r.inProgress--
	if r.Jobs.Acknowledge != onStart {
		q.unacknowledged--
	}
}

// complete notes that a Job has done an item.
func (r *run) complete(slot, job int32) {
	item := &r.items[slot]
	item.workers--
	if item.state >= done {
		r.duplicated++
		r.emit("duplicated", item, job)
	} else {
		r.close(item, done)
		r.completed++
		r.emit("done", item, job)
	}
	r.release(slot)
	r.settle()
}

// close ends an item, which is then done or lost.
func (r *run) close(item *item, state itemState) {
	r.leave(item)
	item.state = state
	r.unfinishedWork -= item.service.seconds()
	r.note(item.queue)
}

// abandon ends the work of a Job on an item that is not done.
func (r *run) abandon(slot int32) {
	item := &r.items[slot]
	item.workers--
	switch {
	case item.state != taken:
		r.release(slot)
	case r.Jobs.Acknowledge == onStart:
		r.lose(slot)
	case r.queues[item.queue].VisibilityTimeout == 0:
		r.giveBack(slot)
	}
}

// giveBack makes an item wait again, unless it has been handed out too often.
func (r *run) giveBack(slot int32) {
	item := &r.items[slot]
	if limit := r.queues[item.queue].MaxDeliveries; limit > 0 && item.deliveries >= limit {
		r.lose(slot)
		return
	}
	r.leave(item)
	r.enqueue(slot, true)
	r.emitItem("redelivered", item)
}

// lose gives up an item that was taken.
func (r *run) lose(slot int32) {
	item := &r.items[slot]
	r.close(item, lost)
	r.lost++
	r.emitItem("lost", item)
	r.release(slot)
	r.settle()
}

// release frees the slot of an item that nothing refers to.
func (r *run) release(slot int32) {
	item := &r.items[slot]
	if item.state >= done && item.workers == 0 && !item.listed {
		item.epoch++
		r.freeItems = append(r.freeItems, slot)
	}
}
