package main

import (
	"errors"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

// again is the time after which a poll that was interrupted is repeated.
const again = time.Second

// poll reads the queues of a ScaledJob, decides, acts, and reports.
func (t *term) poll(key cache.ObjectName, aside func(func())) {
	e := t.entry(key)
	if e == nil || t.ctx.Err() != nil {
		return
	}
	if !t.lease.MayAct() { // the term is about to end, or the lease to be renewed
		t.polls.after(key, again)
		return
	}
	e.mu.Lock()
	spec := e.spec
	e.mu.Unlock()
	t.polls.after(key, spec.interval) // from the beginning, however long the poll takes
	begin := time.Now()
	result := scaledjob.PollResult{Invalid: spec.invalid}
	var metrics []scaling.Metric
	if spec.invalid == nil {
		aside(func() { metrics, result.Unread = spec.queues.Read(t.ctx) })
		if t.ctx.Err() != nil {
			return // and unread for that reason only
		}
		plan, ok := e.plan(t, spec, metrics)
		if !ok {
			return // the edit has scheduled the next poll
		}
		result.Decision = plan.Decision
		result.Result, result.Applied = t.tracker.Apply(t.ctx, t.Requests, plan)
		if errors.Is(result.Applied, adapter.ErrOutdated) {
			t.polls.after(key, again)
		}
	}
	if t.ctx.Err() != nil {
		result.Applied = nil // it ended for that reason, as far as is known
		if result.Result == (adapter.Result{}) {
			return
		}
	}
	e.tell(t, result)
	e.done(t, spec, result, metrics, time.Since(begin))
}

// plan decides, unless the ScaledJob was edited since its queues were read.
func (e *entry) plan(t *term, read *spec, metrics []scaling.Metric) (plan adapter.Plan, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.spec != read {
		return plan, false
	}
	return t.tracker.Plan(e.uid, metrics, time.Now()), true
}

// tell logs the actions of a poll, and its errors if they differ from those of the last
// poll. A poll without actions is logged at level debug.
func (e *entry) tell(t *term, p scaledjob.PollResult) {
	e.problems.Log = t.log.With("namespace", e.name.Namespace, "scaledjob", e.name.Name)
	log := e.problems.Log
	if r := p.Result; r.Created > 0 || r.Outdated > 0 || r.Pruned > 0 {
		log.Info("done", "created", r.Created, "outdated", r.Outdated, "pruned", r.Pruned, "why", p.Decision.Rule.String())
	}
	e.problems.Warn("invalid", p.Invalid)
	e.problems.Warn("unread", p.Unread)
	if failed := adapter.WithoutOutdated(p.Applied); failed != nil || p.Applied == nil {
		e.problems.Warn("failed", failed)
	}
	log.Debug("decided", "decision", p.Decision)
	e.problems.Log = nil
}
