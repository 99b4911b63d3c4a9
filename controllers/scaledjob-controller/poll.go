package main

import (
	"context"
	"errors"
	"time"

	"github.com/scaledjob/scaledjob/adapter"
	"github.com/scaledjob/scaledjob/adapter/loop"
	"github.com/scaledjob/scaledjob/adapter/requests"
	"github.com/scaledjob/scaledjob/adapter/scaledjob"
	"github.com/scaledjob/scaledjob/scaling"
)

// retryDelay is the time after which a poll is repeated that may not act yet.
const retryDelay = time.Second

// poll decides on the reading of a ScaledJob's queues. done reports what was done.
func (t *term) poll(ctx context.Context, turn loop.Turn) (plan adapter.Plan, done loop.Done) {
	e := t.entry(turn.Key)
	if e == nil {
		return plan, nil
	}
	if !t.Lease.MayAct() { // the term is about to end, or the lease to be renewed
		t.polls.After(turn.Key, retryDelay)
		return plan, nil
	}
	e.mu.Lock()
	spec, firstPoll := e.spec, e.firstPoll
	e.mu.Unlock()
	if wait := time.Until(firstPoll); wait > 0 {
		t.polls.After(turn.Key, wait)
		return plan, nil
	}
	result := scaledjob.PollResult{Invalid: spec.invalid}
	var metrics []scaling.Metric
	if spec.invalid == nil {
		reading, found := t.reader.Take(turn.Key)
		if !found {
			return plan, nil // the reader asks for a poll
		}
		metrics, result.Unread, result.Warning = reading.Metrics, reading.Err(), reading.Warning()
		e.slow(reading.Slow)
		var current bool
		if plan, current = e.plan(t, spec, metrics); !current {
			return plan, nil // the next reading is decided on
		}
		t.transition.decide(&plan, spec.keda, metrics)
		result.Decision, result.Holds = plan.Decision, plan.Holds
	}
	return plan, func(applied adapter.Result, err error) time.Duration {
		result.Result, result.Applied = applied, err
		if t.ctx.Err() != nil {
			result.Applied = nil // it ended for that reason, as far as is known
			if result.Result == (adapter.Result{}) {
				return 0
			}
		}
		e.tell(t, result)
		e.done(t, spec, result, metrics, time.Since(turn.Due))
		if spec.invalid != nil {
			return unreadable
		}
		return 0 // the next reading asks for a poll
	}
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
		log.Info("done", "created", r.Created, "outdated", r.Outdated, "pruned", r.Pruned, "why", p.Decision.Reason.Text())
	}
	e.problems.Warn("invalid", p.Invalid)
	e.problems.Warn("unread", p.Unread)
	if failed := adapter.WithoutOutdated(p.Applied); failed != nil || p.Applied == nil {
		e.problems.Warn("failed", failed)
	}
	var slow error
	if t.Queue.IsCongested(requests.Owner(e.name)) {
		slow = errors.New("requests of this ScaledJob were refused or had no answer, so that all such ScaledJobs together send at most a quarter of -max-requests; the condition Ready has the API server's words")
	}
	e.problems.Warn("congested", slow)
	log.Debug("decided", "decision", p.Decision, "holds", p.Holds)
	e.problems.Log = nil
}
