package main

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/examples/controller/source"
	"github.com/scaledjob/scaledjob/examples/internal/poll"
)

// A poller polls one ScaledJob, from when it is seen until it is gone. It waits
// for nobody else: a queue that does not answer delays its own ScaledJobs only.
type poller struct {
	*controller
	uid     types.UID
	cancel  context.CancelFunc
	updates poll.Latest[scaledJob]

	// What follows is the poller's own.
	log       *slog.Logger
	metrics   *gauges
	scaledJob scaledJob
	config    adapter.Config
	invalid   error
	queues    *source.Queues
	status    *status
	problems  poll.Warnings
}

func (c *controller) start(ctx context.Context, s scaledJob, delay time.Duration) *poller {
	ctx, cancel := context.WithCancel(ctx)
	log := c.log.With("namespace", s.Namespace, "scaledjob", s.Name)
	p := &poller{
		controller: c, uid: s.UID, cancel: cancel, updates: poll.NewLatest[scaledJob](),
		log:      log,
		metrics:  c.metrics.of(s.Namespace, s.Name),
		problems: poll.Warnings{Log: log},
		status:   newStatus(s),
	}
	c.polling.Go(func() { p.run(ctx, s, delay) })
	return p
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
		timer.Reset(p.interval()) // from the poll's beginning, however long it takes
		p.poll(ctx)
	}
}

// interval is the polling interval, and KEDA's default where the spec says none that
// is right: only an update can mend that, and what is told of it is written again.
func (p *poller) interval() time.Duration {
	if p.config.PollingInterval <= 0 {
		return 30 * time.Second
	}
	return p.config.PollingInterval
}

// close forgets the ScaledJob. Its Jobs are the garbage collector's.
func (p *poller) close() {
	p.queues.Close()
	p.tracker.Forget(p.uid)
	p.cancel()
}

// read takes over what the ScaledJob says now.
func (p *poller) read(s scaledJob) {
	p.queues.Close()
	p.scaledJob = s
	p.config, p.invalid = s.config()
	if p.invalid == nil {
		p.invalid = p.tracker.Follow(adapter.Observation{
			Owner: s.UID, Namespace: s.Namespace, PodsKnown: p.watchPods, PendingPodConditions: p.config.PendingPodConditions,
		})
	}
	p.queues = p.resolver.Queues(s.ScaledJob, p.config.Triggers, p.sourceTimeout)
	for _, w := range p.config.Warnings {
		p.log.Warn(w.Error())
	}
}

// poll reads the queues, decides, acts, and tells.
func (p *poller) poll(ctx context.Context) {
	begin := time.Now()
	o := adapter.Outcome{Invalid: p.invalid}
	if p.invalid == nil {
		input := adapter.Poll{ScaledJob: p.scaledJob.ScaledJob, Config: p.config, Owner: p.scaledJob.Owner()}
		input.Metrics, o.Unread = p.queues.Read(ctx)
		input.Now = time.Now()
		if ctx.Err() != nil {
			return // and unread for that reason only
		}
		plan := p.tracker.Plan(input)
		o.Decision = plan.Decision
		o.Result, o.Applied = p.tracker.Apply(ctx, p.client, plan)
		if ctx.Err() != nil {
			o.Applied = nil // it ended for that reason, as far as is known
		}
		p.metrics.polled(input.Metrics, plan.Decision, time.Since(begin))
	}
	p.metrics.did(o)
	p.tell(o)
	if ctx.Err() != nil && o.Result == (adapter.Result{}) {
		return
	}
	// A poll that has acted is told also when it was the last.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	p.report(ctx, o)
}

// tell logs what was done, and what went wrong as long as it is not the same as
// before. What a poll that did nothing was about is told at level debug.
func (p *poller) tell(o adapter.Outcome) {
	if r := o.Result; r.Created > 0 || r.RolledOut > 0 || r.Pruned > 0 {
		p.log.Info("done", "created", r.Created, "rolledOut", r.RolledOut, "pruned", r.Pruned, "why", o.Decision.Rule.String())
	}
	p.problems.Warn("invalid", o.Invalid)
	p.problems.Warn("unread", o.Unread)
	p.problems.Warn("failed", o.Applied)
	p.log.Debug("decided", "decision", o.Decision)
}
