package simulation

import (
	"cmp"
	"math/rand/v2"
)

type itemState uint8

const (
	waiting itemState = iota // can be taken
	taken                    // by a Job, and neither done nor lost
	done
	lost
)

type item struct {
	number     int64
	arrived    Duration
	service    Duration
	queue      *queueState
	deliveries int32
	state      itemState
}

type queueState struct {
	*Queue
	queueDraws
	index   int
	metric  string // of the autoscaler, or else of the queue
	watched int    // the queue whose items the metric counts
	next    Arrival
	until   Duration // items arrive before that

	// items are in the order of arrival. Redelivered items come before them, the last one first. Items that
	// do not wait any more are passed over.
	items, redelivered []*item
	waiting            int64
	unacknowledged     int64
	hidden             []delivery // until the visibility timeout, in the order of time
	readings           []reading  // of the metric, where it is stale
}

type delivery struct {
	item   *item
	number int32
}

// A reading is the metric from a time on.
type reading struct {
	from  Duration
	items int64
}

// addQueue adds the queue at i with its backlog, and waits for its first arrival.
func (r *run) addQueue(i int, q *Queue, p *plan, d queueDraws) {
	state := queueState{Queue: q, queueDraws: d, index: i, metric: q.Metric, watched: p.watched[i], until: p.arrivals}
	if i < len(p.settings.Metrics) {
		state.metric = cmp.Or(p.settings.Metrics[i], state.metric)
	}
	r.stale = r.stale || q.Staleness > 0
	r.queues = append(r.queues, state)
	r.put(&r.queues[i], q.Backlog, 0)
	r.expect(&r.queues[i])
}

func (r *run) expect(q *queueState) {
	var ok bool
	if q.next, ok = q.source.next(q.until); ok {
		r.sources++
		r.agenda.add(entry{at: q.next.At, index: int32(q.index)}, dutyArrival)
	}
}

func (r *run) arrive(q *queueState) {
	r.sources--
	r.put(q, q.next.Items, q.next.Service)
	r.expect(q)
	r.offer()
}

// put adds items to a queue. Without a time of service it is drawn.
func (r *run) put(q *queueState, n int64, service Duration) {
	for range n {
		r.Arrived++
		i := r.newItem()
		*i = item{number: r.Arrived, arrived: r.now, queue: q, service: service}
		if service == 0 {
			i.service = q.service.draw()
		}
		r.offered += i.service.seconds()
		r.unfinishedWork += i.service.seconds()
		r.emit("arrived", i, nil)
		q.items = append(q.items, i)
		r.enqueue(i)
	}
}

func (r *run) newItem() *item {
	last := len(r.freeItems) - 1
	if last < 0 {
		return &item{}
	}
	i := r.freeItems[last]
	r.freeItems = r.freeItems[:last]
	return i
}

func (r *run) enqueue(i *item) {
	i.state = waiting
	i.queue.waiting++
	r.Queued++
	r.note(i.queue)
}

// note keeps the readings of metrics that will be read when they are old, after a change of a
// queue.
func (r *run) note(changed *queueState) {
	for i := range r.queues {
		q := &r.queues[i]
		if !r.stale || q.Staleness == 0 || q.watched != changed.index {
			continue
		}
		r.forget(q)
		q.readings = append(q.readings, reading{r.now, r.count(q)})
	}
}

// forget drops the readings that are too old to be read.
func (r *run) forget(q *queueState) {
	for len(q.readings) > 1 && q.readings[1].from <= r.now-q.Staleness {
		q.readings = q.readings[1:]
	}
}

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
	} else if r.forget(q); len(q.readings) > 0 && q.readings[0].from <= r.now-q.Staleness {
		value = float64(q.readings[0].items)
	}
	if limit := float64(q.Partitions) * q.target(); limit > 0 && value >= limit+q.target() {
		value = limit
	}
	return value
}

// first returns the item of a queue that is taken next, or nil.
func (q *queueState) first() *item {
	for n := len(q.redelivered) - 1; n >= 0; n-- {
		if q.redelivered = q.redelivered[:n+1]; q.redelivered[n].state == waiting {
			return q.redelivered[n]
		}
	}
	q.redelivered = nil
	for ; len(q.items) > 0; q.items = q.items[1:] {
		if q.items[0].state == waiting {
			return q.items[0]
		}
	}
	return nil
}

