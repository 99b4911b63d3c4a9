package simulation

import (
	"errors"

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
	p, err := s.check()
	if err != nil {
		return nil, err
	}
	r := newRun(&s, o, &p)
	if err := r.play(); err != nil && err != Stop {
		return nil, err
	}
	r.conclude()
	return &Result{Summary: r.Summary, Ticks: r.ticks, Curves: r.curves}, nil
}

// A run is a scenario in progress. Its Summary has the counts so far.
type run struct {
	Summary
	options    Options
	autoscaler Autoscaler
	behavior   JobBehavior
	seed       uint64
	draws      draws

	now, end Duration
	stopped  bool
	agenda   agenda
	err      error

	queues  []queueState
	sources int  // queues that items are still to come to
	stale   bool // a metric is old when it is read

	jobs      []*job   // that exist and have not ended
	freeJobs  []*job   // that have ended, for reuse
	freeItems []*item  // that are done, for reuse
	idle      []jobRef // Jobs that wait for an item, the one that has waited longest first
	clusters  []clusterState

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

func newRun(s *Scenario, o Options, p *plan) *run {
	r := &run{
		options: o, autoscaler: s.Autoscaler, behavior: s.Jobs, seed: s.Seed, draws: s.draws(),
		end: p.end, settings: p.settings, fleet: taint.Fleet{Durations: taint.DefaultDurations()},
	}
	r.Policy = r.settings.Name
	r.waits = make([]Duration, 0, int(p.items*1.01)+64)
	if !o.SummaryOnly {
		r.ticks = make([]Tick, 0, min(p.arrivals/r.settings.interval()+3, 1<<17))
	}
	for i := range p.clusters {
		r.addCluster(i, &p.clusters[i])
	}
	r.queues = make([]queueState, 0, len(s.Queues)) // items refer to them
	for i := range s.Queues {
		r.addQueue(i, &s.Queues[i], p, r.draws.queues[i])
	}
	r.PeakQueue = r.Queued
	r.agenda.add(entry{}, dutyPoll)
	return r
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
