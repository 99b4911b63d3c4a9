package simulation

import (
	"cmp"
	"math/rand/v2"
	"time"
)

// A world is a run in progress.
type world struct {
	*Scenario
	*measure
	*control
	options Options

	now, end Duration
	over     bool
	agenda   agenda

	queues   []queueState
	items    []item
	freeItem []int32

	jobs                []job
	freeJob             []int32
	live                []int32 // slots of the Jobs that exist and have not ended
	created             int64
	idle                deque[ref] // Jobs that wait for an item, the one that has waited longest first
	startup, completion sampler

	sites []site // one for each cluster
	err   error
}

// A ref is a Job for as long as its epoch is that.
type ref struct {
	slot  int32
	epoch uint32
}

// The streams of random numbers. Each has its own, so that what a policy does has no
// effect on the items that it meets.
const (
	streamStartup    = 1 << 32
	streamArrival    = 2 << 32
	streamService    = 3 << 32
	streamFailure    = 4 << 32
	streamCompletion = 6 << 32 // study resamples traces with 5
)

func (s *Scenario) stream(which uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, which)) }

func newWorld(s *Scenario, o Options) *world {
	arrivals, end := s.times()
	w := &world{Scenario: s, options: o, end: end, measure: &measure{}, control: newControl(s)}
	expected := int(s.Load().Arrivals*arrivals.seconds()*1.01) + 64
	w.waits, w.responses = make([]Duration, 0, expected), make([]Duration, 0, expected)
	if !o.SummaryOnly {
		w.ticks = make([]Tick, 0, min(arrivals/w.polling.interval()+3, 1<<17))
	}
	w.startup = newSampler(s.Jobs.Startup, s.stream(streamStartup))
	w.completion = newSampler(s.Jobs.Completion, s.stream(streamCompletion))
	for i, c := range s.clusters() {
		w.sites = append(w.sites, newSite(c))
		w.schedule(int32(i), c.Outages)
		if c.ListAge > 0 {
			every := w.polling.interval()
			w.agenda.add((c.ListAge+every-1)/every*every-c.ListAge, dutyList, int32(i), 0)
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		metric := q.Metric
		if i < len(w.polling.Metrics) {
			metric = cmp.Or(w.polling.Metrics[i], metric)
		}
		w.queues = append(w.queues, queueState{
			Queue: q, metric: metric, until: arrivals, source: newSource(q, s.stream(streamArrival+uint64(i))),
			service: newSampler(q.Service, s.stream(streamService+uint64(i))),
		})
		w.put(i, q.Backlog, 0)
		w.expect(i)
	}
	w.longest = w.queued
	w.agenda.add(0, dutyPoll, 0, 0)
	return w
}

func (w *world) run() error {
	w.settled()
	for !w.over && w.err == nil {
		e, ok := w.agenda.next()
		if !ok || e.at > w.end {
			break
		}
		w.advance(e.at)
		w.do(e)
	}
	if !w.over && w.err == nil {
		w.advance(w.end)
	}
	return w.err
}

func (w *world) do(e entry) {
	switch e.duty() {
	case dutyOutage:
		w.outage(e.slot, e.epoch)
	case dutyArrival:
		w.arrive(int(e.slot))
	case dutyVisible:
		if it := &w.items[e.slot]; it.epoch == e.epoch && it.state == taken {
			w.giveBack(e.slot)
			w.offer()
		}
	case dutyList:
		s := &w.sites[e.slot]
		s.views.pushBack(*w.view(int(e.slot), w.now+s.delay))
		w.agenda.add(w.now+w.polling.interval(), dutyList, e.slot, 0)
	case dutyPoll:
		w.poll()
	default:
		if j := &w.jobs[e.slot]; j.epoch == e.epoch {
			w.proceed(e.duty(), e.slot)
		}
	}
}

// proceed is what a Job does at the time that it has waited for.
func (w *world) proceed(d duty, slot int32) {
	switch d {
	case dutyWorkEnds:
		w.endWork(slot)
	case dutyGone:
		w.remove(slot)
	case dutyFinished:
		w.finish(slot, true)
	case dutyRetry:
		w.enter(slot, unscheduled)
		w.queueUp(slot)
	case dutyStarted:
		w.jobs[slot].started = true
		w.tell("started", nil, slot)
		w.look(slot)
	case dutyGiveUp:
		w.succeed(slot)
	}
}

func (w *world) observe(e Event) {
	if w.options.Observe != nil {
		e.At = time.Duration(w.now)
		w.options.Observe(e)
	}
}

// tell reports an event of a Job, and of an item if it is not nil.
func (w *world) tell(kind string, it *item, slot int32) {
	if w.options.Observe == nil {
		return
	}
	j := &w.jobs[slot]
	e := Event{Kind: kind, Job: j.number, Cluster: int(j.site)}
	if it != nil {
		e.Item, e.Queue = it.number, int(it.queue)
	}
	w.observe(e)
}

// tellItem reports an event of an item alone.
func (w *world) tellItem(kind string, it *item) {
	w.observe(Event{Kind: kind, Item: it.number, Queue: int(it.queue)})
}