func (r *run) oldest() (oldest *item) {
	for k := range r.queues {
		if i := r.queues[k].first(); i != nil && (oldest == nil || i.arrived < oldest.arrived) {
			oldest = i
		}
	}
	return oldest
}

func (r *run) take(j *job) bool {
	i := r.oldest()
	if i == nil {
		return false
	}
	q := i.queue
	if i.deliveries == 0 {
		r.waits = append(r.waits, r.now-i.arrived)
	}
	i.state = taken
	if n := len(q.redelivered); n > 0 {
		q.redelivered = q.redelivered[:n-1]
	} else {
		q.items = q.items[1:]
	}
	i.deliveries++
	q.waiting--
	r.Queued--
	r.InProgress++
	if r.behavior.Acknowledge != onStart {
		q.unacknowledged++
		if q.VisibilityTimeout > 0 {
			q.hidden = append(q.hidden, delivery{i, i.deliveries})
			r.agenda.add(entry{at: r.now + q.VisibilityTimeout, index: int32(q.index)}, dutyVisible)
		}
	}
	r.note(q)
	j.item = i
	j.taken++
	j.hadItem = true
	r.enter(j, working)
	r.emit("delivered", i, j)
	var service Duration
	j.fails, service = r.failure(i)
	r.schedule(j, service, dutyWorkEnds)
	return true
}

// failure draws whether the work on an item fails, and after which time. It depends
// on the item and on how often it was taken, whoever takes it.
func (r *run) failure(i *item) (fails bool, after Duration) {
	if r.behavior.FailureProbability == 0 {
		return false, i.service
	}
	random := rand.New(rand.NewPCG(r.seed^streamFailure, uint64(i.number)<<20^uint64(i.deliveries)))
	if random.Float64() >= r.behavior.FailureProbability {
		return false, i.service
	}
	return true, clip(random.Float64() * float64(i.service))
}

// offer gives items to Jobs that wait for one.
func (r *run) offer() {
	for r.Queued > 0 && len(r.idle) > 0 {
		ref := r.idle[0]
		r.idle = r.idle[1:]
		if ref.epoch == ref.job.epoch {
			r.take(ref.job)
		}
	}
	r.PeakQueue = max(r.PeakQueue, r.Queued)
}

// leave takes an item out of the count of those in progress, or of those that wait.
func (r *run) leave(i *item) {
	if i.state == waiting {
		i.queue.waiting--
		r.Queued--
		return
	}
	r.InProgress--
	if r.behavior.Acknowledge != onStart {
		i.queue.unacknowledged--
	}
}

func (r *run) complete(j *job) {
	i := j.item
	if i.state >= done {
		r.Duplicated++
		r.emit("duplicated", i, j)
		return
	}
	r.close(i, done)
	r.Done++
	r.emit("done", i, j)
	if i.queue.VisibilityTimeout == 0 { // nothing else refers to it
		r.freeItems = append(r.freeItems, i)
	}
}

func (r *run) close(i *item, state itemState) {
	r.leave(i)
	i.state = state
	r.unfinishedWork -= i.service.seconds()
	r.note(i.queue)
}

// abandon ends the work of a Job on an item that is not done.
func (r *run) abandon(i *item) {
	switch {
	case i.state != taken:
	case r.behavior.Acknowledge == onStart:
		r.lose(i)
	case i.queue.VisibilityTimeout == 0:
		r.giveBack(i)
	}
}

// redeliver ends the visibility timeout of a queue's first hidden item.
func (r *run) redeliver(q *queueState) {
	d := q.hidden[0]
	q.hidden = q.hidden[1:]
	if d.item.deliveries == d.number && d.item.state == taken {
		r.giveBack(d.item)
		r.offer()
	}
}

// giveBack makes an item wait again, unless it has been handed out too often.
func (r *run) giveBack(i *item) {
	if limit := i.queue.MaxDeliveries; limit > 0 && int64(i.deliveries) >= limit {
		r.lose(i)
		return
	}
	r.leave(i)
	i.queue.redelivered = append(i.queue.redelivered, i)
	r.enqueue(i)
	r.emit("redelivered", i, nil)
}

func (r *run) lose(i *item) {
	r.close(i, lost)
	r.Lost++
	r.emit("lost", i, nil)
}
