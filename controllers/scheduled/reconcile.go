package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/scaledjob/scaledjob/adapter/scheduledjob"
	"github.com/scaledjob/scaledjob/schedule"
)

// reconcile observes, decides, stores the state, and carries out the decision last. So
// the next call knows all actions that may have been carried out, wherever this call is
// interrupted. It returns the time to wait, also with an error; below 0, it waits for a
// change.
func (c *controller) reconcile(ctx context.Context, key cache.ObjectName) (time.Duration, error) {
	s := c.stored(key)
	if s == nil {
		c.failures.DeleteLabelValues(key.Namespace, key.Name)
		c.setForeign(key, nil)
		return -1, c.answerUnknown(ctx, key)
	}
	c.failures.WithLabelValues(key.Namespace, key.Name) // 0, so that the first failure is an increase
	if s.DeletionTimestamp != nil {
		return -1, nil // the garbage collector deletes its Jobs
	}
	config, invalid := c.config(s)
	requests, claimErr := c.claim(ctx, s)
	revision, _ := strconv.ParseInt(c.jobs.LastStoreSyncResourceVersion(), 10, 64) // before the Jobs are read
	observed, problem := c.tracker.Observe(ctx, s.ScheduledJob, c.jobsOf(s), revision)
	problem = errors.Join(claimErr, problem)
	observed.Now, observed.Upstreams, observed.Cancelled = c.now(), c.upstreams(s), s.Spec.Cancel
	observed.Requests = requestsOf(requests, config.Policy, s.Status.Checkpoint, observed.Now)
	var d schedule.Decision
	var ready metav1.Condition
	if invalid != nil {
		d = schedule.Refresh(observed.Observation, s.Status.Checkpoint)
		ready = s.notReady(reasonInvalid, invalid)
	} else {
		d = schedule.Decide(config.Policy, observed.Observation, s.Status.Checkpoint)
		ready = s.ready(c.missing(s), config.Warnings)
	}
	c.log.Debug("decided", "scheduledJob", key.String(), "decision", d)
	stored := s
	err := c.tracker.Carry(ctx, scheduledjob.Order{Owner: s.Owner(), Config: config, Decision: d, Seen: observed, Store: func(ctx context.Context) (err error) {
		if stored, err = c.store(ctx, s, s.status(d, ready)); err == nil {
			c.tell(stored, d.Events)
		}
		return err
	}})
	if stored == nil {
		return c.resync, errors.Join(problem, err)
	}
	c.tellForeign(ctx, stored, observed.Foreign)
	return c.wait(d.NextCheck), errors.Join(problem, err, c.answer(ctx, stored, requests, invalid == nil))
}

// wait returns the time until the next check, at most that until the resync.
func (c *controller) wait(next time.Time) time.Duration {
	if next.IsZero() {
		return c.resync
	}
	return max(0, min(next.Sub(c.now()), c.resync))
}
