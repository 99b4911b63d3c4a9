package simulation

import (
	"cmp"
	"container/heap"
	"errors"
	"math/rand/v2"

	"github.com/scaledjob/scaledjob/placement/jobs"
	"github.com/scaledjob/scaledjob/placement/taint"
	"github.com/scaledjob/scaledjob/scaling"
)

// Options control a run. The zero value only returns the result.
type Options struct {
	// Observe receives each event.
	Observe func(Event)
	// EachPoll receives the state after each poll. An error ends the run, and is returned,
	// unless it is [Stop].
	EachPoll func(Tick) error
	// SummaryOnly leaves out the ticks.
	SummaryOnly bool
	// Step is the length of the parts of the run whose means are in Result.Curves; 0 is none.
	Step Duration
}

// Stop is returned by [Options].EachPoll to end a run early, without an error.
var Stop = errors.New("stop") //lint:ignore ST1012 it is no failure, like fs.SkipAll

// Run plays the scenario. An error is that of [Scenario.Validate], or of EachPoll, or
// reports that an autoscaler has more than a million Jobs at one time.
//
// Equal scenarios have equal results. A run takes about a microsecond for each item with a
// Job of its own. It keeps a time for each item, and a tick for each poll.
func Run(s Scenario, o Options) (*Result, error) {
	size, err := s.check()
	if err != nil {
		return nil, err
	}
	r := newRun(&s, o, size)
	if err := r.play(); err != nil && err != Stop {
		return nil, err
	}
	r.conclude()
	return &Result{Summary: r.Summary, Ticks: r.ticks, Curves: r.curves}, nil
}

// A run is a scenario in progress. Its Summary has the counts so far.
type run struct {
	*Scenario
	Summary
	options Options

	now, end Duration
	stopped  bool
	agenda   agenda
	err      error

	queues  []queueState
	sources int  // queues that items are still to come to
	stale   bool // a metric is old when it is read

	jobs                        []*job   // that exist and have not ended
	freeJobs                    []*job   // that have ended, for reuse
	freeItems                   []*item  // that are done, for reuse
	idle                        []jobRef // Jobs that wait for an item, the one that has waited longest first
	startup, warmUp, completion sampler
	clusters                    []clusterState

	// What polls keep from one to the next.
	settings   Settings
	metrics    []scaling.Metric
	members    []jobs.Cluster // the clusters as the autoscaler sees them
	fleet      taint.Fleet    // judges the members
	checkpoint any

	ticks                           []Tick
	curves                          Curves
	waits                           []Duration
	longestPending                  Duration
	busyTime, idleTime, waitingTime podTime
	offered, unfinishedWork         float64 // seconds of service
}

// The streams of random numbers. Each has its own, so that what an autoscaler does has no
// effect on the items that it meets.
const (
	streamStartup    = 1 << 32
	streamArrival    = 2 << 32
	streamService    = 3 << 32
	streamFailure    = 4 << 32
	streamCompletion = 6 << 32 // study resamples traces with 5
	streamWarmUp     = 7 << 32
)

func (s *Scenario) stream(number uint64) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, number)) }

func newRun(s *Scenario, o Options, size size) *run {
	r := &run{Scenario: s, options: o, end: size.end, settings: s.settings(), fleet: taint.Fleet{Durations: taint.DefaultDurations()}}
	r.Policy = r.settings.Name
	r.waits = make([]Duration, 0, int(size.items*1.01)+64)
	if !o.SummaryOnly {
		r.ticks = make([]Tick, 0, min(size.arrivals/r.settings.interval()+3, 1<<17))
	}
	r.startup = newSampler(s.Jobs.Startup, s.stream(streamStartup))
	r.warmUp = newSampler(s.Jobs.WarmUp, s.stream(streamWarmUp))
	r.completion = newSampler(s.Jobs.Completion, s.stream(streamCompletion))
	for i := range s.clusterList() {
		r.addCluster(i)
	}
	r.queues = make([]queueState, 0, len(s.Queues)) // items refer to them
	for i := range s.Queues {
		r.addQueue(i, size.arrivals)
	}
	r.PeakQueue = r.Queued
	r.agenda.add(entry{}, dutyPoll)
	return r
}

func (r *run) addCluster(i int) {
	all := r.clusterList()
	c := all[i]
	state := clusterState{capacity: -1, outages: c.Outages, delay: c.ListAge}
	if c.Capacity != nil {
		state.capacity = *c.Capacity
	}
	r.clusters = append(r.clusters, state)
	if r.settings.Clusters {
		r.members = append(r.members, jobs.Cluster{Name: clusterName(all, i)})
	}
	for k, o := range c.Outages { // beginnings are even numbers, ends are odd ones
		r.agenda.add(entry{at: o.From, index: int32(i), epoch: int32(2 * k)}, dutyOutage)
		r.agenda.add(entry{at: o.Until, index: int32(i), epoch: int32(2*k + 1)}, dutyOutage)
	}
	if c.ListAge > 0 {
		interval := r.settings.interval()
		r.agenda.add(entry{at: (c.ListAge+interval-1)/interval*interval - c.ListAge, index: int32(i)}, dutyList)
	}
}

func (r *run) addQueue(i int, arrivals Duration) {
	q := &r.Scenario.Queues[i]
	state := queueState{
		Queue: q, index: i, metric: q.Metric, watched: i, until: arrivals, source: newSource(q, r.stream(streamArrival+uint64(i))),
		service: newSampler(q.Service, r.stream(streamService+uint64(i))),
	}
	if i < len(r.settings.Metrics) {
		state.metric = cmp.Or(r.settings.Metrics[i], state.metric)
	}
	if q.Watches != "" {
		state.watched = r.queueIndex(q.Watches)
	}
	r.stale = r.stale || q.Staleness > 0
	r.queues = append(r.queues, state)
	r.put(&r.queues[i], q.Backlog, 0)
	r.expect(&r.queues[i])
}

func (r *run) play() error {
	for !r.stopped && r.err == nil {
		e, ok := r.agenda.next()
		if !ok || e.at > r.end {
			break
		}
		r.advance(e.at)
		r.perform(e)
	}
	if !r.stopped && r.err == nil {
		r.advance(r.end)
	}
	return r.err
}

func (r *run) perform(e entry) {
	switch e.duty() {
	case dutyOutage:
		r.outage(int(e.index), int(e.epoch))
	case dutyArrival:
		r.arrive(&r.queues[e.index])
	case dutyVisible:
		r.redeliver(&r.queues[e.index])
	case dutyList:
		c := &r.clusters[e.index]
		c.views = append(c.views, *r.list(int(e.index), r.now+c.delay))
		r.agenda.add(entry{at: r.now + r.settings.interval(), index: e.index}, dutyList)
	case dutyPoll:
		r.poll()
	default:
		if e.job.epoch == e.epoch {
			r.proceed(e.duty(), e.job)
		}
	}
}

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
