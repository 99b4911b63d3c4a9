package main

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
)

// A poller polls one ScaledJob, from when it is seen until it is gone. It waits
// for nobody else: a queue that does not answer delays its own ScaledJobs only.
type poller struct {
	*controller
	uid     types.UID
	cancel  context.CancelFunc
	updates chan scaledJob // the newest that has not been looked at

	// What follows is the poller's own.
	log       *slog.Logger
	metrics   *gauges
	scaledJob scaledJob
	config    adapter.Config
	invalid   error
	queues    *queues
	status    *status
	logged    map[string]string // what is wrong
}

func (c *controller) start(ctx context.Context, s scaledJob, delay time.Duration) *poller {
	ctx, cancel := context.WithCancel(ctx)
	p := &poller{
		controller: c, uid: s.UID, cancel: cancel, updates: make(chan scaledJob, 1),
		log:     c.log.With("namespace", s.Namespace, "scaledjob", s.Name),
		metrics: c.metrics.of(s.Namespace, s.Name),
		status:  newStatus(s),
		logged:  map[string]string{},
	}
	c.polling.Go(func() { p.run(ctx, s, delay) })
	return p
}

// update replaces what the poller has not looked at yet. Only one goroutine may
// call it.
func (p *poller) update(s scaledJob) {
	select {
	case <-p.updates:
	default:
	}
	p.updates <- s
}

func (p *poller) run(ctx context.Context, s scaledJob, delay time.Duration) {
	defer p.close()
	p.read(s)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-p.updates:
			if s.same(p.scaledJob) {
				continue
			}
			p.read(s)
		case <-timer.C:
		}
		timer.Reset(p.config.PollingInterval) // from the poll's beginning, however long it takes
		p.poll(ctx)
	}
}

// close forgets the ScaledJob. Its Jobs are the garbage collector's.
func (p *poller) close() {
	p.queues.close()
	p.tracker.Forget(p.uid)
	p.metrics.remove()
	p.cancel()
}

// read takes over what the ScaledJob says now.
func (p *poller) read(s scaledJob) {
	p.queues.close()
	p.scaledJob = s
	p.config, p.invalid = s.config()
	if p.invalid == nil {
		p.invalid = p.tracker.Follow(adapter.Observation{
			Owner: s.UID, PodsKnown: p.watchPods, PendingPodConditions: p.config.PendingPodConditions,
		})
	}
	p.queues = newQueues(p.resolver, s.ScaledJob, p.config.Triggers, p.sourceTimeout)
	for _, w := range p.config.Warnings {
		p.log.Warn(w.Error())
	}
}

// poll reads the queues, decides, acts, and tells.
func (p *poller) poll(ctx context.Context) {
	begin := time.Now()
	o := adapter.Outcome{Invalid: p.invalid}
	if p.invalid == nil {
		poll := adapter.Poll{ScaledJob: p.scaledJob.ScaledJob, Config: p.config, Owner: p.scaledJob.Owner()}
		poll.Metrics, o.Unread = p.queues.read(ctx)
		poll.Now = time.Now()
		if ctx.Err() != nil {
			return // and unread for that reason only
		}
		plan := p.tracker.Plan(poll)
		o.Decision = plan.Decision
		o.Result, o.Applied = p.tracker.Apply(ctx, p.client, plan)
		p.metrics.polled(poll.Metrics, plan.Decision, time.Since(begin))
	}
	p.metrics.did(o)
	p.tell(o)
	if ctx.Err() == nil {
		p.report(ctx, o)
	}
}

// tell logs what was done, and what went wrong as long as it is not the same as
// before. What a poll that did nothing was about is told at level debug.
func (p *poller) tell(o adapter.Outcome) {
	if r := o.Result; r.Created > 0 || r.RolledOut > 0 || r.Pruned > 0 {
		p.log.Info("done", "created", r.Created, "rolledOut", r.RolledOut, "pruned", r.Pruned, "why", o.Decision.Rule.String())
	}
	p.warn("invalid", o.Invalid)
	p.warn("unread", o.Unread)
	p.warn("failed", o.Applied)
	p.log.Debug("decided", "decision", o.Decision)
}

func (p *poller) warn(what string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != p.logged[what] {
		p.log.Warn(what, "err", text)
	}
	p.logged[what] = text
}
